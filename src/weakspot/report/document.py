"""How a run is told: one value per study, rendered once as a page, as Markdown, as JSON and on a terminal.

A study subclasses `Document` in its `document.py` and says what is in it; everything else (the header, the
settings, what people say, escaping, files) is the same for all of them. What is shown in every form is a
`Table`; a `Figure` and `Pictures` are shown on the page; `Html` is for what a page shows in its own way.
"""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from weakspot.core import Hypothesis, Trial, WeakspotError
from weakspot.report import format as show
from weakspot.report.plots import Figure
from weakspot.store import Run, Unreachable

if TYPE_CHECKING:
    from PIL import Image

#: Kinds of errors that are listed.
ERRORS: Final = 50
#: The longest side of a picture in the page, in pixels.
LARGEST: Final = 160
#: A PNG above this many bytes becomes a JPEG.
PNG_BYTES: Final = 16_000
#: Pictures above this many pixels are not decoded.
PIXELS: Final = 50_000_000


class Table(NamedTuple):
    """Rows of text under a heading.

    Attributes:
        title: What is in it; where a section has this table alone, the section's heading.
        more: How many rows are left out; they are in report.json.
        folded: On the page it opens by a click on this line.
    """

    title: str
    note: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    more: int = 0
    folded: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """The input of a trial, as a picture (a data URI) or as text, and what the target said of it.

    Attributes:
        alt: The example in words.
        caption: What the source knows of it.
        expected: What the target should have said.
        pixelated: The picture is so small that its pixels should stay sharp when it is enlarged.
    """

    index: int
    said: str
    probability: float | None
    alt: str
    caption: str
    uri: str = ""
    text: str = ""
    pixelated: bool = False
    expected: str = ""


@dataclass(slots=True)
class Allowance:
    """How many characters of pictures the page may still hold."""

    left: int


class Pictures(NamedTuple):
    """Inputs that were kept, with what was said of them.

    Attributes:
        kind: "fail", "pass", or "meant" where the verdict does not matter.
        instead: What is shown where pictures cannot be, as in Markdown, or where none was kept.
    """

    title: str
    note: str
    shown: Sequence[Example]
    kind: str = "fail"
    instead: Table | None = None


class Text(NamedTuple):
    """A paragraph; `empty` where it says that there is nothing."""

    text: str
    empty: bool = False


class Html(NamedTuple):
    """What the page shows in its own way.

    Attributes:
        template: Of the study's own package, as "package:file", in its templates folder. It finds
            the macros of parts.html.j2, and `figures` by name.
        markdown: The same in Markdown, escaped.
        figures: What the template shows, or what its own drawings are saved as.
    """

    template: str
    values: Mapping[str, Any]
    markdown: str = ""
    figures: Sequence[Figure] = ()


Block = Table | Figure | Pictures | Text | Html


class Section(NamedTuple):
    """A heading with what stands under it."""

    title: str
    blocks: Sequence[Block]
    note: str = ""


class Tile(NamedTuple):
    """A number that stands out below the conclusion."""

    name: str
    number: str
    note: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command that made a run ends: its exit code, and what to call next, without the program."""

    code: int
    next: Sequence[str] = ()


class Document:
    """One run as it is told. What costs time to read is read when a form needs it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        #: The command that makes the same run again; "" where there is none.
        self.again = ""
        #: Makes the tables of what people said of its items.
        self.people: Callable[[], Sequence[Table]] = tuple

    @property
    def title(self) -> str:
        """Of the page, in plain text."""
        return f"{self.run.config.study} · {self.run.config.subject}"

    @property
    def conclusion(self) -> str:
        """What a manager would say of it: one sentence, or a few."""
        raise NotImplementedError

    @property
    def verdict(self) -> str:
        """One or two words that stand above the conclusion; "" where there is no such verdict."""
        return ""

    @property
    def resume(self) -> str:
        """The command that goes on with the run."""
        larger = " --budget …" if "budget" in self.run.state else ""
        return show.shell(["weakspot", "resume", str(self.run.folder)]) + larger

    def tiles(self) -> Sequence[Tile]:
        """The numbers that stand out."""
        return ()

    def about(self) -> Sequence[str]:
        """Lines in small print below the conclusion."""
        return ()

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        """What the study says of it, in the order in which it is read."""
        raise NotImplementedError

    def every_section(self, allowance: Allowance) -> list[Section]:
        """The same, then what people say and what went wrong; none is empty."""
        found = [*self.sections(allowance), Section("What people say", self.people())]
        if (wrong := error_table(self.run)) is not None:
            found.append(Section("Errors", [wrong]))
        return [section for section in found if section.blocks]

    def values(self) -> Mapping[str, Any]:
        """What report.json holds beside what it holds of every run."""
        return {}

    def lines(self, wide: int) -> Iterable[str]:
        """What the command prints when the run ends, on a terminal of so many columns."""
        raise NotImplementedError

    def redraw(self, hypothesis: Hypothesis, index: int) -> str:
        """Python that draws one case again; "" where the study has no such thing."""
        return ""

    def ending(self) -> Ending:
        """How the command ends: 3 where a budget ended the run."""
        folder = str(self.run.folder)
        if self.run.state.startswith("stopped"):
            larger = ("--budget", "…") if " budget of " in self.run.state else ()
            return Ending(3, ("resume", folder, *larger))
        return Ending(0, ("report", folder, "--open"))

    def summary(self) -> dict[str, Any]:
        """The run as plain values under stable keys: what report.json holds and `--json` prints."""
        config = self.run.config
        head = {
            "format": 1,
            "study": config.study,
            "subject": config.subject,
            "folder": str(self.run.folder),
            "state": self.run.state,
            "created": config.created,
            "conclusion": self.conclusion,
            "settings": dict(config.settings),
            "digests": dict(config.digests),
            "versions": dict(config.versions),
        }
        found: dict[str, Any] = plain(head | dict(self.values()))
        return found


