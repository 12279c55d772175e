"""What studies of a classifier's labels are made with: source, target, judge and second opinions.

`hunt` and `rare` share it: a label is put into words, a source draws the words, the classifier answers, and a
judge says whether the label was missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from weakspot.core import (
    JUDGES,
    MODELS,
    SOURCES,
    Case,
    Classifier,
    Generator,
    Hypothesis,
    Judge,
    Source,
    Stage,
    Target,
    WeakspotError,
)
from weakspot.core.ports import (
    Captioned,
    Composed,
    Relabelled,
    Skipping,
    available,
    cpu_bound,
    digest_of,
    understands,
)
from weakspot.judges import LabelJudge, Verified
from weakspot.judges.label import Relation
from weakspot.judges.verified import ChecksLabels, ClassifierOpinion, Opinion, opinion
from weakspot.sources.generate import TextToImage
from weakspot.sources.prompts import LabelWords, base_prompt
from weakspot.study.executors import unnamed
from weakspot.study.label_meanings import Meanings, needs_kin, no_label
from weakspot.study.label_settings import LabelTask
from weakspot.study.loading import name_of, part


@dataclass(frozen=True)
class LabelParts:
    """The loaded parts.

    Attributes:
        words: By label, what is said for it in prompts.
        opinions: Who must see the label in a picture before it counts.
        same: By hunted label that the head does not have, the labels of the head that it covers.
    """

    target: Target
    source: Source
    judge: Judge
    words: Mapping[str, LabelWords] = field(default_factory=dict)
    opinions: tuple[Opinion, ...] = ()
    same: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def verdicts(self) -> Judge:
        """The judge, together with the second opinions where there are any."""
        return Verified(self.judge, self.opinions) if self.opinions else self.judge


def load_labelled(task: LabelTask, **given: Any) -> LabelParts:
    """Load what is named, except for what is given as an object, and check that it fits."""
    target = _target(task, given.get("target"))
    labels, parents = _head(target)
    meanings = Meanings(task, labels, parents)
    same, words = meanings.same(), meanings.words()
    kin = meanings.kin() if needs_kin(task.judge) else None
    judge = _judge(task, given.get("judge"), labels, kin, same)
    opinions = _opinions(task, given.get("verify"), labels, same, words)
    source = _source(task, given.get("source"), words)
    return LabelParts(target, source, judge, words, opinions, same)


def labelled_workers(
    task: LabelTask, parts: LabelParts, given: Mapping[str, Any]
) -> dict[str, Callable[[], Any]]:
    """How a worker on another machine makes each part; see `weakspot.study.executors`.

    Args:
        task: What is asked.
        parts: As loaded here.
        given: The objects among them.
    """
    labels, _ = _head(parts.target)
    kin = parts.judge.kin if isinstance(parts.judge, LabelJudge) else None
    words, same, own = dict(parts.words), dict(parts.same), unnamed(given)
    verdicts = partial(_verdicts, task, own.get("judge"), own.get("verify"))
    return {
        "source": partial(_source, task, own.get("source"), words),
        "target": partial(_target, task, own.get("target")),
        "judge": partial(verdicts, labels, kin, same, words),
    }


def base_hypothesis(task: LabelTask, words: Mapping[str, LabelWords], label: str) -> Hypothesis:
    """The plain prompt of a label."""
    said = words.get(label) or LabelWords(label)
    text = base_prompt(said.words, said.parent, template=task.prompt).rstrip()
    ended = text.endswith((".", "!", "?", ";"))  # sentences follow it
    return Hypothesis(text if ended else f"{text}.", origin="baseline")


class ByLabel:
    """One source for several labels: what is expected follows from the baseline that a text begins with.

    Args:
        source: Says itself what is expected (such as `world:renderer`), or has `expecting`, which gives the
            same source for another label.
        bases: The baselines.
        labels: Their labels, in the same order.
    """

    def __init__(self, source: Source, bases: Sequence[Hypothesis], labels: Sequence[str]) -> None:
        self.source = source
        self._sources = [
            (base.text, source.expecting(label) if isinstance(source, Relabelled) else source)
            for base, label in zip(bases, labels, strict=True)
        ]
        self.cpu_bound, self.digest = cpu_bound(source), digest_of(source)
        self.skipped = source.skipped if isinstance(source, Skipping) else ()
        self.models = source.models if isinstance(source, Composed) else ()
        self.captioner = source.captioner if isinstance(source, Captioned) else ""

    def _of(self, hypothesis: Hypothesis) -> Source:
        fitting = [
            (len(text), i) for i, (text, _) in enumerate(self._sources) if hypothesis.text.startswith(text)
        ]
        return self._sources[max(fitting)[1] if fitting else 0][1]

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`."""
        return self._of(hypothesis).draw(hypothesis, indices, seed=seed)

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
        """See `Finite`."""
        return available(self._of(hypothesis), hypothesis, seed=seed, stage=stage)

    def understands(self, text: str) -> bool:
        """See `Selective`."""
        return understands(self._sources[0][1], text)


