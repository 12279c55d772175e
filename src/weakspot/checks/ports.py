"""Checks for sources, targets and judges, and for what they offer beyond their one method."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np

from weakspot.core import (
    Case,
    Classifier,
    Hypothesis,
    Judge,
    Output,
    Source,
    Stage,
    Status,
    Target,
    Verdict,
    WeakspotError,
    abilities,
    case_seed,
    ports,
)


class ContractError(WeakspotError):
    """A part does not do what its port promises."""


def promise(kept: bool, what: str, fix: str) -> None:
    """Raise a `ContractError` for a promise that was not kept."""
    if not kept:
        raise ContractError(what, fix=fix)


def check_list(values: object, n: int, what: str, one: str, kind: type = object) -> None:
    """Refuse what is no list of n things: `what` says how many there are, and are wanted; `one` of what."""
    size = len(values) if isinstance(values, Sequence) else f"a {type(values).__name__}, not a list of"
    fine = isinstance(values, list) and len(values) == n and all(isinstance(v, kind) for v in values)
    promise(fine, what.format(size, n), f"return a list with one {one}, in order")


def has_method(part: object, port: type, method: str) -> None:
    promise(
        isinstance(part, port), f"{part!r} has no method {method}", f"see {port.__module__}.{port.__name__}"
    )


def kind(value: Any) -> str:
    """What something is that should be an array, for messages."""
    return str(value.dtype) if isinstance(value, np.ndarray) else type(value).__name__


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    return bool(one == other)


#: What a part says of itself in one line, by the port that asks for it.
_IN_WORDS: Final[Mapping[type, str]] = {
    abilities.Digested: "digest",
    abilities.Described: "about",
    abilities.Revised: "revision",
    abilities.Doubtful: "doubt",
    abilities.Formatted: "dtype",
    abilities.Located: "device",
}
#: An index that no check draws.
_CHOSEN: Final = 1 << 20


def check_source(source: Source, hypothesis: Hypothesis, *, seed: int = 0, n: int = 6) -> list[Case]:
    """Check that a case follows from (run seed, hypothesis, index) alone.

    Args:
        n: How many cases to draw; at least 2.

    Returns:
        The first n cases, for use with `check_target` and `check_judge`.
    """
    has_method(source, Source, "draw")
    explored, confirmed = (ports.available(source, hypothesis, seed=seed, stage=stage) for stage in Stage)
    promise(
        explored > 0, "available says that there is no case", "check it with words that the source can draw"
    )
    indices = [*range(min(n - 1, explored)), *([Stage.CONFIRM.start] if confirmed else [])]
    n = len(indices)
    cases = source.draw(hypothesis, indices, seed=seed)
    promise(isinstance(cases, list), f"draw returned a {type(cases).__name__}", "return a list of cases")
    promise(
        len(cases) == n,
        f"draw returned {len(cases)} cases for {n} indices",
        "return one case per index, in order",
    )
    for index, case in zip(indices, cases, strict=True):
        promise(
            isinstance(case, Case), f"draw returned a {type(case).__name__}", "return weakspot.Case values"
        )
        promise(
            case.index == index, f"index {case.index} came for {index}", "return the cases in the given order"
        )
        promise(
            case.hypothesis == hypothesis, f"case {index} names another hypothesis", "pass it on unchanged"
        )
        wanted = case_seed(seed, hypothesis, index)
        promise(
            case.seed == wanted,
            f"case {index} has seed {case.seed}",
            "use case_seed(seed, hypothesis, index)",
        )
        promise(
            isinstance(case.expected, str),
            f"case {index} expects {case.expected!r}",
            "give a text, e.g. a label",
        )
        promise(case.input is not None, f"case {index} has no input", "draw one, or raise")
    again = source.draw(hypothesis, indices, seed=seed)
    backwards = source.draw(hypothesis, indices[::-1], seed=seed)[::-1]
    alone = [source.draw(hypothesis, [i], seed=seed)[0] for i in indices]
    for how, others in (("a second time", again), ("in another order", backwards), ("alone", alone)):
        for case, other in zip(cases, others, strict=True):
            promise(
                same(case.input, other.input)
                and (case.expected, case.caption) == (other.expected, other.caption),
                f"case {case.index} differs when drawn {how}",
                "let everything random follow from the case's seed, and keep nothing between draws",
            )
    check_abilities(source)
    _check_drawing(source, cases, seed=seed)
    return cases


def _check_drawing(source: Source, cases: Sequence[Case], *, seed: int) -> None:
    """What a source says of itself agrees with what it drew."""
    hypothesis = cases[0].hypothesis
    if isinstance(source, ports.Finite):
        last = ports.available(source, hypothesis, seed=seed, stage=Stage.EXPLORE) - 1
        if last < 1 << 20:  # it does end
            promise(
                [case.index for case in source.draw(hypothesis, [last], seed=seed)] == [last],
                f"available says {last + 1}, and case {last} was not drawn",
                "count the cases that can be drawn in this stage",
            )
    promise(
        ports.understands(source, hypothesis.text),
        f"understands says no to {hypothesis.text[:80]!r}, which was drawn",
        "say yes to all that draw accepts",
    )
    if ports.cpu_bound(source):
        copy = pickle.loads(pickle.dumps(source))  # noqa: S301
        [first] = copy.draw(hypothesis, [cases[0].index], seed=seed)
        promise(
            same(first.input, cases[0].input),
            "cpu_bound is True, but a copy of the source draws a different case",
            "let a pickled copy be equal, or set cpu_bound = False",
        )
    if isinstance(source, ports.Numbered):
        shown = [source.place_of(hypothesis, case.index, seed=seed) for case in cases]
        promise(
            0 < source.distinct <= source.inputs and min(shown) >= 0,
            f"{source.distinct} distinct of {source.inputs} inputs",
            "number the inputs from 0; distinct is at most inputs",
        )
        if isinstance(source, ports.Placing):
            source.place(hypothesis, _CHOSEN, 0)
            promise(
                source.place_of(hypothesis, _CHOSEN, seed=seed) == 0,
                "place_of does not return the place that was given",
                "show the input that was chosen",
            )
    if isinstance(source, ports.Visible):
        seen = source.contexts([0])
        promise(
            isinstance(source.sees, str) and np.shape(seen)[:1] == (1,) and np.ndim(seen) == 2,
            f"contexts returned the shape {np.shape(seen)} for one input",
            "return one row for each input, and say in `sees` what it is",
        )
        promise(
            bool(((np.asarray(seen) >= 0) & (np.asarray(seen) <= 1)).all()),
            "contexts returned numbers outside 0 to 1",
            "scale them",
        )


def check_target(target: Target, cases: Sequence[Case], *, deterministic: bool = True) -> list[Output]:
    """Check that a target gives one well-formed output per case.

    Args:
        cases: From `check_source`, or made by hand.
        deterministic: Also check that an answer does not depend on the batch; False for chat models.
    """
    has_method(target, Target, "answer")
    outputs = target.answer(cases)
    check_list(outputs, len(cases), "answer returned {} outputs for {} cases", "output per case")
    for case, output in zip(cases, outputs, strict=True):
        promise(
            isinstance(output, Output),
            f"answer returned a {type(output).__name__}",
            "return weakspot.Output values",
        )
        promise(isinstance(output.status, Status), f"status {output.status!r}", "use weakspot.Status")
        if output.status is Status.ERROR:
            promise(
                output.answer is None, f"an error of case {case.index} carries an answer", "set it to None"
            )
            promise(
                bool(output.detail),
                f"an error of case {case.index} has no detail",
                "say what happened in detail",
            )
    if isinstance(target, Classifier):
        _check_scores(target, outputs)
    check_abilities(target)
    if deterministic:
        backwards = target.answer(list(cases)[::-1])[::-1]
        for case, one, other in zip(cases, outputs, backwards, strict=True):
            promise(
                one.answer == other.answer,
                f"case {case.index} is answered {one.answer!r}, but {other.answer!r} in another order",
                "put the model in evaluation mode; pass deterministic=False if it samples",
            )
    return outputs


def _check_scores(target: Classifier, outputs: Sequence[Output]) -> None:
    labels = target.labels
    promise(isinstance(labels, tuple) and bool(labels), "labels must be a tuple of names", "list all labels")
    promise(len(set(labels)) == len(labels), "a label appears twice", "make the labels distinct")
    for output in outputs:
        if output.status is not Status.OK:
            continue
        promise(output.answer in labels, f"{output.answer!r} is not one of the labels", "answer with a label")
        if output.scores is None:
            continue
        values = np.asarray(output.scores.values, dtype=np.float64)
        promise(
            output.scores.labels == labels,
            "the scores are for other labels than the target's",
            "use the target's labels",
        )
        promise(
            values.shape == (len(labels),), f"scores of shape {values.shape}", "return one score per label"
        )
        promise(bool(np.isfinite(values).all()), "a score is not finite", "check the model's outputs")
        promise(
            bool((values >= 0).all()) and abs(float(values.sum()) - 1) < 1e-3,
            f"the scores sum to {values.sum():.3f}",
            "return probabilities, not logits",
        )
        promise(
            output.scores.top(1)[0][0] == output.answer,
            "the answer is not the most probable label",
            "use argmax",
        )


def check_judge(judge: Judge, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
    """Check that a judge gives one verdict per case and never counts an error as a failure."""
    has_method(judge, Judge, "judge")
    verdicts = judge.judge(cases, outputs)
    check_list(verdicts, len(cases), "judge returned {} verdicts for {} cases", "verdict per case")
    for verdict in verdicts:
        promise(
            isinstance(verdict, Verdict),
            f"judge returned a {type(verdict).__name__}",
            "return weakspot.Verdict values",
        )
        promise(
            verdict.failed in (True, False, None), f"failed is {verdict.failed!r}", "say True, False or None"
        )
    for status in (Status.ERROR, Status.BLOCKED, Status.EMPTY):
        broken = [Output(None, status=status, detail="planted by check_judge")] * len(cases)
        for verdict in judge.judge(cases, broken):
            promise(
                verdict.failed is None,
                f"an output with status {status} was judged",
                "return failed=None for it",
            )
            promise(verdict.status is status, f"{status} became {verdict.status}", "copy the output's status")
    if isinstance(judge, ports.Waiting):
        with suppress(WeakspotError):  # it says what a person has to do
            judge.hold()
    check_abilities(judge)
    return verdicts


def check_abilities(part: object) -> None:
    """Check what a part says of itself: `digest`, `revision`, `about`, `batch`, and so on."""
    if isinstance(part, abilities.Digested):
        promise(part.digest == part.digest, "digest changes", "let it follow from files and settings")
    for port, name in _IN_WORDS.items():
        if not isinstance(part, port):
            continue
        value = getattr(part, name)
        unknown = name == "digest" and value is None
        promise(unknown or isinstance(value, str), f"{name} is {value!r}", "give a text")
        promise("\n" not in str(value), f"{name} has several lines", "give one line")
    if isinstance(part, ports.CpuBound):
        promise(isinstance(part.cpu_bound, bool), f"cpu_bound is {part.cpu_bound!r}", "say True or False")
    if isinstance(part, abilities.Batching):
        promise(
            isinstance(part.batch, int) and part.batch >= 1, f"batch is {part.batch!r}", "give a whole number"
        )
    if isinstance(part, ports.Skipping):
        promise(
            all(len(row) == 2 and all(isinstance(text, str) for text in row) for row in part.skipped),
            "skipped does not hold pairs of a file and a reason",
            "give (name, reason) for each",
        )
    for one in part.models if isinstance(part, abilities.Composed) else ():
        check_abilities(one)
