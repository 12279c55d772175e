"""A classifier behind an address: `http://HOST:8000/predict?labels=labels.txt&answer=predictions.0`.

What lies where `answer` says is read by its form: a row of numbers in the order of the labels, a mapping from
labels to numbers, rows with a label and a score, a label, or the number of a label. Where a server tells the
best few alone there is an answer but no scores. Images endpoints are in `http_images`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from weakspot.core import Case, Output, Status, WeakspotError, nearest
from weakspot.models import options
from weakspot.models.compute.device import log
from weakspot.models.http.call import Unanswered, check_url
from weakspot.models.http.endpoint import Endpoint, found, read_endpoint
from weakspot.models.http.images import HttpImages, images_of, is_images
from weakspot.models.images import stack_images
from weakspot.models.onnx.classifier import read_labels
from weakspot.models.scores import Reading, distinct


class HttpClassifier:
    """See `weakspot.core.Classifier`. A picture that gets no answer is an error, never a failure.

    Args:
        endpoint: Where and how it is asked.
        labels: All labels, in the order of the scores.
    """

    def __init__(self, endpoint: Endpoint, *, labels: Sequence[str]) -> None:
        self.endpoint, self.labels = endpoint, tuple(labels)
        self.parents: Mapping[str, str] = {}
        self._caller = endpoint.caller()
        self._read = Reading(self.labels, outputs=endpoint.outputs, of=endpoint.url)
        log.info("%s", self.about)

    @property
    def about(self) -> str:
        """One line: who is asked, and how."""
        return f"{self.endpoint.url} · {self.endpoint.send} · {self.endpoint.concurrency} at once"

    @property
    def doubt(self) -> str:
        """Why it is not clear what the outputs are; "" where it is."""
        return self._read.doubt

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """See `Target`."""
        step = self.endpoint.batch
        parts = [cases[at : at + step] for at in range(0, len(cases), step)]
        return [output for some in self._caller.all(self._ask, parts) for output in some]

    def _ask(self, cases: Sequence[Case]) -> list[Output]:
        pictures = [stack_images([case.input])[0] for case in cases]
        try:
            content = self._caller.json(*self.endpoint.request(pictures))
            told = found(content, self.endpoint.answer)
            rows = told if self.endpoint.batch > 1 else [told]
            if not isinstance(rows, list) or len(rows) != len(cases):
                got = f"{len(rows)} answers" if isinstance(rows, list) else f"a {type(rows).__name__}"
                raise WeakspotError(f"{got} came for {len(cases)} pictures", fix="check batch and answer")
            return [self._output(row) for row in rows]
        except Unanswered as error:
            return [Output(None, status=Status.ERROR, detail=f"{error.what}; {error.fix}")] * len(cases)
        except WeakspotError as error:
            detail = self._caller.scrub(f"{self.endpoint.url}: {error.what}; {error.fix}")
            return [Output(None, status=Status.ERROR, detail=detail)] * len(cases)

    def _output(self, told: Any) -> Output:
        """One answer, whatever form it has."""
        name, score = self.endpoint.name, self.endpoint.score
        if isinstance(told, list) and told and all(isinstance(row, dict) for row in told):
            told = {str(found(row, name)): found(row, score) for row in told}
        if isinstance(told, bool):
            raise WeakspotError("the answer is yes or no", fix="say where the label lies: answer=…")
        if isinstance(told, int):
            if not 0 <= told < len(self.labels):
                raise WeakspotError(
                    f"the answer is label number {told} of {len(self.labels)}", fix="check the labels"
                )
            return Output(self.labels[told])
        if isinstance(told, str):
            return Output(self._known(told))
        if isinstance(told, dict) and told and all(_number(value) for value in told.values()):
            by_name = {self._known(str(key)): float(value) for key, value in told.items()}
            if set(by_name) != set(self.labels):
                return Output(max(by_name, key=lambda label: by_name[label]))
            told = [by_name[label] for label in self.labels]
        if not isinstance(told, list) or not all(_number(value) for value in told):
            there = f"a mapping with {', '.join(map(str, told))}" if isinstance(told, dict) else str(told)
            raise WeakspotError(
                f"no labels or numbers but {there[:120]}", fix="say where they lie: answer=predictions.0"
            )
        [output] = self._read(np.array([told], np.float32))
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
        "batch": options.whole("batch", batch, most=4096),
        "timeout": options.number("timeout", timeout, most=3600),
        "attempts": options.whole("attempts", attempts, most=100),
        "concurrency": options.whole("concurrency", concurrency, most=256),
    }  # fmt: skip
    endpoint = read_endpoint(rest, scheme=scheme, given=given)
    check_url(endpoint.url)
    if is_images(endpoint):
        return images_of(endpoint, model=model, size=size, seed=seed, cache=cache)
    if model or size or seed or cache:
        raise WeakspotError(
            f"{endpoint.url[:200]} is taken for a classifier, which has no model, size, seed or cache",
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