def plain(value: Any) -> Any:
    """Only what JSON knows: numbers that are not finite become null, strangers their text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    return str(value)


def spent(run: Run) -> dict[str, float]:
    """What a run cost, by kind; whole numbers where they are whole."""
    return {k: int(v) if float(v).is_integer() else round(v, 6) for k, v in run.ledger.spend().items()}


def errors(run: Run) -> list[dict[str, Any]]:
    return [{"what": what, "times": times} for what, times in run.ledger.errors()]


def error_table(run: Run) -> Table | None:
    """What went wrong, for people; None where nothing did."""
    tallies, found = run.ledger.tallies().values(), list(run.ledger.errors())
    wrong, drawn = sum(t.errors for t in tallies), sum(t.drawn for t in tallies)
    if not found:
        return None
    rows = [
        (show.count(times), show.shorten(what or "no detail given", 500)) for what, times in found[:ERRORS]
    ]
    note = f"{show.plural(wrong, 'trial')} of {show.count(drawn)} ended in an error. " if wrong else ""
    note += "None of these counts as a failure of the model."
    return Table("Errors", note, ("times", "what"), rows, max(0, len(found) - ERRORS))


def pairs(rows: Iterable[tuple[str, Any]], *, title: str = "", note: str = "", folded: str = "") -> Table:
    texts = [(name, show.NONE if value is None else str(value)) for name, value in rows]
    return Table(title, note, ("what", "value"), texts, folded=folded)


# -- kept inputs -------------------------------------------------------------------------------------
#
# Pictures are decoded and encoded anew, so nothing of a stranger's file but its pixels reaches the page. What
# is missing, damaged or too large is left out: a report is never lost for a picture.


def examples(
    run: Run, hypothesis: Hypothesis, indices: Sequence[int], *, most: int, allowance: Allowance
) -> list[Example]:
    """The first `most` of these trials whose inputs can be shown."""
    shown: list[Example] = []
    for index in indices:
        if len(shown) >= most or allowance.left <= 0:
            break
        try:
            trial = run.ledger.trial(hypothesis, index)
            content = run.blobs.get(trial.blob) if trial is not None and trial.blob else b""
        except Unreachable:  # it is not this input: there would be none at all, and nobody would know why
            raise
        except (WeakspotError, OSError):
            continue
        example = _example(trial, content) if trial is not None and content else None
        if example is None:
            continue
        allowance.left -= len(example.uri) + len(example.text)
        if allowance.left >= 0:
            shown.append(example)
    return shown


def picture(run: Run, blob: str, allowance: Allowance) -> str:
    """A kept picture as a data URI; "" if it cannot be shown, or that is more than the page may hold."""
    try:
        uri, _ = data_uri(run.blobs.get(blob))
    except Unreachable:
        raise
    except (WeakspotError, OSError):
        return ""
    allowance.left -= len(uri)
    return uri if allowance.left >= 0 else ""


def _example(trial: Trial, content: bytes) -> Example | None:
    said, probability = said_of(trial)
    caption = show.shorten(trial.caption, 300)
    verdict = "failed" if trial.failed else "passed"
    alt = f"{verdict}: {show.shorten(trial.expected, 60) or 'a case'} answered with {said}"
    alt += f". {show.shorten(trial.caption, 200)}" if trial.caption else ""
    uri, pixelated = data_uri(content)
    should = show.shorten(trial.expected, 80)
    if uri:
        return Example(
            trial.index, said, probability, alt, caption, uri=uri, pixelated=pixelated, expected=should
        )
    try:
        text = show.shorten(content.decode(), 400)
    except UnicodeDecodeError:
        return None
    return Example(trial.index, said, probability, alt, caption, text=text, expected=should)


def said_of(trial: Trial) -> tuple[str, float | None]:
    """The target's answer, and how sure it was of it where it says so."""
    probabilities = dict(trial.top)
    answer = trial.answer if trial.answer is not None else next(iter(probabilities), None)
    if answer is None:
        return trial.status.value, None
    return show.shorten(answer, 80) or "(nothing)", probabilities.get(answer)


def data_uri(content: bytes) -> tuple[str, bool]:
    """A picture as a data URI, at most `LARGEST` pixels wide and high; and whether it is a small one.

    ("", False) if these bytes are no picture that can be shown.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opened = Image.open(io.BytesIO(content), formats=("PNG", "JPEG", "WEBP"))
            if opened.width * opened.height > PIXELS:
                return "", False
            picture = opened.convert("RGB")
    except Exception:  # a decoder fed with damaged bytes may raise anything
        return "", False
    small = max(picture.size) <= LARGEST // 2
    picture.thumbnail((LARGEST, LARGEST), Image.Resampling.LANCZOS)
    encoded, kind = _encoded(picture, "PNG", compress_level=9), "png"
    if len(encoded) > PNG_BYTES:
        encoded, kind = _encoded(picture, "JPEG", quality=82, optimize=True), "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(encoded).decode()}", small


def _encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, format=kind, **options)
    return file.getvalue()
