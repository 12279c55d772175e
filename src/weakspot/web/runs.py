"""The runs below a folder, and one of them as the explorer tells it: numbers that cost nothing to read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from weakspot.core import Finding, Hypothesis, Rate, Tally, WeakspotError
from weakspot.report.plots import Axis, Bar, axis
from weakspot.store import Run, RunConfig, rate
from weakspot.study.reports import document_of
from weakspot.web.trials import reading

#: Runs that are listed, and hypotheses of one that are.
MOST, LINES = 500, 200
#: A run that calls itself running and wrote nothing for so many seconds may have been killed.
SILENT: Final = 60.0


@dataclass(frozen=True, slots=True)
class Line:
    """A hypothesis with its counts and, once it was judged, its bar."""

    hypothesis: Hypothesis
    phrase: str
    tally: Tally
    rate: Rate
    bar: Bar | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A run at this moment."""

    name: str  # in addresses
    folder: Path
    config: RunConfig
    state: str  # "running", "finished", "stopped"
    reason: str  # why it stopped
    silent: float  # for how many seconds nothing was written
    total: Tally  # counts of all hypotheses
    lines: tuple[Line, ...]  # those that fail most first, at most `LINES`
    hypotheses: int  # how many there are
    findings: tuple[Finding, ...]
    spend: Mapping[str, float]
    budget: str
    images: bool  # whether inputs were kept
    scale: Axis  # of the bars
    # what a finished run says, in its report's words; "" where its findings say it, or it costs much
    told: str = ""

    @property
    def title(self) -> str:
        """The model, and what the run is about where that is something else."""
        target = str(self.config.settings.get("target") or self.config.settings.get("encoder") or "")
        return " · ".join(filter(None, (target or self.config.study, self.about)))

    @property
    def about(self) -> str:
        """What it is about beside the model; "" where it is nothing else."""
        target = str(self.config.settings.get("target") or self.config.settings.get("encoder") or "")
        return self.config.subject.removesuffix(target).strip()

    @property
    def lost(self) -> bool:
        """It calls itself running but has been silent for long."""
        return self.state == "running" and self.silent > SILENT

    @property
    def share(self) -> float | None:
        """How much of its budget of images is spent; None if it has none."""
        for limit in self.budget.split(","):
            what, _, amount = limit.partition("=")
            most = _amount(amount)
            if what.strip() in ("images", "calls", "pairs") and most:
                return min(1.0, self.spend.get(what.strip(), 0.0) / most)
        return None


class Shelf:
    """The runs in a folder, or the one run that it is. Addresses name what was found here, never a path."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise WeakspotError(f"there is no folder {root}", fix="name the folder of runs, e.g. runs/")
        self.root, self.given = root.resolve(), root

    def folders(self) -> dict[str, Path]:
        """Folders of runs by name, newest first."""
        if (self.root / "run.yaml").is_file():
            return {self.root.name: self.given}
        levels = ("[!.]*/run.yaml", "[!.]*/[!.]*/run.yaml")
        found = [path.parent for level in levels for path in self.given.glob(level)]
        found = [folder for folder in found if folder.resolve().is_relative_to(self.root)]
        found.sort(key=lambda folder: (-_written(folder), folder.name))
        return {"~".join(folder.relative_to(self.given).parts): folder for folder in found[:MOST]}

    def folder(self, name: str) -> Path | None:
        """Of one run; None if there is none of this name."""
        return self.folders().get(name)


def sight(name: str, folder: Path, *, lines: int = LINES) -> Sight:
    """Read a run, also while it is written."""
    with Run.read(folder) as run, reading(folder) as trials:
        known, tallies = (trials.hypotheses(), trials.tallies()) if lines else ({}, {})
        words = phrases(known.values())
        order = sorted(known, key=lambda key: (-_weight(tallies.get(key, Tally())), key))[:lines]
        rates = {key: rate(tallies.get(key, Tally())) for key in order}
        scale = axis(rates.values())
        state, _, reason = run.state.partition(":")
        return Sight(
            name=name,
            folder=folder,
            config=run.config,
            state=state if state in ("running", "finished") else "stopped",
            reason=reason.strip(),
            silent=max(0.0, time.time() - _written(folder)),
            total=trials.total(),
            lines=tuple(
                Line(
                    known[key],
                    words[known[key].id],
                    tallies.get(key, Tally()),
                    rates[key],
                    scale.bar(rates[key]) if rates[key].n else None,
                )
                for key in order
            ),
            hypotheses=trials.count(),
            findings=tuple(run.findings),
            spend=run.ledger.spend(),
            budget=str(run.ledger.fact("budget") or run.config.settings.get("budget") or ""),
            images=bool(run.config.blobs) or (folder / "blobs").is_dir(),
            scale=scale,
            told=told(run, cheap=not lines) if state == "finished" else "",
        )


def told(run: Run, *, cheap: bool) -> str:
    """The conclusion of studies whose result is no list of findings; "" where a fact is not as we know it.

    Args:
        run: Finished, open for reading.
        cheap: Only what is read from a single fact, and not from all trials.
    """
    tell: dict[str, Callable[[], str]] = {
        "rare": lambda: document_of(run).conclusion,
        "repair": lambda: document_of(run).conclusion,
        "mine": lambda: document_of(run).conclusion,
        "map": lambda: document_of(run).conclusion,
    }
    if not cheap:
        tell["ask"] = lambda: document_of(run).conclusion
    try:
        return tell[run.config.study]() if run.config.study in tell else ""
    except (LookupError, TypeError, ValueError, WeakspotError):  # written by another version, or by hand
        return ""


def phrases(hypotheses: Iterable[Hypothesis]) -> dict[str, str]:
    """What each hypothesis adds to the words of its baseline, by id."""
    known = list(hypotheses)
    bases = sorted((h.text for h in known if h.origin == "baseline"), key=len, reverse=True)
    return {
        h.id: h.text.removeprefix(next((b for b in bases if h.text.startswith(b)), "")).strip() or h.text
        for h in known
    }


def slices(known: Mapping[int, Hypothesis], most: int = 400) -> list[str]:
    """Concept values of hypotheses, as "name=value"."""
    return sorted({f"{name}={value}" for h in known.values() for name, value in h.concepts})[:most]


def _weight(tally: Tally) -> float:
    """Where a hypothesis stands in the list: by its rate, those with few trials drawn towards zero."""
    return tally.failures / (tally.n + 10)


def _written(folder: Path) -> float:
    times = [
        (folder / name).stat().st_mtime for name in ("ledger.db", "ledger.db-wal") if (folder / name).exists()
    ]
    return max(times, default=0.0)


def _amount(text: str) -> float:
    text = text.strip().lower()
    power = {"k": 1e3, "m": 1e6}.get(text[-1:], 1.0)
    try:
        return float(text.rstrip("km")) * power
    except ValueError:
        return 0.0
