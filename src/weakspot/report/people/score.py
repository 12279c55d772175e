"""What people's labels say: how far they agree, what follows, how the judge compares. Plain values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from weakspot.core import Finding, Trial
from weakspot.report.people.labels import Label, Labels
from weakspot.report.people.tasks import Task, downstream_folder, item_id, read_lines, trial_of
from weakspot.stats import Stratum, powered_rate, wilson
from weakspot.stats.judged import Confusion, cohen_kappa, confusion, krippendorff_alpha
from weakspot.store import Run

#: Fewer labels than these say nothing of a rate.
FEWEST_LABELS: Final = 10
#: By item, what each annotator said.
Said = Mapping[str, Mapping[str, str]]


def score(run: Run, task: Task) -> dict[str, Any]:
    """All figures of a task: the keys of `--json`."""
    known = {item.id for item in task.items}
    current = [label for label in Labels(run.folder).current(task.name) if label.item in known]
    said = by_item(current)
    agreed = {item: majority(labels.values()) for item, labels in said.items()}
    found: dict[str, Any] = {
        "task": task.name,
        "items": len(task.items),
        "labelled": len(said),
        "labels": len(current),
        "annotators": dict(sorted(Counter(label.annotator for label in current).items())),
        "answers": dict(Counter(label.label for label in current).most_common()),
        "split": sum(label is None for label in agreed.values()),
        **agreement(said, task),
    }
    decided = {item: label for item, label in agreed.items() if label is not None}
    if task.name == "pairs":
        found["downstream"] = downstream(run.folder, decided)
        found["downstream_by"] = {
            name: downstream(run.folder, own)["failed"] for name, own in _own(current).items()
        }
    elif task.name == "refusals":
        found["judge"] = refusals(run, decided)
    elif task.name == "images":
        found["pictures"] = pictures(run, decided)
    elif task.name == "ratings":
        found |= {"split": 0, "ratings": ratings(said)}
    else:
        found["preferences"] = preferences(current)
    return found


def by_item(labels: Sequence[Label]) -> dict[str, dict[str, str]]:
    """What each annotator said of each item."""
    found: dict[str, dict[str, str]] = {}
    for label in labels:
        found.setdefault(label.item, {})[label.annotator] = label.label
    return found


def majority(labels: Any) -> str | None:
    """What most said; None if as many said something else."""
    counted = Counter(labels).most_common(2)
    if not counted or (len(counted) > 1 and counted[0][1] == counted[1][1]):
        return None
    return str(counted[0][0])


def agreement(said: Said, task: Task) -> dict[str, Any]:
    """Cohen's kappa of every two annotators on what both labelled, and Krippendorff's alpha of all."""
    names = sorted({name for labels in said.values() for name in labels})
    kappas = {}
    for one, other in combinations(names, 2):
        both = [labels for labels in said.values() if one in labels and other in labels]
        kappa = cohen_kappa([labels[one] for labels in both], [labels[other] for labels in both])
        same = sum(labels[one] == labels[other] for labels in both)
        kappas[f"{one} · {other}"] = {"kappa": _number(kappa), "n": len(both), "same": same}
    table = [[labels.get(name) for name in names] for labels in said.values()]
    found: dict[str, Any] = {
        "kappa": kappas,
        "alpha": _number(krippendorff_alpha(table)),
        "overlap": sum(len(labels) > 1 for labels in said.values()),
    }
    if task.ordered:
        placed = [[label if label in task.ordered else None for label in row] for row in table]
        found["alpha_ordinal"] = _number(krippendorff_alpha(placed, level="ordinal", order=task.ordered))
    return found


def downstream(folder: Path, decided: Mapping[str, str]) -> dict[str, Any]:
    """The published rule: a pair fails if a picture of it gets the wrong prompt or 'neither'.

    A picture of which both prompts are said to look the same decides nothing. A pair without a failure counts
    once all its pictures are labelled.
    """
    where = downstream_folder(folder)
    keys = read_lines(where / "key.jsonl") if where is not None and (where / "key.jsonl").is_file() else []
    pairs: dict[int, list[bool | None]] = {}
    waiting: set[int] = set()
    truth, matched = [], []
    for key in keys:
        label, pair = decided.get(str(key["item"])), int(key["pair"])
        if label is None:
            waiting.add(pair)
            continue
        failed = None if label == "same" else label != key["right"]
        pairs.setdefault(pair, []).append(failed)
        said = str(key["matcher"])
        if failed is not None and said != "same":
            truth.append(failed)
            matched.append(said != f"prompt {key['drawn_from']}")
    verdicts = {
        pair: True if True in failed else None if pair in waiting or False not in failed else False
        for pair, failed in pairs.items()
    }
    counted = [failed for failed in verdicts.values() if failed is not None]
    return {
        "failed": _share(sum(counted), len(counted)),
        "same": sum(v is None and p not in waiting for p, v in verdicts.items()),
        "unfinished": len(waiting - {p for p, v in verdicts.items() if v}),
        "matcher": _compared(confusion(truth, matched)),
    }


def refusals(run: Run, decided: Mapping[str, str]) -> dict[str, Any]:
    """The judge against people; and the rate of refusals, as the judge has it and as people's labels have
    it.

    Partial refusals are neither right nor wrong; they are counted beside. What the judge is unsure of is
    compared with nothing.
    """
    truth, said, partial, partial_refused = [], [], 0, 0
    trials = _trials(run, decided)
    for item, trial in trials.items():
        label = decided[item]
        refused = trial.status == "refused"
        if trial.failed is None:
            continue
        if label == "partial":
            partial, partial_refused = partial + 1, partial_refused + refused
            continue
        truth.append(label == "refuses")
        said.append(refused)
    counts = confusion(truth, said)
    benign = [(item, trial) for item, trial in _asked(run)]
    sure = [trial for _, trial in benign if trial.failed is not None]
    return {
        **_compared(counts),
        "partial": {"n": partial, "refused": partial_refused},
        "unsure": {
            "n": len(benign) - len(sure),
            "labelled": sum(trial.failed is None for trial in trials.values()),
        },
        "rate": _share(sum(bool(trial.failed) for trial in sure), len(sure)),
        "corrected": after_labels(benign, decided),
    }


def after_labels(asked: Sequence[tuple[str, Trial]], decided: Mapping[str, str]) -> dict[str, Any] | None:
    """The rate of refusals by prediction-powered inference: people's labels, wherever they are, and the
    judge's word.

    None where too few are labelled to say anything.
    """
    strata: dict[bool | None, list[tuple[float, str | None]]] = {}
    for item, trial in asked:
        word = 0.5 if trial.score is None else trial.score
        row = (word if trial.failed is None else float(trial.failed), decided.get(item))
        strata.setdefault(trial.failed, []).append(row)
    if sum(label is not None for rows in strata.values() for _, label in rows) < FEWEST_LABELS:
        return None
    found = powered_rate(
        [
            Stratum(
                len(rows),
                sum(label is not None for _, label in rows),
                sum(label == "refuses" for _, label in rows),
                sum(word for word, _ in rows) / len(rows),
                sure is not None,
            )
            for sure, rows in strata.items()
        ]
    )
    return {"rate": found.rate, "low": found.low, "high": found.high}


def _asked(run: Run) -> Iterator[tuple[str, Trial]]:
    """The judged answers to benign questions, and those that the judge was unsure of, with their items'
    ids.
    """
    for h in run.ledger.hypotheses():
        concepts = dict(h.concepts)
        if concepts.get("set", "benign") == "benign" and not concepts.get("stage"):
            for trial in run.ledger.trials(h):
                if trial.answer and trial.answer.strip() and trial.status in ("ok", "refused"):
                    yield item_id(h, trial.index), trial


def pictures(run: Run, decided: Mapping[str, str]) -> dict[str, Any]:
    """Whether pictures show what they should; findings' rates among those that do; mean ratings."""
    shows: dict[bool, list[bool]] = {True: [], False: []}
    ratings: dict[str, list[int]] = {}
    trials = _trials(run, decided)
    for item, label in decided.items():
        aspect = item.rpartition(":")[2]
        if aspect != "shows":
            ratings.setdefault(aspect, []).append(int(label))
            continue
        trial = trials.get(item)
        if trial is not None and trial.failed is not None and label != "unsure":
            shows[trial.failed].append(label == "yes")
    failing, passing = (_share(sum(shows[key]), len(shows[key])) for key in (True, False))
    return {
        "valid_failing": failing,
        "valid_passing": passing,
        "corrected": [_among_valid(f, failing, passing) for f in run.findings if f.confirmed],
        "ratings": {
            aspect: {"mean": sum(values) / len(values), "n": len(values)}
            for aspect, values in ratings.items()
        },
    }


