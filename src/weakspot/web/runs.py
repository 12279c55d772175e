"""The runs below a folder, and a run and a trial as the explorer shows them: what costs little to read."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from weakspot.core import Finding, Hypothesis, Rate, Stage, Tally, Trial, WeakspotError, case_seed
from weakspot.core.registry import study_names
from weakspot.report.document import Table
from weakspot.report.people import corrected as people
from weakspot.report.plots import Axis, Bar, axis
from weakspot.store import Run, RunConfig, rate
from weakspot.study.rates import fixed
from weakspot.study.reports import command_of, document_of, redraw
from weakspot.study.study import find_study
from weakspot.study.views import Views
from weakspot.web.measured import NOTHING, Measured, measured, transferred
from weakspot.web.trials import reading

#: Runs that are listed, and hypotheses of one that are.
MOST, LINES = 500, 200
#: A run that calls itself running and wrote nothing for so many seconds may have been killed.
SILENT: Final = 60.0
#: Where hypotheses come from whose draws are not as they come.
MOVED: Final = "moved"
#: Studies whose result is no list of findings, and is read from a single fact.
_CHEAP: Final = ("rare", "repair", "mine", "map")


@dataclass(frozen=True, slots=True)
class HypothesisLine:
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
    lines: tuple[HypothesisLine, ...]  # those that fail most first, at most `LINES`
    hypotheses: int  # how many there are
    findings: tuple[Finding, ...]
    spend: Mapping[str, float]
    budget: str
    images: bool  # whether inputs were kept
    scale: Axis  # of the bars
    # what a finished run says, in its report's words; "" where it costs much
    conclusion: str = ""
    measured: Measured = NOTHING  # of a finished run, as its report says it
    transferred: tuple[Table, ...] = ()  # what other models made of its findings

    @property
    def title(self) -> str:
        """The model, and what the run is about where that is something else."""
        return " · ".join(filter(None, (self._target or self.config.study, self.about)))

    @property
    def about(self) -> str:
        """What it is about beside the model; "" where it is nothing else."""
        return self.config.subject.removesuffix(self._target).strip()

    @property
    def _target(self) -> str:
        return str(self.config.settings.get("target") or self.config.settings.get("encoder") or "")

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
        return self.folders().get(name)


def sight(name: str, folder: Path, *, lines: int = LINES) -> Sight:
    """Read a run, also while it is written."""
    with Run.read(folder) as run, reading(folder) as trials:
        known, tallies = (trials.hypotheses(), trials.tallies()) if lines else ({}, {})
        words = phrases(known.values())
        order = sorted(known, key=lambda key: (-_weight(tallies.get(key, Tally())), key))[:lines]
        planned = fixed(run)
        # Draws that were moved towards failure have no rate of their own.
        rates = {
            key: rate(Tally() if known[key].origin == MOVED else tallies.get(key, Tally()), fixed=planned)
            for key in order
        }
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
                HypothesisLine(
                    known[key],
                    words[known[key].id],
                    tallies.get(key, Tally()),
                    rates[key],
                    scale.bar(rates[key]) if rates[key].n else None,
                )
                for key in order
            ),
            hypotheses=trials.count(),
            findings=tuple(people.findings(run)),
            spend=run.ledger.spend(),
            budget=str(run.ledger.fact("budget") or run.config.settings.get("budget") or ""),
            images=bool(run.config.blobs) or (folder / "blobs").is_dir(),
            scale=scale,
            conclusion=_conclusion(run, cheap=not lines) if state == "finished" else "",
            measured=_measured(run) if lines and state == "finished" else NOTHING,
            transferred=tuple(transferred(folder)) if lines else (),
        )


def _conclusion(run: Run, *, cheap: bool) -> str:
    """What a finished run says; "" if a fact is not as we know it.

    `cheap` leaves out what takes all trials, and not a single fact.
    """
    if cheap and run.config.study not in _CHEAP:
        return ""
    try:
        return document_of(run).conclusion
    except (LookupError, TypeError, ValueError, WeakspotError):  # written by another version, or by hand
        return ""


def _measured(run: Run) -> Measured:
    try:
        return measured(document_of(run), tables=not run.findings)
    except (LookupError, TypeError, ValueError, WeakspotError):
        return NOTHING


def views_of(folder: Path) -> Views:
    """What the headline of a run speaks of, as trials; read again when the run was written."""
    return _views_of(folder, _written(folder))


@lru_cache(maxsize=16)
def _views_of(folder: Path, written: float) -> Views:
    del written
    with Run.read(folder) as run:
        if run.config.study not in study_names():
            return Views()
        make = find_study(run.config.study).find("views")
        try:
            return make(run) if make is not None else Views()
        except (LookupError, TypeError, ValueError):  # a result of another version
            return Views()


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


# -- one trial ---------------------------------------------------------------------------------------


def story(folder: Path, hypothesis: str, index: int) -> dict[str, Any] | None:
    """One trial from beginning to end: words, seed, input, answer, verdict, how to see it again; or None."""
    with Run.read(folder) as run:
        known = {h.id: h for h in run.ledger.hypotheses()}
        words = known.get(hypothesis)
        trial = run.ledger.trial(words, index) if words is not None and 0 <= index < (2 << 32) else None
        if words is None or trial is None:
            return None
        stage, seed = Stage.of(index), run.config.settings.get("seed")
        return {
            "study": run.config.study,
            "hypothesis": words,
            "parents": _parents(words, known),  # from its parent to the first ancestor
            "trial": trial,
            "stage": stage,
            "tally": run.ledger.tally(words, stage),
            "seed": case_seed(seed, words, index) if isinstance(seed, int) else None,
            "text": _text(run, trial),  # the input, if it is text
            # The input is the caption: a question, or a pair of texts.
            "words": run.config.study in ("ask", "mine") and not trial.blob and bool(trial.caption),
            "command": command_of(run),  # repeats the run; "" where a shell cannot say it
            "python": redraw(run, words, index),  # draws this very case again; "" where that cannot be
        }


def _parents(words: Hypothesis, known: dict[str, Hypothesis]) -> list[Hypothesis]:
    found: list[Hypothesis] = []
    at = known.get(words.parent or "")
    while at is not None and at not in found and len(found) < 20:
        found.append(at)
        at = known.get(at.parent or "")
    return found


def _text(run: Run, trial: Trial) -> str:
    """The kept input, if it is no picture."""
    if trial.blob is None:
        return ""
    try:
        return run.blobs.get(trial.blob).decode()
    except Exception:  # missing, damaged, or a picture: all of that is shown elsewhere
        return ""
