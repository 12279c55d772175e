"""`weakspot doctor MODEL`: load a model, check its port's contract, measure its speed and memory.

Classifiers are also shown pictures whose labels are known, which catches labels in the wrong order.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from weakspot.after.label_order import LEAST, label_order
from weakspot.checks.models import check_captioner, check_encoder, check_generator
from weakspot.checks.ports import check_target
from weakspot.core import (
    MODELS,
    PICTURES,
    Captioner,
    Case,
    Classifier,
    Encoder,
    Generator,
    Hypothesis,
    Status,
    Target,
    TextEncoder,
    WeakspotError,
)
from weakspot.core.abilities import Batching, Described, Doubtful, Releasing
from weakspot.core.ports import Probing
from weakspot.models.pictures import SAY
from weakspot.sources.labelled import labelled_images
from weakspot.study.loading import part

#: Seconds that are spent on measuring the speed.
MEASURED: Final = 1.0
#: Sanity pictures at most.
SHOWN: Final = 200
TEXTS: Final = (
    "a dog.",
    "two cats on a red sofa by the window.",
    "it is night.",
    "a fly on a yellow flower.",
)
_LONG: Final = "The town has opened a new library. It stands by the river. Children came to see it first."


@dataclass(slots=True)
class ModelCheck:
    """What was found."""

    name: str  # of the model
    ports: list[str] = field(default_factory=list)  # what it can be used as
    about: str = ""  # what runs where
    seconds: float = 0.0  # to load it
    # bytes that loading and asking added to this process; None where that cannot be told
    memory: int | None = None
    gpu: int | None = None  # bytes at most on the GPU; None without one
    speed: tuple[float, str] | None = None  # items a second, and what the items are
    checked: list[str] = field(default_factory=list)  # what was checked and holds
    faults: list[tuple[str, str]] = field(default_factory=list)  # what does not, with the way out
    notes: list[str] = field(default_factory=list)  # what a person should know
    trace: str = ""  # where the model itself raised an error, as Python tells it; "" where it did not

    @property
    def ok(self) -> bool:
        return not self.faults

    def to_json(self) -> dict[str, Any]:
        return {"ok": self.ok, **asdict(self)}


def check_model(name: str, *, images: str | None = None) -> ModelCheck:
    """Load and check what a name names, with the pictures that `weakspot map --images` would take."""
    found, before = ModelCheck(name), resident()
    began = time.monotonic()
    model = part(None, name, MODELS, object)
    found.seconds = time.monotonic() - began
    found.ports = ports(model)
    try:
        _check(model, found, images)
    except WeakspotError as error:
        found.faults.append((error.what, error.fix))
    except Exception as error:  # of a model that is a user's, or a plugin's
        said = (str(error).strip().splitlines() or [""])[0][:300]
        found.faults.append((f"it raised {type(error).__name__}: {said}", "correct it; --debug shows where"))
        found.trace = "".join(traceback.format_exception(error))
    if isinstance(model, Doubtful) and model.doubt:
        found.faults.append((model.doubt, SAY))
    found.about = model.about if isinstance(model, Described) else ""
    found.memory = None if before is None else max(0, (resident() or 0) - before)
    found.gpu = _on_gpu()
    if isinstance(model, Releasing):
        model.release()
    return found


def ports(model: object) -> list[str]:
    known: dict[str, type] = {
        "classifier": Classifier, "encoder of texts and pictures": Encoder, "encoder of texts": TextEncoder,
        "captioner": Captioner, "generator": Generator,
    }  # fmt: skip
    has = [what for what, port in known.items() if isinstance(model, port)]
    if "encoder of texts and pictures" in has:
        has.remove("encoder of texts")
    if hasattr(model, "answer_questions"):
        has.append("chat model")
    elif isinstance(model, Target) and "classifier" not in has:
        has.append("target")
    return has


def _check(model: Any, found: ModelCheck, images: str | None) -> None:
    if not found.ports:
        raise WeakspotError("no study can use it", fix="see docs/concepts.md, Ports")
    if "chat model" in found.ports:
        _chat(model, found)
        return
    if isinstance(model, Classifier):
        _classifier(model, found, images)
    elif isinstance(model, Target):
        cases = [_case(i, text) for i, text in enumerate([_LONG, *TEXTS])]
        _without_errors(check_target(model, cases))
        found.checked.append("one well-formed answer per text, the same in any order")
        _speed(found, "texts", lambda: model.answer(cases), len(cases))
    pictures = _pictures()
    if isinstance(model, TextEncoder):
        shown = pictures[:3] if isinstance(model, Encoder) else None
        check_encoder(model, TEXTS, shown)
        found.checked.append("rows of length 1 that follow from their own text or picture alone")
        many = [f"{text} {i}" for i in range(64) for text in TEXTS[:1]]
        _speed(found, "texts", lambda: model.embed_texts(many), len(many))
    if isinstance(model, Captioner):
        check_captioner(model, pictures[:2], ("a dog.", "it is on red snow."))
        found.checked.append("captions that begin with the given words; log-probabilities that add up")
        _speed(found, "captions", lambda: model.captions(pictures[:4]), 4)
    if isinstance(model, Generator):
        _generator(model, found)


def _classifier(model: Classifier, found: ModelCheck, images: str | None) -> None:
    labels = model.labels
    where = images or _shown_to(labels)
    cases = _labelled(where, labels) if where else [_case(i, p) for i, p in enumerate(_pictures())]
    few = cases[: min(len(cases), 16)]
    if len({case.input.shape for case in cases}) > 1:
        few = [case for case in few if case.input.shape == few[0].input.shape]
    _without_errors(check_target(model, few))
    found.checked.append(f"one answer of {len(labels)} labels per picture, the same in any order")
    _speed(found, "pictures", lambda: model.answer(few), len(few))
    if where is None:
        found.notes.append("the order of the labels was not checked: give --images FOLDER with known labels")
        return
    said = [output for case in cases for output in model.answer([case])]
    there = [(o.answer, c.expected) for o, c in zip(said, cases, strict=True) if o.answer is not None]
    order = label_order([a for a, _ in there], [e for _, e in there], labels)
    found.notes.append(f"{order.right} of {order.n} sanity pictures ({where}) are answered correctly")
    if order.slip:
        what = (
            f"{order.slip}: {order.right} of {order.n} sanity pictures are right; in the right order "
            f"{order.renamed} would be"
        )
        found.faults.append((f"{what} ({order.example})", "put the labels into the model's order"))
    elif order.n >= LEAST and order.right < order.n / 4:
        found.notes.append("that is low: check mean, std and size, and whether the model knows such pictures")


def _generator(model: Generator, found: ModelCheck) -> None:
    began = time.monotonic()
    one = model.generate(["a photo of a fly."], [1])[0]
    seconds = time.monotonic() - began
    if seconds < 1 and not hasattr(model, "endpoint"):
        check_generator(model)
    elif not np.array_equal(one, model.generate(["a photo of a fly."], [1])[0]):
        raise WeakspotError(
            "the same prompt and seed give another picture",
            fix="say what the server calls the seed (?seed=seed), or keep what was drawn (?cache=FOLDER)",
        )
    elif np.array_equal(one, model.generate(["a bee on a flower."], [1])[0]):
        raise WeakspotError(
            "other words give the same picture with the same seed",
            fix="check the tokenizer and its vocabulary, or under which name the prompt is sent",
        )
    found.checked.append(f"pictures of {one.shape[0]}×{one.shape[1]} that follow from prompt and seed")
    if hasattr(model, "endpoint"):
        found.speed = (1 / max(seconds, 1e-9), "pictures")
        found.notes.append("this is the speed of one request at a time; a run sends several at once")
        return
    many = model.batch if isinstance(model, Batching) else 1
    prompts = ["a photo of a fly."] * many
    _speed(found, "pictures", lambda: model.generate(prompts, list(range(many))), many)


def _chat(model: Any, found: ModelCheck) -> None:
    if isinstance(model, Probing):
        began = time.monotonic()
        model.probe()
        found.checked.append(f"a short question was answered in {time.monotonic() - began:.1f} s")
    else:
        _without_errors(check_target(model, [_case(0, "Say yes.")], deterministic=False))
        found.checked.append("a short question was answered")


def _without_errors(outputs: Sequence[Any]) -> None:
    errors = [output.detail for output in outputs if output.status is Status.ERROR]
    if errors:
        raise WeakspotError(
            f"{len(errors)} of {len(outputs)} answers are errors: {errors[0]}",
            fix="correct what the error names; docs/models.md has the options of each model",
        )


def _speed(found: ModelCheck, what: str, work: Callable[[], Any], items: int) -> None:
    """The first measure is kept: what a model mainly is comes first."""
    if found.speed is not None or MEASURED <= 0:
        return
    work()  # warm
    began, done = time.monotonic(), 0
    while not done or time.monotonic() - began < MEASURED:
        work()
        done += items
    found.speed = (done / (time.monotonic() - began), what)


def _case(index: int, shown: Any, expected: str = "") -> Case:
    return Case(Hypothesis("weakspot doctor."), index, index, shown, expected)


def _pictures() -> list[Any]:
    some = labelled_images(f"{next(iter(PICTURES)).name}:8")
    return [some.picture(i) for i in range(len(some))]


def _labelled(where: str, labels: Sequence[str]) -> list[Case]:
    found = labelled_images(where, labels=labels)
    some = np.unique(np.linspace(0, len(found) - 1, SHOWN, dtype=np.int64)).tolist()  # of all labels alike
    return [_case(i, found.picture(i), found.labels[i]) for i in some]


def _shown_to(labels: Sequence[str]) -> str | None:
    """A registered set of pictures of which a model has all labels."""
    names = (entry.name for entry in PICTURES)
    return next((f"{n}:80" for n in names if {*labelled_images(f"{n}:64").labels} <= {*labels}), None)


def resident() -> int | None:
    """Bytes of memory that this process holds; None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    import resource

    return pages * resource.getpagesize()


def _on_gpu() -> int | None:
    torch: Any = sys.modules.get("torch")
    return int(torch.cuda.max_memory_allocated()) if torch and torch.cuda.is_available() else None
