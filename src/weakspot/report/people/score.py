"""What people's labels say: how far they agree, what follows, how the judge compares. Plain values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from weakspot.core import Status, Trial
from weakspot.core.question import BENIGN
from weakspot.report.people.corrected import PEOPLE, Correction, as_labelled, majority
from weakspot.report.people.labels import Label, Labels, by_item
from weakspot.report.people.refusals import EACH, Judged, Row, asked, chance, judged
from weakspot.report.people.tasks import Task, downstream_folder, read_lines, trial_of
from weakspot.stats import wilson
from weakspot.stats.judged import Confusion, cohen_kappa, confusion, krippendorff_alpha
from weakspot.store import Run

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
        found["judge"] = refusals(run)
    elif task.name == "images":
        found["pictures"] = pictures(run, decided)
    elif task.name == "ratings":
        found |= {"split": 0, "ratings": ratings(said)}
    elif task.name == "modes":
        found["preferences"] = preferences(current)
    return found


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


def by_people(run: Run) -> tuple[dict[str, Any], int] | None:
    """What `downstream` makes of people's labels of drawn pairs, and how many people they are.

    None before there are two who have labelled `EACH` pictures each.
    """
    current = Labels(run.folder).current("pairs")
    times = Counter(label.annotator for label in current)
    people = sum(n >= EACH for n in times.values())
    if people < PEOPLE:
        return None
    said = {item: majority(labels.values()) for item, labels in by_item(current).items()}
    found = downstream(run.folder, {item: label for item, label in said.items() if label is not None})
    return (found, people) if found["failed"]["n"] else None


def refusals(run: Run) -> dict[str, Any]:
    """The judge against people; and the rate of refusals of each set, as it has it and as people have it."""
    by_set = judged(run)
    counts = Confusion(0, 0, 0, 0)
    for one in by_set.values():
        counts = counts.plus(one.counts)
    sets = {name: _of_set(by_set.get(name), rows) for name, rows in asked(run).items()}
    benign = sets.get(BENIGN) or _of_set(None, [])
    partial = sum(one.partial for one in by_set.values())
    return {
        **_compared(counts),
        "partial": {"n": partial, "refused": sum(one.partial_refused for one in by_set.values())},
        **{name: benign[name] for name in ("unsure", "rate", "corrected")},
        "sets": sets,
    }


def _of_set(one: Judged | None, rows: Sequence[Row]) -> dict[str, Any]:
    """Refusals of a set; the interval holds however those answers fall that the judge is unsure of."""
    open_ = [likely for _, trial in rows if (likely := chance(trial)) is not None]
    refused, n = sum(trial.status is Status.REFUSED for _, trial in rows), len(rows)
    rate = _share(refused, n)
    if open_:
        rate |= {"rate": (refused + sum(open_)) / n, "high": wilson(refused + len(open_), n).high}
    right = None if one is None else one.corrected
    corrected = None if right is None else {"rate": right.rate, "low": right.low, "high": right.high}
    return {
        "rate": rate,
        "unsure": {"n": len(open_), "labelled": 0 if one is None else one.unsure},
        "corrected": corrected,
        "people": 0 if one is None else one.people,
    }


def pictures(run: Run, decided: Mapping[str, str]) -> dict[str, Any]:
    """Whether pictures show what they should; each finding's rate among those that do; mean ratings."""
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
    known, _ = as_labelled(run, run.findings)
    return {
        "valid_failing": failing,
        "valid_passing": passing,
        "corrected": [
            _plain(f.phrase, known[f.hypothesis.id])
            for f in run.findings
            if f.confirmed and f.hypothesis.id in known and not f.answer
        ],
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


def _plain(phrase: str, one: Correction) -> dict[str, Any]:
    """A finding's rate as it was measured, and corrected once people have labelled enough of its pictures."""
    done = one.rate
    return {
        "phrase": phrase,
        "rate": one.measured.value,
        "n": one.measured.n,
        "corrected": None if done is None else done.value,
        "low": None if done is None else done.low,
        "high": None if done is None else done.high,
        "people": one.people,
        "failing": _share(*one.failing),
        "passing": _share(*one.passing),
        "missing": one.missing,
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
