"""Which models a part is made of, and what tells one from another: a worker must have those of its driver.

A source holds a generator, a judge its second opinions. Most models say a `digest` of their files, with the
number format at its end where it changes what they answer. Of what a user wrote, the networks that can be
found in it are looked at.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core import Classifier, WeakspotError
from weakspot.core.abilities import Composed, Formatted, Located
from weakspot.core.ports import digest_of


class Identity(NamedTuple):
    """What tells a model from others; "" where nobody knows.

    Attributes:
        digest: Of its files or weights, without the number format.
        labels: A digest of its labels, in order.
        device: Where it runs; the same model may run elsewhere.
    """

    kind: str
    digest: str = ""
    labels: str = ""
    dtype: str = ""
    device: str = ""

    @property
    def place(self) -> str:
        """Where and how it computes, for people; "" where it does not say."""
        return " · ".join(filter(None, (self.device, self.dtype)))


def models_in(part: Any) -> list[Any]:
    """The part itself and the models it holds, each once, in the same order everywhere."""
    found: list[Any] = []

    def look(one: Any, depth: int) -> None:
        if one is None or depth > 3 or any(one is other for other in found):
            return
        found.append(one)
        for inner in one.models if isinstance(one, Composed) else ():
            look(inner, depth + 1)

    look(part, 0)
    return found


def digest_in(part: Any) -> str | None:
    """The first digest of the models in a part; None where none of them has one."""
    return next(filter(None, map(digest_of, models_in(part))), None)


def identify(part: Any) -> list[Identity]:
    """Of every model in a part."""
    return [_of(one) for one in models_in(part)]


def _of(one: Any) -> Identity:
    dtype = str(one.dtype or "") if isinstance(one, Formatted) else ""
    digest = digest_of(one)
    labels = "\n".join(one.labels) if isinstance(one, Classifier) else ""
    return Identity(
        kind=f"{type(one).__module__}.{type(one).__qualname__}",
        digest=(digest.replace(f"-{dtype}", "") if dtype else digest) or _weights(one),
        labels=hashlib.sha256(labels.encode()).hexdigest() if labels else "",
        dtype=dtype,
        device=str(one.device or "") if isinstance(one, Located) else "",
    )


def _weights(one: Any) -> str:
    """A digest of the networks that something of a user's holds; "" where none is found."""
    torch: Any = sys.modules.get("torch")
    total, found = hashlib.sha256(), False
    for thing in _around(one):
        if torch is not None and isinstance(thing, torch.nn.Module):
            for name, value in sorted(thing.state_dict().items()):
                if isinstance(value, torch.Tensor) and value.layout == torch.strided:
                    total.update(f"{name}\0{value.dtype}\0".encode())
                    total.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
            found = True
        elif type(thing).__name__ == "InferenceSession":  # onnxruntime keeps the file or its path
            content = getattr(thing, "_model_bytes", None)
            path = Path(str(getattr(thing, "_model_path", None) or ""))
            if content is not None or path.is_file():
                total.update(hashlib.sha256(content or path.read_bytes()).digest())
                found = True
    return total.hexdigest() if found else ""


def _around(one: Any) -> Iterator[Any]:
    """A thing, what it holds, and what a function of its own uses: bound, enclosed, or of its module."""
    yield one
    for held in [*getattr(one, "__dict__", {}).values(), *vars(type(one)).values()]:
        yield held
        function = inspect.unwrap(held) if inspect.isroutine(held) else None
        if function is None:
            continue
        yield getattr(function, "__self__", None)
        code = getattr(function, "__code__", None)
        names = getattr(function, "__globals__", {})
        yield from (names[name] for name in (code.co_names if code else ()) if name in names)
        for cell in getattr(function, "__closure__", None) or ():
            try:
                yield cell.cell_contents
            except ValueError:  # not filled yet
                continue


def must_agree(name: str, there: Sequence[Identity], here: Sequence[Identity]) -> None:
    """Refuse a worker whose models are not those of this machine, or compute in another number format."""
    if [one.kind for one in there] != [one.kind for one in here]:
        raise WeakspotError(
            f"a {name} worker is made of different parts than the {name} on this machine", fix=_SAME_FILES
        )
    for theirs, ours in zip(there, here, strict=True):
        what = theirs.kind.rpartition(".")[2]
        if theirs.digest != ours.digest:
            raise WeakspotError(
                f"a {name} worker has a different model ({what}) from this machine: digest "
                f"{theirs.digest[:12] or 'unknown'} there, {ours.digest[:12] or 'unknown'} here",
                fix=_SAME_FILES,
            )
        if theirs.labels != ours.labels:
            raise WeakspotError(
                f"a {name} worker's {what} has different labels from this machine's", fix=_SAME_FILES
            )
        if theirs.dtype != ours.dtype:
            raise WeakspotError(
                f"a {name} worker's {what} computes in {theirs.dtype} on {theirs.device}, this machine's "
                f"in {ours.dtype} on {ours.device}, which is not the same model",
                fix=f"say which in its name: dtype={theirs.dtype} or dtype={ours.dtype}"
                + (f"; or give workers a GPU: {name}_gpus=1" if theirs.device == "cpu" else ""),
            )


_SAME_FILES: Final = "give all machines the same files: a revision of the hub, or copies of one folder"
