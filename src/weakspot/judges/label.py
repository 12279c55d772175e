"""Judges of classifiers: five rules for what a failure is, alone or together.

The rules of Wiles, Albuquerque and Gowal (2022), for a picture of the label y:

- *missed*: y is not the answer (a); with `top`, not among the k most probable labels (b);
- *parent*: the k most probable labels lie outside y's parent (c), any of them or all;
- *target*: the answer is one given wrong label (d);
- *below*: the probability of y is below a threshold (e).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Output, Scores, Status, Verdict, WeakspotError, nearest
from weakspot.core.registry import read_number, read_yes

#: Which labels of a head stand in a relation to an expected one: by name, or asked with (expected, said).
Relation = Mapping[str, Collection[str]] | Callable[[str, str], bool]

RULES: Final = ("missed", "parent", "target", "below")
#: Pixels of the shorter side below which a picture is no photograph.
TINY: Final = 16
_QUANTIFIERS: Final = {"any": any, "all": all}


class _Seen(NamedTuple):
    """What the rules look at; `top` is the answer alone where one label is enough."""

    expected: str
    answer: str
    top: list[str]
    scores: Scores | None


#: What one rule says of one output; the score is None without scores.
_Rule = Callable[[_Seen], Verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelJudge:
    """Failed when the expected label is missing, or by the rules that are given instead.

    `parent` asks whether "any" of the `top` labels lies outside the expected label's parent, or "all" do, so
    that none is even of the right kind; for top=1 the two are the same. `same` are labels of the head that
    are as right as the expected one (all the breeds, for "dog"); they need not include it, and widen the
    target too. `kin` are labels under the same parent, which `parent` needs: `kin_of` makes it of parents,
    `WordNet.covered` of a meaning's; what is `same` is always kin.
    """

    top: int = 1  # labels that `missed` and `parent` look at; 1 is the answer, and needs no scores
    target: str | None = None  # failed when this wrong label is the answer
    parent: Literal["any", "all"] | None = None
    below: float | None = None  # failed when the expected label's probability is below this
    missed: bool | None = None  # failed when it is not among the `top`; None: if no other rule is given
    combine: Literal["any", "all"] = (
        "any"  # whether one rule is enough for a failure, or every one must say so
    )
    same: Relation | None = field(default=None, repr=False)
    kin: Relation | None = field(default=None, repr=False)
    _columns: dict[tuple[str, str], tuple[tuple[str, ...], NDArray[np.bool_]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.top < 1:
            raise WeakspotError(f"a label judge cannot look at the top {self.top}", fix="write label?top=3")
        for what, value in (("parent", self.parent), ("combine", self.combine)):
            if value is not None and value not in _QUANTIFIERS:
                raise WeakspotError(f"{what} cannot be {str(value)[:80]!r}", fix="choose any or all")
        if self.below is not None and not 0 < self.below <= 1:
            raise WeakspotError(f"below cannot be {self.below}", fix="choose a probability, e.g. below=0.1")
        if not self.rules:
            raise WeakspotError("the judge has no rule", fix="leave out missed=no, or give another rule")

    @property
    def rules(self) -> tuple[str, ...]:
        given = [name for name in RULES[1:] if getattr(self, name) is not None]
        missed = not given if self.missed is None else self.missed
        return (*(["missed"] if missed else []), *given)

    @property
    def needs_scores(self) -> bool:
        """Whether a target that gives only labels cannot be judged."""
        return "below" in self.rules or (self.top > 1 and bool({"missed", "parent"} & {*self.rules}))

    def check(self, label: str, labels: Sequence[str]) -> None:
        """Refuse, before anything is drawn, a label that cannot be judged on a head with these labels.

        Labels that are not known, (), are not checked; the parent of the label, and the target, always are.
        """
        if self.parent is not None:
            self._need_kin(label)
        right = self._mask("same", label, tuple(labels)) if labels else None
        wrong = self._mask("same", self.target, tuple(labels)) if labels and self.target is not None else None
        if label == self.target or (right is not None and wrong is not None and bool((right & wrong).any())):
            raise WeakspotError("the judge's target is the right label", fix="name a wrong answer")

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`.

        The score lies between 0 and 1: one minus the probability of the right label (`missed`, `below`),
        the probability of the target, or the probability that lies outside the parent. Of several rules
        it is the largest where one is enough, and the smallest where all must strike.
        """
        every = (self._missed, self._parent, self._target, self._below)
        rules = [rule for name, rule in zip(RULES, every, strict=True) if name in self.rules]
        return [self._one(case, output, rules) for case, output in zip(cases, outputs, strict=True)]

    def _one(self, case: Case, output: Output, rules: Sequence[_Rule]) -> Verdict:
        if output.status is not Status.OK:
            return Verdict(None, status=output.status, reason=output.detail)
        if shows_nothing(case.input):
            return Verdict(
                None, status=Status.ERROR, reason="source: a picture of one colour, or without size"
            )
        if output.answer is None:
            return Verdict(None, status=Status.EMPTY)
        scores = output.scores
        if scores is None and self.needs_scores:
            rule = f"a top-{self.top} judge" if self.top > 1 else "a judge of probabilities"
            raise WeakspotError(
                f"{rule} needs scores, and the target gives only labels",
                fix="use the judge label, or a target with scores",
            )
        if scores is not None and (wrong := _broken(scores, probabilities=self.below is not None)):
            return Verdict(None, status=Status.ERROR, reason=wrong)
        top = [output.answer]
        if scores is not None and self.top > 1:
            top = [label for label, _ in scores.top(self.top)]
        seen = _Seen(case.expected, output.answer, top, scores)
        struck = [rule(seen) for rule in rules]
        failed = _QUANTIFIERS[self.combine](bool(one.failed) for one in struck)
        known = [one.score for one in struck if one.score is not None]
        worst = max if self.combine == "any" else min
        return Verdict(
            failed,
            worst(known) if len(known) == len(struck) else None,
            reason="; ".join(one.reason for one in struck if one.failed) if failed else "",
        )

    # -- the rules ---------------------------------------------------------------------------------

    def _missed(self, seen: _Seen) -> Verdict:
        failed = not any(self._related("same", seen.expected, label) for label in seen.top)
        where = "the answer" if self.top == 1 else f"in the top {self.top}"
        score = _rest(self._probability("same", seen.expected, seen.scores))
        return Verdict(failed, score, reason=f"{seen.expected[:80]} is not {where}")

    def _parent(self, seen: _Seen) -> Verdict:
        self._need_kin(seen.expected)
        outside = [not self._related("kin", seen.expected, label) for label in seen.top]
        failed = _QUANTIFIERS[self.parent or "any"](outside)
        score = _rest(self._probability("kin", seen.expected, seen.scores))
        which = "the answer lies" if self.top == 1 else f"{sum(outside)} of the top {self.top} lie"
        return Verdict(failed, score, reason=f"{which} outside the parent of {seen.expected[:80]}")

    def _target(self, seen: _Seen) -> Verdict:
        wrong, said = self.target or "", seen.answer
        failed = self._related("same", wrong, said) and not self._related("same", seen.expected, said)
        score = self._probability("same", wrong, seen.scores)
        return Verdict(failed, score, reason=f"the answer is {said[:80]}")

    def _below(self, seen: _Seen) -> Verdict:
        p, least = self._probability("same", seen.expected, seen.scores) or 0.0, self.below or 0.0
        return Verdict(p < least, 1 - p, reason=f"p({seen.expected[:80]}) = {p:.3g} is below {least:g}")

    # -- relations ---------------------------------------------------------------------------------

    def _related(self, kind: str, expected: str, said: str) -> bool:
        """Whether what was said is as right as the expected label, or of its kind."""
        if said == expected or _holds(self.same, expected, said):
            return True
        return kind == "kin" and _holds(self.kin, expected, said)

    def _need_kin(self, expected: str) -> None:
        if self.kin is None or (isinstance(self.kin, Mapping) and expected not in self.kin):
            raise WeakspotError(
                f"the parent of {expected[:80]!r} is not known, so it is not clear which labels lie "
                f"outside it",
                fix="give a labels file with parents, or a classifier that knows them, or use WordNet",
            )

    def _probability(self, kind: str, expected: str, scores: Scores | None) -> float | None:
        """Of all labels that are so related, together; None without scores."""
        if scores is None:
            return None
        return float(scores.values[self._mask(kind, expected, scores.labels)].sum(dtype=np.float64))

    def _mask(self, kind: str, expected: str, labels: tuple[str, ...]) -> NDArray[np.bool_]:
        """Which columns of the scores are so related; kept, since all outputs of a target share them."""
        known = self._columns.get((kind, expected))
        if known is not None and (known[0] is labels or known[0] == labels):
            return known[1]
        mask = np.array([self._related(kind, expected, label) for label in labels], np.bool_)
        if not mask.any():
            some = ", ".join(label[:80] for label in labels[:20]) + (" …" if len(labels) > 20 else "")
            raise WeakspotError(
                f"the target has no label {expected[:80]!r}",
                fix=nearest(expected, labels) or f"its labels: {some}",
            )
        self._columns[kind, expected] = (labels, mask)
        return mask


