"""One trial from beginning to end: words, seed, input, answer, verdict, and how to see it again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from weakspot.core import Hypothesis, Stage, Tally, Trial, case_seed
from weakspot.report import format as show
from weakspot.store import Run
from weakspot.study.reports import command_of, redraw


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A trial and what surrounds it."""

    hypothesis: Hypothesis
    trial: Trial
    tally: Tally
    stage: Stage
    seed: int | None  # of its case; None where the run has no seed
    text: str  # the input, if it is text
    parents: tuple[Hypothesis, ...]  # from its hypothesis' parent to the first ancestor
    command: str  # repeats the run; "" where a shell cannot say it
    python: str  # draws this very case again; "" where that takes an object without a name
    before: int | None  # the index of the trial before it in its stage; None if it is the first
    after: int | None  # the one after it
    study: str  # of the run
    words: bool  # the input is the caption: a question, or a pair of texts


def story(folder: Path, hypothesis: str, index: int) -> Story | None:
    """The story of a trial; None if there is no such trial."""
    with Run.read(folder) as run:
        known = {h.id: h for h in run.ledger.hypotheses()}
        words = known.get(hypothesis)
        trial = run.ledger.trial(words, index) if words is not None and 0 <= index < (2 << 32) else None
        if words is None or trial is None:
            return None
        stage = Stage.of(index)
        seed = run.config.settings.get("seed")
        near = run.ledger.indices(words, max(stage.start, index - 1), index + 2)
        return Story(
            hypothesis=words,
            trial=trial,
            tally=run.ledger.tally(words, stage),
            stage=stage,
            seed=case_seed(seed, words, index) if isinstance(seed, int) else None,
            text=_text(run, trial),
            parents=tuple(_parents(words, known)),
            command=command_of(run),
            python=redraw(run, words, index),
            before=index - 1 if index - 1 in near else None,
            after=index + 1 if index + 1 in near else None,
            study=run.config.study,
            words=run.config.study in ("ask", "mine") and not trial.blob and bool(trial.caption),
        )


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
        return run.blobs.get(trial.blob)[:20_000].decode()
    except Exception:  # missing, damaged, or a picture: all of that is shown elsewhere
        return ""


def shown_command(folder: Path) -> str:
    """Goes on with, or writes the report of, any run."""
    return show.shell(["weakspot", "report", str(folder), "--open"])
