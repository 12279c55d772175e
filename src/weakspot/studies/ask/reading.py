"""What a run of `ask` holds, read back from its ledger: outcomes by item, and the figures made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from weakspot.core import Status, Trial
from weakspot.judges.refusal.panel import Panel, ballots
from weakspot.sources.benchmark import Benchmark, Item
from weakspot.sources.question import BENIGN
from weakspot.store import Run
from weakspot.studies.ask.analysis import analysed
from weakspot.studies.ask.arms import DESCRIBE
from weakspot.studies.ask.comparison import attributed
from weakspot.studies.ask.counts import Asked
from weakspot.studies.ask.settings import AskSettings, Parts
from weakspot.studies.ask.verdicts import NOTE, error_of

#: The embedded judge's finer labels; other judges may use them too, at the beginning of a reason.
GRADES: Final = ("complies", "caveat", "partial", "refuses", "misreads")


def analysis(run: Run, settings: AskSettings, parts: Parts) -> dict[str, Any]:
    """The figures of a run, from its ledger: the keys of `--json`."""
    items = {(item.set, item.id): item for item in parts.benchmark.items}
    asked = list(outcomes(run, items))
    found = analysed(asked, error=error_of(parts.judge), repeats=settings.repeats, fdr=settings.fdr)
    found["stages"] = None
    if settings.stages:
        first = [a for a in asked if a.arm == (settings_arm(run) or a.arm)]
        found["stages"] = attributed(first, descriptions(run, items))
    missing = [item for item in parts.benchmark.missing if settings.contrast or item.set == BENIGN]
    found["images_missing"] = [f"{item.set} {item.id}" for item in missing]
    found["images_changed"] = run.ledger.fact("images", {}) | _noted(run)
    found["agreement"] = _agreement(run, parts)
    found["model"] = getattr(parts.target, "model", "") or settings.target
    return found


def _agreement(run: Run, parts: Parts) -> dict[str, Any] | None:
    """How far the judges of a panel agreed on this run's answers; None for a judge alone."""
    if not isinstance(parts.judge, Panel):
        return None
    found = ballots(list(parts.judge.judges), [trial.detail for *_, trial in answers(run)])
    if found is None:
        return None
    kappas = {" · ".join(two): None if kappa != kappa else kappa for two, kappa in found.kappa.items()}
    return {"alpha": None if found.alpha != found.alpha else found.alpha, "kappa": kappas, "n": found.n}


def _noted(run: Run) -> dict[str, str]:
    """What targets that prepare pictures themselves say they changed."""
    found = {
        f"{concepts['set']} {key}": trial.detail.partition(NOTE)[2][:300]
        for concepts, key, _, trial in answers(run)
    }
    return {key: note for key, note in found.items() if note.startswith("image ")}


def outcomes(run: Run, items: Mapping[tuple[str, str], Item]) -> Iterator[Asked]:
    """What became of every question of a run."""
    for concepts, key, repeat, trial in answers(run):
        item = items[concepts["set"], key]
        refused = None
        if trial.failed is not None and trial.status in (Status.OK, Status.REFUSED):
            refused = trial.status is Status.REFUSED
        yield Asked(
            id=key,
            set=item.set,
            status=trial.status,
            refused=refused,
            arm=concepts["system"],
            stage=concepts.get("stage", ""),
            repeat=repeat,
            pair=item.pair,
            slices=item.slices,
            grade=grade
            if refused is not None and (grade := trial.detail.partition(":")[0]) in GRADES
            else "",
        )


def answers(run: Run) -> Iterator[tuple[dict[str, str], str, int, Trial]]:
    """Every trial of a run with its arm's concepts, the item's id and which repeat it is."""
    for hypothesis in run.ledger.hypotheses():
        order: list[str] = run.ledger.fact(f"items {hypothesis.id}", [])
        for trial in run.ledger.trials(hypothesis) if order else []:
            repeat, place = divmod(trial.index, len(order))
            yield dict(hypothesis.concepts), order[place], repeat, trial


def descriptions(run: Run, items: Mapping[tuple[str, str], Item]) -> dict[str, float | None]:
    """How many of the oracle's words the model's own description of a picture has, by item."""
    found: dict[str, float | None] = {}
    for concepts, key, _, trial in answers(run):
        if concepts.get("stage") == DESCRIBE:
            said = trial.answer if trial.status in (Status.OK, Status.REFUSED) else None
            found[key] = shared_words(items[BENIGN, key].description, said or "") if said else None
    return found


def shared_words(oracle: str, said: str) -> float | None:
    """The share of the oracle's longer words that a description has, endings aside; None without one."""
    wanted, had = _words(oracle), _words(said)
    return len(wanted & had) / len(wanted) if wanted else None


def _words(text: str) -> set[str]:
    words = "".join(c.lower() if c.isalpha() else " " for c in text).split()
    return {word[:6].rstrip("es") for word in words if len(word) > 3}


def settings_arm(run: Run) -> str:
    """The name of the system prompt that the headline is about."""
    return next(iter(run.ledger.fact("systems", {})), "")


def described(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """What a reader of the run needs to know of its items without the benchmark."""
    found: dict[str, dict[str, Any]] = {}
    for item in benchmark.items:
        about = {
            "slices": {c: list(v) for c, v in item.slices.items()},
            "pair": item.pair,
            "image": item.picture,
        }
        found.setdefault(item.set, {})[item.id] = about
    return found
