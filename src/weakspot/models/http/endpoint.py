"""How a served model is spoken to: where it is, what it is sent, where in its answer the answer lies.

It is said by options of a name, `http://HOST:8000/predict?image=data&answer=predictions.0`, or by a small
YAML file, `http:endpoint.yaml`, which alone can have headers and further fields:

    url: https://HOST/v1/models/birds:predict
    send: json                # or multipart
    image: instances          # the field that holds the picture; dots go deeper
    encoding: base64          # or data-uri, or pixels (rows of numbers)
    batch: 8                  # pictures in one request; above 1 the field holds a list
    fields: {model: birds}    # sent as they are
    headers: {Authorization: "Bearer ${BIRDS_KEY}"}
    answer: predictions       # where it lies; dots go deeper, numbers count from 0
    labels: labels.txt        # a file, or a list
"""

from __future__ import annotations

import base64
import copy
import io
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml
from numpy.typing import NDArray
from PIL import Image

from weakspot.core import WeakspotError, nearest
from weakspot.models.http.call import ATTEMPTS, CONCURRENCY, TIMEOUT, Caller

SEND: Final = ("json", "multipart")
ENCODINGS: Final = ("base64", "data-uri", "pixels")
Picture = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """See the module; what a name's options say goes before what the file says."""

    url: str
    send: str = "json"
    image: str = "image"
    encoding: str = "base64"
    batch: int = 1
    answer: str = ""
    name: str = "label"
    score: str = "score"
    outputs: str = "auto"
    timeout: float = TIMEOUT
    attempts: int = ATTEMPTS
    concurrency: int = CONCURRENCY
    labels: str | tuple[str, ...] = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, value, known in (("send", self.send, SEND), ("encoding", self.encoding, ENCODINGS)):
            if value not in known:
                raise WeakspotError(
                    f"{what} cannot be {str(value)[:80]!r}",
                    fix=nearest(str(value), known) or f"choose one of: {', '.join(known)}",
                )
        if self.send == "multipart" and self.batch > 1:
            raise WeakspotError("a form holds one picture", fix="leave batch out, or say send=json")
        for what, count in (("batch", self.batch), ("attempts", self.attempts), ("timeout", self.timeout)):
            if not 0 < count <= 100_000:
                raise WeakspotError(f"{what} cannot be {count}", fix="choose a number above 0")
        if not 1 <= self.concurrency <= 256:
            raise WeakspotError(f"concurrency cannot be {self.concurrency}", fix="choose 1 to 256")

    def caller(self) -> Caller:
        """Who sends the requests."""
        return Caller(
            self.url,
            headers=self.headers,
            timeout=self.timeout,
            attempts=self.attempts,
            concurrency=self.concurrency,
        )

    def request(self, pictures: Sequence[Picture]) -> tuple[bytes, str]:
        """The body for some pictures, and its content type."""
        if self.send == "multipart":
            return form({**self.fields, self.image: png(pictures[0])})
        shown = [self._encoded(picture) for picture in pictures]
        body = placed(copy.deepcopy(dict(self.fields)), self.image, shown if self.batch > 1 else shown[0])
        return json.dumps(body).encode(), "application/json"

    def _encoded(self, picture: Picture) -> Any:
        if self.encoding == "pixels":
            return picture.tolist()
        text = base64.b64encode(png(picture)).decode()
        return text if self.encoding == "base64" else f"data:image/png;base64,{text}"