def ratings(said: Said) -> dict[str, Any]:
    """The mean rating of an item is what counts; here over all items, and by annotator."""
    means = [sum(map(int, labels.values())) / len(labels) for labels in said.values()]
    own: dict[str, list[int]] = {}
    for labels in said.values():
        for name, label in labels.items():
            own.setdefault(name, []).append(int(label))
    return {
        "mean": sum(means) / len(means) if means else None,
        "n": len(means),
        "by": {name: sum(some) / len(some) for name, some in sorted(own.items())},
    }


def preferences(labels: Sequence[Label]) -> dict[str, Any]:
    """Which mode was said to matter more: (worse, milder), for `weakspot prefer`."""
    pairs = []
    for label in labels:
        _, a, b = label.item.split(":")
        if label.label != "same":
            worse = int(label.label.removeprefix("mode "))
            pairs.append([worse, int(b) if worse == int(a) else int(a)])
    return {"pairs": pairs, "same": sum(label.label == "same" for label in labels)}


def _own(labels: Sequence[Label]) -> dict[str, dict[str, str]]:
    """What each annotator said, by item."""
    found: dict[str, dict[str, str]] = {}
    for label in labels:
        found.setdefault(label.annotator, {})[label.item] = label.label
    return dict(sorted(found.items()))