def shows_nothing(picture: Any) -> bool:
    """Whether a picture has no pixel, or all of one colour: nobody can be blamed for misreading it.

    Tiny ones are let pass: whoever draws those means something by their colour, or stands for a picture
    that the target does not look at.
    """
    if not isinstance(picture, np.ndarray) or picture.ndim != 3:
        return False
    if not picture.size:
        return True
    return min(picture.shape[:2]) >= TINY and bool((picture == picture[0, 0]).all())


def kin_of(parents: Mapping[str, str], labels: Sequence[str] = ()) -> dict[str, frozenset[str]]:
    """By label, all labels with the same parent.

    If the head's labels are given, each must have a parent: one without would lie outside every parent.
    """
    lacking = [label for label in labels if not parents.get(label)]
    if lacking:
        raise WeakspotError(
            f"{len(lacking):,} of {len(labels):,} labels have no known parent, such as {lacking[0][:80]!r}",
            fix="give a labels file with a parent for each, or with WordNet ids",
        )
    families: dict[str, set[str]] = {}
    for label, parent in parents.items():
        families.setdefault(parent, set()).add(label)
    return {label: frozenset(families[parent]) for label, parent in parents.items() if parent}


def _holds(relation: Relation | None, expected: str, said: str) -> bool:
    if relation is None:
        return False
    if isinstance(relation, Mapping):
        others = relation.get(expected, ())
        return said == others if isinstance(others, str) else said in others  # "fly" is in "butterfly"
    return bool(relation(expected, said))


