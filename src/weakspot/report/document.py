"""How a run is told: one value per study, rendered once as a page, as Markdown, as JSON and on a terminal.

A study subclasses `Document` in its `document.py` and says what is in it; everything else (the header, the
settings, what people say, escaping, files) is the same for all of them. What is shown in every form is a
`Table`; a `Figure` and `Pictures` are shown on the page; `Html` is for what a page shows in its own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from weakspot.core import Hypothesis
from weakspot.report import format as show
from weakspot.report.evidence import Example, Room
from weakspot.report.figure import Figure
from weakspot.store import Run

#: Kinds of errors that are listed.
ERRORS: Final = 50


class Table(NamedTuple):
    """Rows of text under a heading.

    Attributes:
        title: What is in it; where a section has this table alone, the section's heading.
        note: How to read it.
        more: How many rows are left out; they are in report.json.
    """

    title: str
    note: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    more: int = 0


class Pictures(NamedTuple):
    """Inputs that were kept, with what was said of them.

    Attributes:
        kind: "fail" or "pass".
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
        values: What the template is given.
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
    """How a command that made a run ends.

    Attributes:
        code: The exit code.
        next: The words of the command that takes the reader further, without the program.
    """

    code: int
    next: Sequence[str] = field(default_factory=tuple)


class Document:
    """One run as it is told. What costs time to read is read when a form needs it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        #: The command that makes the same run again; "" where there is none.
        self.again = ""

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

    def sections(self, room: Room) -> Iterable[Section]:
        """What the report says, in the order in which it is read.

        Args:
            room: How much the page can still hold in pictures.
        """
        raise NotImplementedError

    def values(self) -> Mapping[str, Any]:
        """What report.json holds beside what it holds of every run."""
        return {}

    def lines(self, wide: int) -> Iterable[str]:
        """What the command prints when the run ends, on a terminal of so many columns."""
        raise NotImplementedError

    def redraw(self, hypothesis: Hypothesis, index: int) -> str:
        """Python that draws one case again; "" where the study has no such thing."""
        del hypothesis, index
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
    """What went wrong in a run, and how often."""
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


def pairs(rows: Iterable[tuple[str, Any]], *, title: str = "", note: str = "") -> Table:
    """A table of names and values."""
    texts = [(name, show.NONE if value is None else str(value)) for name, value in rows]
    return Table(title, note, ("what", "value"), texts)
