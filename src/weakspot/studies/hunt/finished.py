"""A hunt read back from its folder: what it found and with which parts, for what comes after it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from weakspot.core import (
    JUDGES,
    MODELS,
    SOURCES,
    Case,
    Classifier,
    Finding,
    Hypothesis,
    Judge,
    Source,
    Target,
    WeakspotError,
    nearest,
)
from weakspot.core.ports import digest_of
from weakspot.core.registry import Registry
from weakspot.judges import LabelJudge, Verified
from weakspot.judges.verified import ClassifierOpinion, Opinion, opinion
from weakspot.store import Run
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.study.labels import chosen, kin_of_head, needs_kin
from weakspot.study.loading import part
from weakspot.text.wordnet import WordNet

#: Labels of a head that are as right as the hunted one, by the hunted one.
Same = Mapping[str, Collection[str]]

#: Pictures whose doubts are remembered, while all models answer.
_REMEMBERED: Final = 256
#: Trials that are looked at for the label of a hypothesis.
_FIRST: Final = 16


@dataclass(frozen=True, slots=True)
class FinishedHunt:
    """What a hunt left: its run, open for reading; a baseline per hunted label; the findings, best first."""

    run: Run
    settings: HuntSettings
    bases: tuple[Hypothesis, ...]
    findings: tuple[Finding, ...]

    @property
    def label(self) -> str:
        """The hunted label, or the first of several."""
        return self.settings.hunted[0]

    @property
    def senses(self) -> dict[str, str]:
        """By label, which of its meanings was meant, where that was said."""
        return chosen(self.settings.sense, self.settings.hunted)

    def base_of(self, hypothesis: Hypothesis) -> Hypothesis:
        """The baseline whose words a hypothesis begins with."""
        fitting = [base for base in self.bases if hypothesis.text.startswith(base.text)]
        return max(fitting or self.bases[:1], key=lambda base: len(base.text))

    def label_of(self, hypothesis: Hypothesis) -> str:
        """What was expected of a hypothesis' cases: a hunt may go over many labels."""
        if hypothesis.id not in {h.id for h in self.run.ledger.hypotheses()}:
            return self.label
        trials = self.run.ledger.trials(hypothesis, limit=_FIRST)
        return next((t.expected for t in trials if t.expected), self.label)

    def check_digest(self, what: str, part: object) -> None:
        """Refuse a part ("target", "source" or "judge") that is not the one the run was made with."""
        then, now = self.run.config.digests.get(what), digest_of(part)
        if then is not None and now and then != now:
            raise WeakspotError(
                f"the {what} is not the one this run was made with (its digest differs)",
                fix="use the old one, or hunt again",
            )


def read_hunt(
    run: Run, *, only_confirmed: bool = False, otherwise: str = "name the folder of a hunt"
) -> FinishedHunt:
    """Read a hunt back; of a run of another study, the error says what to do `otherwise`.

    Raises:
        WeakspotError: It is no hunt, its settings are not whole, or it found nothing (or confirmed nothing).
    """
    if run.config.study != "hunt":
        raise WeakspotError(
            f"{run.folder} is a run of {run.config.study[:80]!r}, not of hunt",
            fix=otherwise,
        )
    settings = HuntSettings.read(run.config.settings, where=str(run.folder / "run.yaml"))
    findings = tuple(f for f in run.findings if f.confirmed or not only_confirmed)
    if not findings:
        which = "confirmed nothing" if only_confirmed and run.findings else "found nothing"
        more = (
            "leave out --only-confirmed" if run.findings else "give the hunt a larger budget or another label"
        )
        raise WeakspotError(f"the hunt in {run.folder} {which}", fix=more)
    bases = tuple(run.baselines)
    if not bases:
        raise WeakspotError(f"the run in {run.folder} has no baseline", fix="resume it first")
    return FinishedHunt(run, settings, bases, findings)


def load_target(name: str) -> Target:
    """A model that answers cases."""
    target: Target = _part(name, MODELS, Target)
    return target


def load_source(name: str, *, label: str) -> Source:
    """A source that is told which label its pictures show."""
    source: Source = _part(name, SOURCES, Source, label=label)
    return source


