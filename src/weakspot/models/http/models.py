"""A classifier behind an address: `http://HOST:8000/predict?labels=labels.txt&answer=predictions.0`.

What lies where `answer` says is read by its form: a row of numbers in the order of the labels, a mapping from
labels to numbers, rows with a label and a score, a label, or the number of a label. Where a server tells the
best few alone there is an answer but no scores. An address that ends in `PATH` makes pictures.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from weakspot.core import Case, Output, Status, WeakspotError, nearest
from weakspot.core.registry import read_number, read_size, read_whole
from weakspot.models.compute import log
from weakspot.models.http.endpoint import Caller, Endpoint, Unanswered, check_url, found, read_endpoint
from weakspot.models.pictures import Reading, distinct, png, read_labels, stack_images
from weakspot.store import write_whole

PATH: Final = "/images/generations"
KEY: Final = "OPENAI_API_KEY"
#: Where the picture lies, in base64.
ANSWER: Final = "data.0.b64_json"
#: Pictures with more pixels than this are not opened.
LARGEST: Final = 64_000_000


class HttpImages:
    """See `weakspot.core.Generator`.

    **Promise.** A picture follows from prompt and seed where the server takes a seed (`seed=seed` says under
    which name it is sent). Others draw anew each time; with a `cache` the first picture of a prompt and seed
    is kept, and so is the promise on every machine that has the folder. What is asked twice is paid once.

    `model` and `size` ("1024x1024") are as the server writes them; a seed is sent with 31 bits.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        model: str = "",
        size: str = "",
        seed: str = "",
        cache: Path | None = None,
    ) -> None:
        self.endpoint, self._seed, self._cache = endpoint, seed, cache
        self._caller = Caller(endpoint)
        own = {"model": model, "size": size, "n": 1, "response_format": "b64_json"}
        if model.startswith("gpt-image"):  # these give base64 always, and refuse to be asked for it
            del own["response_format"]
        self._fields = {key: value for key, value in {**own, **endpoint.fields}.items() if value != ""}
        log.info("%s", self.about)

    @property
    def repeats(self) -> bool:
        return bool(self._seed) or self._cache is not None

    @property
    def about(self) -> str:
        same = "seeded" if self._seed else "kept" if self._cache else "drawn again each time"
        return f"{self.endpoint.url} · {self._fields.get('model', 'its model')} · {same}"

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[NDArray[np.uint8]]:
        if len(prompts) != len(seeds):
            raise WeakspotError(f"{len(prompts)} prompts have {len(seeds)} seeds", fix="give one per prompt")
        return self._caller.all(self._make, list(zip(prompts, seeds, strict=True)))

    def _make(self, wanted: tuple[str, int]) -> NDArray[np.uint8]:
        prompt, seed = wanted
        body: dict[str, Any] = {**self._fields, "prompt": prompt.encode("utf-8", "backslashreplace").decode()}
        if self._seed:
            body[self._seed] = seed & 0x7FFF_FFFF
        content = json.dumps(body, sort_keys=True).encode()
        kept = None
        if self._cache is not None:
            named = hashlib.sha256(f"{self.endpoint.url}\0{seed}\0".encode() + content).hexdigest()
            kept = self._cache / named[:2] / f"{named}.png"
            if kept.is_file():
                return _picture(kept.read_bytes(), of=str(kept))
        reply = found(self._caller.json(content, "application/json"), self.endpoint.answer or ANSWER)
        try:
            data = base64.b64decode(str(reply).partition("base64,")[2] or str(reply), validate=True)
        except (binascii.Error, ValueError):
            data = b""
        picture = _picture(data, of=self.endpoint.url)
        if kept is not None:
            write_whole(kept, png(picture))
        return picture


def _picture(data: bytes, *, of: str) -> NDArray[np.uint8]:
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP")) as opened:
            if opened.width * opened.height > LARGEST:
                raise Unanswered(f"{of} made a picture of {opened.size} pixels", fix="ask for a smaller one")
            return np.asarray(opened.convert("RGB"))
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise Unanswered(
            f"{of} did not answer with a picture in base64",
            fix=f"say where it is: answer={ANSWER}; a server that gives addresses instead is not followed",
        ) from error


def images_of(endpoint: Endpoint, *, model: str, size: str, seed: str, cache: str) -> HttpImages:
    if endpoint.labels or endpoint.batch > 1:
        raise WeakspotError(
            f"{endpoint.url[:200]} makes pictures: it has no labels and no batch", fix="leave out"
        )
    read_size(size)
    # Only to the provider's own address is its key sent; one that is not set is an error of `Caller`.
    if not endpoint.headers and endpoint.url.startswith("https://api.openai.com/"):
        endpoint = replace(endpoint, headers={"Authorization": f"Bearer ${{{KEY}}}"})
    where = Path(cache).expanduser() if cache else None
    return HttpImages(endpoint, model=model, size=size, seed=seed, cache=where)


