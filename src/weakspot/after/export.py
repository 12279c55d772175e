"""The adversarial data set of a hunt: pictures under the found captions that the model misreads.

After Wiles, Albuquerque and Gowal (2022): of each caption some hundred pictures are drawn, and the misread
ones are kept, up to a cap, so that no caption outweighs the others. Here the run's own evidence comes first
and costs nothing. The folder appears whole or not at all; what was drawn for it is not lost by a kill.
"""

from __future__ import annotations

import math
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from weakspot.after.data_card import Counts, picture_card, provenance
from weakspot.after.dataset import FORMATS, PICTURES, Record, front_of, need_pyarrow
from weakspot.core import (
    Finding,
    Hypothesis,
    Judge,
    Source,
    Stage,
    Status,
    Target,
    Trial,
    WeakspotError,
    case_seed,
    check_known,
)
from weakspot.core.ports import available
from weakspot.engine import Budget, BudgetSpent, Engine, Spending
from weakspot.store import Run, RunConfig
from weakspot.studies.hunt.finished import (
    FinishedHunt,
    load_judge,
    load_opinions,
    load_source,
    load_target,
    read_hunt,
    same_for,
)

#: Pictures drawn at once at most before looking whether there are enough.
ROUND: Final = 512
#: The least rate of misread pictures that is planned with.
_LEAST: Final = 0.02
#: Inputs kept of what is drawn: every failing one.
_KEPT: Final = dict.fromkeys(Stage, (1 << 40, 0))
_PNG: Final = b"\x89PNG\r\n\x1a\n"

#: Told what is being done, how much of it is done, and of how much.
Progress = Callable[[str, int, int], None]


class Exported(NamedTuple):
    """A data set that was written."""

    folder: Path  # where
    records: tuple[Record, ...]  # the pictures, finding by finding
    findings: tuple[Finding, ...]  # those exported, in the order of their ranks
    counts: Counts  # how it came together; `counts.limit` says which budget cut it short


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSettings:
    """What to export."""

    format: str = "imagefolder"  # "imagefolder", "parquet", "jsonl" or "hf"
    per_caption: int = 50  # pictures per caption at most
    only_confirmed: bool = False  # leave out findings that fresh draws did not confirm
    # pictures drawn per caption at most, to find more that are misread; 0 takes what the run kept
    draw: int = 0
    budget: str = "images=20000"  # limits of the drawing
    licence: str = "not stated"  # of the pictures; only the user knows it