def load_judge(
    hunt: FinishedHunt, target: Target, *, same: Same | None = None, opinions: Sequence[Opinion] = ()
) -> Judge:
    """The run's rule for a failure, for any target; a rule about parents takes them from its labels.

    `opinions` must see the label in a picture before it counts; see `load_opinions`.
    """
    if hunt.settings.judge is None:
        judge: Judge = LabelJudge(target=hunt.settings.target_label, same=same)
    else:
        context: dict[str, Any] = {} if same is None else {"same": same}
        if needs_kin(hunt.settings.judge) and isinstance(target, Classifier):
            labels = tuple(dict.fromkeys([*target.labels, hunt.label]))
            context["kin"] = kin_of_head(labels, target.parents, hunt.settings.labels_file, hunt.senses)
        judge = _part(hunt.settings.judge, JUDGES, Judge, **context)
    return Verified(judge, tuple(opinions)) if opinions else judge


def load_opinions(hunt: FinishedHunt, target: Target, *, same: Same | None = None) -> list[Opinion]:
    """The second opinions of a run, each asked once about a picture however many models are judged."""
    labels = target.labels if isinstance(target, Classifier) else ()
    found: list[Opinion] = []
    for name in hunt.settings.verify:
        one = opinion(_part(name, MODELS, object), name=name, labels=labels, words={})
        if isinstance(one, ClassifierOpinion) and same:
            one = ClassifierOpinion(one.classifier, same=same)
        found.append(_Once(one))
    return found


class _Once:
    """An opinion that remembers what it said of the latest pictures."""

    def __init__(self, one: Opinion) -> None:
        self._one = one
        self._said: dict[int, tuple[Case, str]] = {}  # the case is kept, so that its id stays its own

    def doubts(self, cases: Sequence[Case]) -> list[str]:
        """See `Opinion`."""
        new = [case for case in cases if id(case) not in self._said]
        if len(self._said) + len(new) > _REMEMBERED:
            self._said, new = {}, list(cases)
        self._said |= {id(case): (case, said) for case, said in zip(new, self._one.doubts(new), strict=True)}
        return [self._said[id(case)][1] for case in cases]


def same_for(
    hunt: FinishedHunt, target: Target, labels: Sequence[str], given: Same | None
) -> dict[str, list[str]]:
    """By hunted label, the labels of a head that are as right: those given, or those below it in WordNet.

    A label that the head has itself needs none.
    """
    head = target.labels if isinstance(target, Classifier) else ()
    found = {label: list(_listed(given, label)) for label in labels if _listed(given, label)}
    for label in labels:
        if head and label not in head and label not in found:
            try:
                wordnet = WordNet.find()
                found[label] = sorted(wordnet.covered(wordnet.choose(label, hunt.senses.get(label)), head))
            except WeakspotError:  # no WordNet, or a word it does not know: then the head has no such label
                continue
    return {label: others for label, others in found.items() if others}


def check_label(name: str, target: Target, judge: Judge, label: str, *, same: Same | None = None) -> None:
    """Refuse, before anything is drawn, a head without the label or one that was said to be the same."""
    labels = target.labels if isinstance(target, Classifier) else ()
    if not labels:
        return
    right = {label, *_listed(same, label)}
    if not right & set(labels):
        hint = nearest(label, labels)
        some = ", ".join(each[:40] for each in labels[:8]) + (" …" if len(labels) > 8 else "")
        raise WeakspotError(
            f"{name[:200]} has no label {label[:80]!r}; {hint or f'its labels: {some}'}",
            fix=f"say which of its labels are right: --same {label[:80]!r}=LABEL,LABEL",
        )
    alone = judge.judge_alone if isinstance(judge, Verified) else judge
    if isinstance(alone, LabelJudge):
        alone.check(label, labels)


def _listed(same: Same | None, label: str) -> Collection[str]:
    found = (same or {}).get(label, ())
    return (found,) if isinstance(found, str) else found


def _part(name: str, registry: Registry, port: type, **context: Any) -> Any:
    way_out = f"do it from Python, and give the {registry.kind} as an object"
    return part(None, name, registry, port, without_name=way_out, **context)