class HttpClassifier:
    """See `weakspot.core.Classifier`. A picture that gets no answer is an error, never a failure.

    The labels are all there are, in the order of the scores.
    """

    def __init__(self, endpoint: Endpoint, *, labels: Sequence[str]) -> None:
        self.endpoint, self.labels = endpoint, tuple(labels)
        self.parents: Mapping[str, str] = {}
        self._caller = Caller(endpoint)
        self._read = Reading(self.labels, outputs=endpoint.outputs, of=endpoint.url)
        log.info("%s", self.about)

    @property
    def about(self) -> str:
        return f"{self.endpoint.url} · {self.endpoint.send} · {self.endpoint.concurrency} at once"

    @property
    def doubt(self) -> str:
        return self._read.doubt

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        step = self.endpoint.batch
        parts = [cases[at : at + step] for at in range(0, len(cases), step)]
        return [output for some in self._caller.all(self._ask, parts) for output in some]

    def _ask(self, cases: Sequence[Case]) -> list[Output]:
        pictures = [stack_images([case.input])[0] for case in cases]
        try:
            content = self._caller.json(*self.endpoint.request(pictures))
            reply = found(content, self.endpoint.answer)
            rows = reply if self.endpoint.batch > 1 else [reply]
            if not isinstance(rows, list) or len(rows) != len(cases):
                got = f"{len(rows)} answers" if isinstance(rows, list) else f"a {type(rows).__name__}"
                raise WeakspotError(
                    f"{got} came back for {len(cases)} pictures", fix="check batch and answer"
                )
            return [self._output(row) for row in rows]
        except Unanswered as error:
            return [Output(None, status=Status.ERROR, detail=f"{error.what}; {error.fix}")] * len(cases)
        except WeakspotError as error:
            detail = self._caller.scrub(f"{self.endpoint.url}: {error.what}; {error.fix}")
            return [Output(None, status=Status.ERROR, detail=detail)] * len(cases)

    def _output(self, reply: Any) -> Output:
        name, score = self.endpoint.name, self.endpoint.score
        if isinstance(reply, list) and reply and all(isinstance(row, dict) for row in reply):
            reply = {str(found(row, name)): found(row, score) for row in reply}
        if isinstance(reply, bool):
            raise WeakspotError("the answer is yes or no", fix="say where the label is: answer=…")
        if isinstance(reply, int):
            if not 0 <= reply < len(self.labels):
                raise WeakspotError(
                    f"the answer is label number {reply} of {len(self.labels)}", fix="check the labels"
                )
            return Output(self.labels[reply])
        if isinstance(reply, str):
            return Output(self._known(reply))
        if isinstance(reply, dict) and reply and all(_number(value) for value in reply.values()):
            by_name = {self._known(str(key)): float(value) for key, value in reply.items()}
            if set(by_name) != set(self.labels):
                return Output(max(by_name, key=lambda label: by_name[label]))
            reply = [by_name[label] for label in self.labels]
        if not isinstance(reply, list) or not all(_number(value) for value in reply):
            there = f"a mapping with {', '.join(map(str, reply))}" if isinstance(reply, dict) else str(reply)
            raise WeakspotError(
                f"no labels or numbers but {there[:120]}", fix="say where they are: answer=predictions.0"
            )
        [output] = self._read(np.array([reply], np.float32))
        return output

    def _known(self, label: str) -> str:
        if label not in self.labels:
            raise WeakspotError(
                f"the answer {label[:80]!r} is not one of the {len(self.labels)} labels",
                fix=nearest(label, self.labels) or "complete the labels file",
            )
        return label


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def load(
    rest: str,
    *,
    scheme: str = "http",
    labels: str = "",
    send: str = "",
    image: str = "",
    encoding: str = "",
    batch: str = "",
    answer: str = "",
    name: str = "",
    score: str = "",
    outputs: str = "",
    timeout: str = "",
    attempts: str = "",
    concurrency: str = "",
    model: str = "",
    size: str = "",
    seed: str = "",
    cache: str = "",
) -> HttpClassifier | HttpImages:
    """`http://HOST:8000/predict?labels=labels.txt&answer=predictions.0`, or `http:endpoint.yaml`."""
    given = {
        "send": send, "image": image, "encoding": encoding, "answer": answer, "name": name, "score": score,
        "outputs": outputs, "labels": labels,
        "batch": read_whole("batch", batch, most=4096),
        "timeout": read_number("timeout", timeout, most=3600),
        "attempts": read_whole("attempts", attempts, most=100),
        "concurrency": read_whole("concurrency", concurrency, most=256),
    }  # fmt: skip
    endpoint = read_endpoint(rest, scheme=scheme, given=given)
    check_url(endpoint.url)
    if endpoint.url.rstrip("/").endswith(PATH):
        return images_of(endpoint, model=model, size=size, seed=seed, cache=cache)
    if model or size or seed or cache:
        raise WeakspotError(
            f"{endpoint.url[:200]} is read as a classifier, which has no model, size, seed or cache",
            fix="an address that makes pictures ends in /images/generations",
        )
    if not endpoint.labels:
        raise WeakspotError(
            f"{endpoint.url[:200]} is a classifier, so its labels must be given",
            fix="add ?labels=labels.txt; an address that makes pictures ends in /images/generations",
        )
    known = endpoint.labels
    rows: Sequence[str] = read_labels(Path(known)) if isinstance(known, str) else known
    return HttpClassifier(endpoint, labels=distinct(rows, of=endpoint.url))


#: `https://…`.
load_secure = partial(load, scheme="https")