def _rest(probability: float | None) -> float | None:
    return None if probability is None else 1 - probability


def _broken(scores: Scores, *, probabilities: bool) -> str:
    """Why scores cannot be judged; "" if they can."""
    if len(scores.values) != len(scores.labels):
        return f"the target gave {len(scores.values)} scores for {len(scores.labels)} labels"
    if not np.isfinite(scores.values).all():
        return "the target gave scores that are not finite"
    if probabilities and (np.abs(scores.values - 0.5) > 0.5 + 1e-3).any():
        return "the target gave scores that are not probabilities"
    return ""


def load(
    *,
    top: str = "1",
    target: str | None = None,
    parent: str = "",
    below: str = "",
    missed: str = "",
    combine: str = "any",
    kin: Relation | None = None,
    same: Relation | None = None,
) -> LabelJudge:
    """`label?top=3`, `label?target=bee`, `label?top=3&parent=all&below=0.1&combine=any&missed=yes`.

    A study gives `kin` and `same`, which cannot be written in a name.
    """
    if not (top.isascii() and top.isdigit() and len(top) < 10) or int(top) < 1:
        raise WeakspotError(f"a label judge cannot look at the top {top[:80]!r}", fix="write label?top=3")
    for what, given in (("kin", kin), ("same", same)):
        if isinstance(given, str):
            raise WeakspotError(f"{what} cannot be given in a name", fix="give it from Python: LabelJudge(…)")
    return LabelJudge(
        top=int(top),
        target=target,
        parent=parent or None,  # type: ignore[arg-type]
        below=read_number("below", below, most=1),
        missed=read_yes("missed", missed) if missed else None,
        combine=combine,  # type: ignore[arg-type]
        kin=kin,
        same=same,
    )
