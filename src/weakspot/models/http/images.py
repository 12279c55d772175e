"""Pictures from an address in the style of OpenAI's images: `https://HOST/v1/images/generations?model=…`.

The key is read from OPENAI_API_KEY, unless a file (`http:endpoint.yaml`) says which header to send.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from weakspot.core import WeakspotError
from weakspot.models import options
from weakspot.models.compute.device import log
from weakspot.models.http.call import Unanswered
from weakspot.models.http.endpoint import Endpoint, found, png

PATH: Final = "/images/generations"
KEY: Final = "OPENAI_API_KEY"
#: Where the picture lies, in base64.
ANSWER: Final = "data.0.b64_json"
#: Pictures with more pixels than this are not opened.
LARGEST: Final = 64_000_000


def is_images(endpoint: Endpoint) -> bool:
    """Whether an address makes pictures."""
    return endpoint.url.rstrip("/").endswith(PATH)


class HttpImages:
    """See `weakspot.core.Generator`.

    **Promise.** A picture follows from prompt and seed where the server takes a seed (`seed=seed` says under
    which name it is sent). Others draw anew each time; with a `cache` the first picture of a prompt and seed
    is kept, and so is the promise on every machine that has the folder. What is asked twice is paid once.

    Args:
        endpoint: Where and how it is asked.
        model: As the server calls it; "" where it has one alone.
        size: "1024x1024", as the server writes it.
        seed: The field of the seed, which is sent with 31 bits; "" where the server knows none.
        cache: A folder for pictures that were made.
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
        self._caller = endpoint.caller()
        own = {"model": model, "size": size, "n": 1, "response_format": "b64_json"}
        if model.startswith("gpt-image"):  # these give base64 always, and refuse to be asked for it
            del own["response_format"]
        self._fields = {key: value for key, value in {**own, **endpoint.fields}.items() if value != ""}
        log.info("%s", self.about)

    @property
    def repeats(self) -> bool:
        """Whether a picture can be had again from its prompt and seed."""
        return bool(self._seed) or self._cache is not None

    @property
    def about(self) -> str:
        """One line: who is asked, and how."""
        same = "seeded" if self._seed else "kept" if self._cache else "drawn anew each time"
        return f"{self.endpoint.url} · {self._fields.get('model', 'its model')} · {same}"

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[NDArray[np.uint8]]:
        """See `Generator`."""
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
        told = found(self._caller.json(content, "application/json"), self.endpoint.answer or ANSWER)
        try:
            data = base64.b64decode(str(told).partition("base64,")[2] or str(told), validate=True)
        except (binascii.Error, ValueError):
            data = b""
        picture = _picture(data, of=self.endpoint.url)
        if kept is not None:
            _write(kept, png(picture))
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
            fix=f"say where it lies: answer={ANSWER}; a server that gives addresses instead is not followed",
        ) from error


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all: others may read at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}-{id(content)}")
    draft.write_bytes(content)
    draft.replace(path)


def images_of(endpoint: Endpoint, *, model: str, size: str, seed: str, cache: str) -> HttpImages:
    """For `http:`."""
    if endpoint.labels or endpoint.batch > 1:
        raise WeakspotError(
            f"{endpoint.url[:200]} makes pictures: it has no labels and no batch", fix="leave out"
        )
    options.size(size)
    if not endpoint.headers and os.environ.get(KEY) and _is_openai(endpoint.url):
        endpoint = replace(endpoint, headers={"Authorization": f"Bearer ${{{KEY}}}"})
    elif not endpoint.headers and _is_openai(endpoint.url):
        raise WeakspotError(f"the variable {KEY} is not set", fix=f"export {KEY}=…")
    where = Path(cache).expanduser() if cache else None
    return HttpImages(endpoint, model=model, size=size, seed=seed, cache=where)


def _is_openai(url: str) -> bool:
    """The provider's own address: its key is sent nowhere else."""
    return url.startswith("https://api.openai.com/")