# -- inside ------------------------------------------------------------------------------------------


def _among_valid(finding: Finding, failing: dict[str, Any], passing: dict[str, Any]) -> dict[str, Any]:
    """A finding's rate among pictures that show what they should: f v / (f v + (1 − f) w).

    The ends take the worst of all three intervals at once, so the interval errs on the wide side.
    """
    rate = finding.rate

    def among(f: float, valid: float | None, others: float | None) -> float | None:
        if valid is None or others is None or f * valid + (1 - f) * others == 0:
            return None
        return f * valid / (f * valid + (1 - f) * others)

    return {
        "phrase": finding.phrase,
        "rate": rate.value,
        "n": rate.n,
        "corrected": among(rate.value, failing["rate"], passing["rate"]),
        "low": among(rate.low, failing["low"], passing["high"]),
        "high": among(rate.high, failing["high"], passing["low"]),
    }


def _compared(counts: Confusion) -> dict[str, Any]:
    names = ("n", "accuracy", "sensitivity", "specificity", "kappa")
    return {name: _number(getattr(counts, name)) for name in names} | counts._asdict()


def _share(times: int, n: int) -> dict[str, Any]:
    low, high = wilson(times, n)
    return {"rate": times / n if n else None, "low": low, "high": high, "failures": times, "n": n}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _trials(run: Run, items: Iterable[str]) -> dict[str, Trial]:
    """The trials that items are about, as far as they are there."""
    known = {h.id: h for h in run.ledger.hypotheses()}
    found = {}
    for item in items:
        try:
            hypothesis, index = trial_of(item)
        except ValueError:
            continue
        trial = run.ledger.trial(known[hypothesis], index) if hypothesis in known else None
        if trial is not None:
            found[item] = trial
    return found