def _target(task: LabelTask, given: Any) -> Target:
    target: Target = part(given, task.target, MODELS, Target)
    return target


def _head(target: Target) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The labels of a target and their parents, as far as it knows them."""
    return (target.labels, target.parents) if isinstance(target, Classifier) else ((), {})


def _source(task: LabelTask, given: Any, words: Mapping[str, LabelWords]) -> Source:
    source = _drawing(part(given, task.source, SOURCES, object, label=task.hunted[0]), task)
    if len(task.hunted) == 1:
        return source
    bases = [base_hypothesis(task, words, label) for label in task.hunted]
    return ByLabel(source, bases, task.hunted)


def _drawing(found: Any, task: LabelTask) -> Source:
    """A source as it is, or the source of a generator."""
    if isinstance(found, Generator) and not isinstance(found, Source):
        return TextToImage(found, expected=task.hunted[0])
    source: Source = part(found, task.source, SOURCES, Source)
    if isinstance(source, TextToImage) and source.expected != task.hunted[0]:
        said, hunted = source.expected[:80], task.hunted[0][:80]
        raise WeakspotError(
            f"{task.source[:200]} is said to draw {said!r}, and {hunted!r} is hunted",
            fix="leave out ?label=…",
        )
    return source


def _verdicts(
    task: LabelTask,
    judge: Any,
    verify: Any,
    labels: Sequence[str],
    kin: Relation | None,
    same: Mapping[str, frozenset[str]],
    words: Mapping[str, LabelWords],
) -> Judge:
    """The judge with its second opinions, in a process that has nothing loaded yet."""
    opinions = _opinions(task, verify, labels, same, words)
    found = _judge(task, judge, labels, kin, same)
    return Verified(found, opinions) if opinions else found


def _opinions(
    task: LabelTask,
    given: Any,
    labels: Sequence[str],
    same: Mapping[str, frozenset[str]],
    words: Mapping[str, LabelWords],
) -> tuple[Opinion, ...]:
    named = given or task.verify
    return tuple(
        _opinion(one, task, labels, same, words) for one in ((named,) if isinstance(named, str) else named)
    )


def _judge(
    task: LabelTask,
    given: Any,
    labels: Sequence[str],
    kin: Relation | None,
    same: Mapping[str, frozenset[str]],
) -> Judge:
    if task.target_label is not None and labels and task.target_label not in labels:
        raise no_label(task.target, task.target_label, labels)
    if task.judge is None:
        judge: Judge = LabelJudge(target=task.target_label, same=same or None)
    else:
        judge = part(given, task.judge, JUDGES, Judge, kin=kin, same=same or None)
    if isinstance(judge, LabelJudge):
        if judge.target is not None and labels and judge.target not in labels:
            raise no_label(task.target, judge.target, labels)
        if same and judge.same is None:
            judge = replace(judge, same=same)
        for label in task.hunted:
            judge.check(label, labels)
    return judge


def _opinion(
    named: Any,
    task: LabelTask,
    labels: Sequence[str],
    same: Mapping[str, frozenset[str]],
    words: Mapping[str, LabelWords],
) -> Opinion:
    name = name_of(named)
    if name == task.target:
        raise WeakspotError("the target cannot be its own verifier", fix="name another model")
    model = part(named, name, MODELS, object)
    told = {label: said.words for label, said in words.items()}
    covered = frozenset[str]().union(*same.values())
    head = [*(label for label in labels if label not in covered), *same]
    found = opinion(model, name=name, labels=head, words=told)
    if isinstance(found, ClassifierOpinion) and same:
        found = ClassifierOpinion(found.classifier, same=same)
    for label in task.hunted:
        if isinstance(found, ChecksLabels):
            found.check(label)
    return found