def read_endpoint(rest: str, *, scheme: str, given: Mapping[str, Any]) -> Endpoint:
    """From a name: the rest of an address, or a file.

    Args:
        rest: What follows the scheme: "//HOST/PATH" or the name of a file.
        scheme: "http" or "https".
        given: What the options say; None and "" where they say nothing.
    """
    said = {key: value for key, value in given.items() if value not in (None, "")}
    if rest.startswith("//"):
        return Endpoint(url=f"{scheme}:{rest}", **said)
    content = _file(Path(rest))
    known = {f.name for f in fields(Endpoint)}
    strange = [key for key in content if key not in known]
    if strange or not isinstance(content.get("url"), str):
        raise WeakspotError(
            f"{rest[:200]} has no place for {str(strange[0])[:80]!r}"
            if strange
            else f"{rest[:200]} has no url",
            fix=(nearest(str(strange[0]), known) if strange else "")
            or f"it can say: {', '.join(sorted(known))}",
        )
    for key, kind in (("fields", Mapping), ("headers", Mapping), ("batch", int), ("attempts", int),
                      ("concurrency", int), ("timeout", int | float)):  # fmt: skip
        if key in content and not isinstance(content[key], kind):
            raise WeakspotError(f"{key} in {rest[:200]} cannot be {str(content[key])[:80]!r}", fix="mend it")
    if isinstance(content.get("labels"), list):
        content["labels"] = tuple(map(str, content["labels"]))
    elif isinstance(content.get("labels"), str):
        content["labels"] = str(Path(rest).parent / content["labels"])
    return replace(Endpoint(**content), **said)


def _file(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise WeakspotError(
            f"{str(path)[:200]} cannot be read: {error.strerror}",
            fix="name a file, or write the address: http://HOST:PORT/PATH",
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise WeakspotError(
            f"{path} is not YAML: {str(error).splitlines()[0][:200]}", fix="see docs/models.md"
        ) from error
    if not isinstance(content, dict):
        raise WeakspotError(f"{path} says nothing of an endpoint", fix="see docs/models.md")
    return {str(key): value for key, value in content.items()}


def png(picture: Picture) -> bytes:
    """A picture as a file, without loss."""
    made = io.BytesIO()
    Image.fromarray(picture).save(made, "PNG", compress_level=1)
    return made.getvalue()


def form(parts: Mapping[str, Any]) -> tuple[bytes, str]:
    """A form (multipart/form-data); bytes are files, all else is text."""
    edge = f"weakspot-{secrets.token_hex(12)}"
    body = io.BytesIO()
    for name, value in parts.items():
        told = f'form-data; name="{name}"'
        if isinstance(value, bytes):
            told += '; filename="image.png"\r\nContent-Type: image/png'
        content = value if isinstance(value, bytes) else str(value).encode()
        body.write(f"--{edge}\r\nContent-Disposition: {told}\r\n\r\n".encode() + content + b"\r\n")
    body.write(f"--{edge}--\r\n".encode())
    return body.getvalue(), f"multipart/form-data; boundary={edge}"


def placed(body: dict[str, Any], path: str, value: Any) -> Any:
    """The body with a value where a path says: "a.0.b" is a field of the first row of a list; "" is all."""
    if not path:
        return value
    whole: Any = body
    steps = path.split(".")
    here = whole
    for step, after in zip(steps, [*steps[1:], ""], strict=True):
        inner = value if not after else ([] if after.isdecimal() else {})
        if isinstance(here, list) and step.isdecimal():
            while len(here) <= min(int(step), 1000):
                here.append(copy.copy(inner))
            key: Any = int(step)
            here[key] = value if not after else here[key]
        elif isinstance(here, dict):
            key = step
            here[key] = value if not after else here.get(key, inner)
        else:
            raise WeakspotError(f"a picture cannot be put at {path[:80]!r}", fix="check image and fields")
        here = here[key]
    return whole


def found(content: Any, path: str) -> Any:
    """What lies where a path says.

    Raises:
        WeakspotError: There is nothing; it says what there is.
    """
    here = content
    for step in filter(None, path.split(".")):
        if isinstance(here, list) and step.isdecimal() and int(step) < len(here):
            here = here[int(step)]
        elif isinstance(here, dict) and step in here:
            here = here[step]
        else:
            there = ", ".join(map(str, here))[:200] if isinstance(here, dict) else f"a {type(here).__name__}"
            raise WeakspotError(
                f"the answer has no {step[:80]!r} ({path[:80]}); it has {there or 'nothing'}",
                fix="say where the answer lies: answer=predictions.0",
            )
    return here