def export(
    run: Run,
    *,
    out: str | Path | None = None,
    settings: ExportSettings | None = None,
    target: Target | None = None,
    source: Source | None = None,
    judge: Judge | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Write the misread pictures of a hunt's findings into a folder that does not exist.

    By default that is one in the run's folder. Target, source and judge are only for a run made with objects.
    """
    settings = settings or ExportSettings()
    folder = run.folder / f"export-{settings.format}" if out is None else Path(out)
    check(settings, folder)
    hunt = read_hunt(
        run,
        only_confirmed=settings.only_confirmed,
        otherwise=f"runs of hunt, mine, map and ask can be exported; see {run.folder / 'report.json'}",
    )
    # Beside the folder, so that a rename is enough; the same name each time, so that it is found again.
    part = folder.parent / f".{folder.name}.part"
    try:
        with _beside(part, hunt) as drawn:
            if os.path.lexists(folder):  # made by another process, just now
                raise _there(folder)
            collected = _Collected(hunt, settings, drawn)
            collected.kept()
            if settings.draw:
                collected.draw(target, source, judge, progress)
            _write(part / "out", collected, progress)
            (part / "out").rename(folder)
        shutil.rmtree(part)
    except OSError as error:
        raise WeakspotError(
            f"the data set cannot be written to {folder}: {error.strerror or error}",
            fix="free some space, or choose another --out; what was drawn is kept for the next try",
        ) from error
    return Exported(folder, tuple(collected.records), hunt.findings, collected.counts)


def check(settings: ExportSettings, folder: Path) -> None:
    """Refuse what cannot be meant, before anything is loaded or drawn."""
    check_known(settings.format, FORMATS, f"no format is called {settings.format[:80]!r}")
    if settings.per_caption < 1:
        raise WeakspotError(f"{settings.per_caption} pictures per caption are too few", fix="choose e.g. 50")
    if settings.draw < 0:
        raise WeakspotError(f"{settings.draw} pictures cannot be drawn", fix="choose e.g. --draw 1000, or 0")
    Budget.parse(settings.budget)
    if settings.format in ("parquet", "hf"):
        need_pyarrow()
    if os.path.lexists(folder):
        raise _there(folder)


def judge_name(hunt: FinishedHunt) -> str:
    if hunt.settings.judge is not None:
        return hunt.settings.judge
    return "label" if hunt.settings.target_label is None else f"label?target={hunt.settings.target_label}"


class _Collected:
    """The pictures as they come together; what is drawn for them is recorded in a run of its own."""

    def __init__(self, hunt: FinishedHunt, settings: ExportSettings, drawn: Run) -> None:
        self.hunt, self.settings, self.drawn = hunt, settings, drawn
        self.records: list[Record] = []
        self.counted, self.limit = Counter[str](), ""
        self._seen: set[tuple[str, str]] = set()
        self._number = dict.fromkeys(range(len(hunt.findings)), 0)

    @property
    def counts(self) -> Counts:
        return Counts(**self.counted, limit=self.limit)

    def content(self, record: Record) -> bytes:
        """The PNG file of a record, checked against its digest."""
        blobs = self.hunt.run.blobs if record.origin == "kept" else self.drawn.blobs
        content = blobs.get(record.sha256)
        if not content.startswith(_PNG):
            raise WeakspotError(
                f"{record.hypothesis}-{record.index} is not a picture",
                fix="only hunts of pictures can be exported",
            )
        return content

    def kept(self) -> None:
        """What the run kept as evidence; of confirmation first, whose draws took no part in the search."""
        for at, finding in enumerate(self.hunt.findings):
            trials = self.hunt.run.ledger.trials(finding.hypothesis, failed=True, kept=True)
            for trial in sorted(trials, key=lambda t: (-Stage.of(t.index), t.index)):
                if self.wanted(at) and trial.blob is not None and _is_about(finding, trial.answer):
                    self._take(at, trial, "kept")

    def wanted(self, at: int) -> int:
        return self.settings.per_caption - self._number[at]

    def draw(
        self, target: Target | None, source: Source | None, judge: Judge | None, progress: Progress | None
    ) -> None:
        """Draw more of each caption: first what failed in the run but was not kept, then fresh pictures."""
        wants = [at for at in self._number if self.wanted(at)]
        if not wants:
            return
        target = load_target(self.hunt.settings.target) if target is None else target
        self.hunt.check_digest("target", target)
        if judge is None:
            labels = sorted({self.hunt.label_of(finding.hypothesis) for finding in self.hunt.findings})
            same = same_for(self.hunt, target, labels, None) or None
            opinions = load_opinions(self.hunt, target, same=same)
            judge = load_judge(self.hunt, target, same=same, opinions=opinions)
        spending = Spending(Budget.parse(self.settings.budget))
        sources: dict[str, Source] = {}
        try:
            for at in wants:
                label = self.hunt.label_of(self.hunt.findings[at].hypothesis)
                if label not in sources:
                    named = self.hunt.settings.source
                    sources[label] = load_source(named, label=label) if source is None else source
                    self.hunt.check_digest("source", sources[label])
                with Engine(
                    self.drawn,
                    source=sources[label],
                    target=target,
                    judge=judge,
                    keep=_KEPT,
                    seed=self.hunt.settings.seed,
                    patience=None,
                ) as engine:
                    engine.spending = spending
                    self._draw_one(at, engine, progress)
        except BudgetSpent as limit:
            self.limit = f"{limit}"

    def _draw_one(self, at: int, engine: Engine, progress: Progress | None) -> None:
        finding, spending = self.hunt.findings[at], engine.spending
        hypothesis = finding.hypothesis
        known = self.hunt.run.ledger.trials(hypothesis, failed=True)
        failed_before = [t.index for t in known if t.blob is None and _is_about(finding, t.answer)]
        indices = islice(self._indices(failed_before, hypothesis, engine.source), self.settings.draw)
        tried = 0
        while self.wanted(at):
            room = spending.room()
            # What failed before will fail again; of the others, about as many as the rate says.
            sure = max(len(failed_before) - tried, 0)
            rate = 1.0 if sure else max(finding.rate.value, _LEAST)
            size = min(math.ceil(1.1 * self.wanted(at) / rate), ROUND, room, sure or ROUND)
            plan = list(islice(indices, size))
            if not plan:
                if room <= 0:
                    raise BudgetSpent(*spending.tightest())
                return
            trials = engine.draw_at(hypothesis, plan)
            for trial in trials:
                self.counted["tried"] += 1
                self.counted["errors"] += trial.status is Status.ERROR
                self.counted["invalid"] += trial.status is Status.INVALID
                self.counted["recovered"] += trial.index in failed_before and trial.failed is False
                misread = trial.failed and trial.blob is not None and _is_about(finding, trial.answer)
                if misread and self.wanted(at):
                    self._take(at, trial, "drawn")
            tried += len(trials)
            if progress is not None:
                words = f"{finding.phrase} · {self._number[at]} of {self.settings.per_caption}"
                progress(words, tried, self.settings.draw)
            last = trials[-engine.batch :]
            if all(one.status is Status.ERROR and one.detail.startswith("source:") for one in last):
                return  # the source has no more, or cannot draw these words
            spending.check()

    def _indices(self, failed_before: list[int], hypothesis: Hypothesis, source: Source) -> Iterator[int]:
        """Which cases to draw: known failures, then those after the last one of the confirmation."""
        yield from failed_before
        start, fresh = Stage.CONFIRM.start, self.hunt.run.ledger.count(hypothesis, Stage.CONFIRM)
        there = available(source, hypothesis, seed=self.hunt.settings.seed, stage=Stage.CONFIRM)
        yield from range(start + fresh, start + there)

    def _take(self, at: int, trial: Trial, origin: str) -> None:
        """Put a picture into the data set, unless it is there."""
        key = (trial.expected, trial.blob or "")
        if key in self._seen:
            self.counted["twice"] += 1
            return
        self._seen.add(key)
        finding, hunt = self.hunt.findings[at], self.hunt
        self._number[at] += 1
        self.counted[origin] += 1
        self.records.append(
            Record(
                label=trial.expected,
                predicted=trial.answer,
                phrase=finding.phrase,
                caption=trial.caption,
                prompt=finding.hypothesis.text,
                hypothesis=finding.hypothesis.id,
                finding=at + 1,
                confirmed=finding.confirmed,
                index=trial.index,
                seed=case_seed(hunt.settings.seed, finding.hypothesis, trial.index),
                origin=origin,
                score=trial.score,
                top=trial.top,
                target=hunt.settings.target,
                source=hunt.settings.source,
                judge=judge_name(hunt),
                run=hunt.run.folder.resolve().name,
                run_seed=hunt.settings.seed,
                licence=self.settings.licence,
                sha256=trial.blob or "",
            )
        )


def _is_about(finding: Finding, answer: str | None) -> bool:
    """Whether a failure with this answer is one that a finding speaks of."""
    return not finding.answer or finding.answer == answer


def _write(folder: Path, collected: _Collected, progress: Progress | None) -> None:
    collected.records.sort(key=lambda r: r.finding)  # stable: what was kept stays before what was drawn
    records, settings = collected.records, collected.settings
    if not records:
        raise WeakspotError(
            "none of the findings has a misread picture to export",
            fix="draw some: --draw 1000"
            if not settings.draw
            else "draw more, with a larger --draw or --budget",
        )
    done = 0

    def content(record: Record) -> bytes:
        nonlocal done
        done += 1
        if progress is not None:
            progress("writing", done, len(records))
        return collected.content(record)

    shutil.rmtree(folder, ignore_errors=True)  # of a try that was killed while writing
    folder.mkdir(parents=True)
    FORMATS[settings.format](folder, records, content)
    chosen = asdict(settings)
    config, findings, counts = collected.hunt.run.config, collected.hunt.findings, collected.counts
    size = sum(path.stat().st_size for path in folder.glob("data/*"))
    files = front_of(PICTURES, len(records), size) if settings.format == "hf" else {}
    text = picture_card(config, records, findings, counts, settings=chosen, files=files)
    (folder / "README.md").write_text(text, encoding="utf-8")
    told = provenance(config, findings, counts, settings=chosen)
    (folder / "provenance.json").write_text(told, encoding="utf-8")


def _beside(part: Path, hunt: FinishedHunt) -> Run:
    """The run of what is drawn for the data set, new or left by an export that was killed.

    It depends on the hunt, whatever the export was called with: the cap and the format may change.
    """
    config, settings = hunt.run.config, hunt.settings
    about = {
        "created": config.created,
        "target": settings.target,
        "source": settings.source,
        "judge": judge_name(hunt),
        "seed": settings.seed,
        "digests": config.digests,
    }
    if not (part / "run.yaml").exists():
        return Run.create(RunConfig(study="export", subject=config.subject, settings=about), folder=part)
    run = Run.open(part)
    if run.config.settings != about:
        run.close()
        raise WeakspotError(
            f"{part} was left by an export with other settings",
            fix="remove that folder, or choose another --out",
        )
    return run


def _there(folder: Path) -> WeakspotError:
    return WeakspotError(f"{folder} already exists", fix="remove it, or choose another --out")
