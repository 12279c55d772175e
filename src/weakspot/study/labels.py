"""What studies of a classifier's labels are made with: source, target, judge and second opinions.

`hunt` and `rare` share it: a label is put into words, a source draws the words, the classifier answers, and a
judge says whether the label was missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

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
    nearest,
    parse_name,
)
from weakspot.core.abilities import Composed
from weakspot.core.ports import (
    Captioned,
    Collected,
    Embedded,
    Item,
    Relabelled,
    Skipping,
    available,
    cpu_bound,
    digest_of,
    understands,
)
from weakspot.core.registry import name_of
from weakspot.judges import LabelJudge, Verified
from weakspot.judges.label import Relation, kin_of
from weakspot.judges.verified import ChecksLabels, ClassifierOpinion, Opinion, opinion
from weakspot.sources.generate import TextToImage
from weakspot.sources.prompts import LabelWords, base_prompt, parents_of, words_of
from weakspot.study.lifecycle import unnamed
from weakspot.study.loading import part
from weakspot.study.options import LabelTask
from weakspot.text.wordnet import AmbiguousLabel, UnknownWord, WordNet


@dataclass(frozen=True)
class LabelledParts:
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


class Head(NamedTuple):
    """What is known of the labels of a classifier.

    Attributes:
        labels: () where they are not known.
        words: By hunted label, what is said for it in prompts.
        same: By hunted label that is not among the labels, those of them that it covers.
        kin: Which labels have the same parent, where the judge asks for it.
    """

    labels: Sequence[str]
    words: Mapping[str, LabelWords]
    same: Mapping[str, frozenset[str]]
    kin: Relation | None


def load_labelled(task: LabelTask, **given: Any) -> LabelledParts:
    """Load what is named, except for what is given as an object, and check that it fits."""
    target = _target(task, given.get("target"))
    labels, parents = (target.labels, target.parents) if isinstance(target, Classifier) else ((), {})
    head = Meanings(task, labels, parents).head()
    judge, opinions = _judge(task, given.get("judge"), head), _opinions(task, given.get("verify"), head)
    source = _source(task, given.get("source"), head.words)
    return LabelledParts(target, source, judge, head.words, opinions, head.same)


def labelled_workers(
    task: LabelTask, parts: LabelledParts, given: Mapping[str, Any]
) -> dict[str, Callable[[], Any]]:
    """How a worker on another machine makes each part; see `weakspot.study.lifecycle`."""
    labels = parts.target.labels if isinstance(parts.target, Classifier) else ()
    kin = parts.judge.kin if isinstance(parts.judge, LabelJudge) else None
    head, own = Head(labels, dict(parts.words), dict(parts.same), kin), unnamed(given)
    return {
        "source": partial(_source, task, own.get("source"), head.words),
        "target": partial(_target, task, own.get("target")),
        "judge": partial(_verdicts, task, own.get("judge"), own.get("verify"), head),
    }


def base_hypothesis(task: LabelTask, words: Mapping[str, LabelWords], label: str) -> Hypothesis:
    """The plain prompt of a label."""
    said = words.get(label) or LabelWords(label)
    text = base_prompt(said.words, said.parent, template=task.prompt).rstrip()
    ended = text.endswith((".", "!", "?", ";"))  # sentences follow it
    return Hypothesis(text if ended else f"{text}.", origin="baseline")


class ByLabel:
    """One source for several labels: what is expected follows from the baseline that a text begins with.

    The source says itself what is expected (such as `world:renderer`), or is `Relabelled`. The baselines and
    their labels are in the same order.
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

    def _number(self, hypothesis: Hypothesis) -> int | None:
        fitting = [
            (len(text), i) for i, (text, _) in enumerate(self._sources) if hypothesis.text.startswith(text)
        ]
        return max(fitting)[1] if fitting else None

    def _of(self, hypothesis: Hypothesis) -> Source:
        return self._sources[self._number(hypothesis) or 0][1]

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        if self.once and self._number(hypothesis) is None:
            return [self._across(hypothesis, index, seed) for index in indices]
        return self._of(hypothesis).draw(hypothesis, indices, seed=seed)

    def _across(self, hypothesis: Hypothesis, index: int, seed: int) -> Case:
        """A photograph that tested a finding about all labels, by its number among all of them."""
        number = index - Stage.of(index).start
        for text, source in self._sources:
            plain = Hypothesis(text, origin="baseline")
            size = available(source, plain, seed=seed, stage=Stage.EXPLORE)
            if number < size:
                [case] = source.draw(plain, [number], seed=seed)
                return replace(case, hypothesis=hypothesis, index=index)
            number -= size
        raise WeakspotError(f"there is no photograph with the number {index}", fix="use the same folder")

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
        return available(self._of(hypothesis), hypothesis, seed=seed, stage=stage)

    def understands(self, text: str) -> bool:
        return understands(self._sources[0][1], text)

    @property
    def once(self) -> bool:
        return all(isinstance(one, Collected) and one.once for _, one in self._sources)

    def items(self, hypothesis: Hypothesis, *, seed: int) -> Sequence[Item]:
        of = self._of(hypothesis)
        return of.items(hypothesis, seed=seed) if isinstance(of, Collected) else ()

    def embedded(self, hypothesis: Hypothesis, *, seed: int) -> Embedded | None:
        of = self._of(hypothesis)
        return of.embedded(hypothesis, seed=seed) if isinstance(of, Collected) else None


def _target(task: LabelTask, given: Any) -> Target:
    target: Target = part(given, task.target, MODELS, Target)
    return target


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
            f"{task.source[:200]} is said to draw {said!r}, but {hunted!r} is hunted",
            fix="leave out ?label=…",
        )
    return source


def _verdicts(task: LabelTask, judge: Any, verify: Any, head: Head) -> Judge:
    """The judge with its second opinions, in a process that has nothing loaded yet."""
    opinions = _opinions(task, verify, head)
    found = _judge(task, judge, head)
    return Verified(found, opinions) if opinions else found


def _opinions(task: LabelTask, given: Any, head: Head) -> tuple[Opinion, ...]:
    named = given or task.verify
    return tuple(_opinion(one, task, head) for one in ((named,) if isinstance(named, str) else named))


def _judge(task: LabelTask, given: Any, head: Head) -> Judge:
    labels, same = head.labels, head.same or None
    if task.target_label is not None and labels and task.target_label not in labels:
        raise no_label(task.target, task.target_label, labels)
    if task.judge is None:
        judge: Judge = LabelJudge(target=task.target_label, same=same)
    else:
        judge = part(given, task.judge, JUDGES, Judge, kin=head.kin, same=same)
    if isinstance(judge, LabelJudge):
        if judge.target is not None and labels and judge.target not in labels:
            raise no_label(task.target, judge.target, labels)
        if same and judge.same is None:
            judge = replace(judge, same=same)
        for label in task.hunted:
            judge.check(label, labels)
    return judge


def _opinion(named: Any, task: LabelTask, head: Head) -> Opinion:
    name = name_of(named)
    if name == task.target:
        raise WeakspotError("the target cannot be its own verifier", fix="name another model")
    model = part(named, name, MODELS, object)
    words = {label: said.words for label, said in head.words.items()}
    covered = frozenset[str]().union(*head.same.values())
    labels = [*(label for label in head.labels if label not in covered), *head.same]
    found = opinion(model, name=name, labels=labels, words=words)
    if isinstance(found, ClassifierOpinion) and head.same:
        found = ClassifierOpinion(found.classifier, same=head.same)
    for label in task.hunted:
        if isinstance(found, ChecksLabels):
            found.check(label)
    return found


class Meanings:
    """The labels of a hunt, as the head, a labels file and WordNet know them."""

    def __init__(self, task: LabelTask, labels: Sequence[str], parents: Mapping[str, str]) -> None:
        self.task, self.labels, self.parents = task, labels, parents

    def head(self) -> Head:
        same, words = self.same(), self.words()
        kin = None
        if needs_kin(self.task.judge):
            labels = dict.fromkeys([*self.labels, *self.task.hunted])
            kin = kin_of_head(tuple(labels), self.parents, self.task.labels_file, self.senses)
        return Head(self.labels, words, same, kin)

    @cached_property
    def senses(self) -> dict[str, str]:
        return chosen(self.task.sense, self.task.hunted)

    @cached_property
    def wordnet(self) -> WordNet | None:
        """WordNet, if a label needs it and it is there. Who brings a source of their own knows its words."""
        hunted, labels = self.task.hunted, self.labels
        known = all(h in labels and (h in self.parents or self.parents) for h in hunted)
        own = not SOURCES.takes(self.task.source, "label")
        if not self.senses and (known or (own and not labels) or (own and {*hunted} <= {*labels})):
            return None
        try:
            return WordNet.find()
        except WeakspotError:
            if self.senses:
                raise
            return None

    def words(self) -> dict[str, LabelWords]:
        """What is said for each hunted label in prompts."""
        task, file = self.task, self.task.labels_file
        try:
            return words_of(
                task.hunted, known=self.parents, file=file, wordnet=self.wordnet, senses=self.senses
            )
        except AmbiguousLabel as error:
            raise self._unclear(error) from error

    def same(self) -> dict[str, frozenset[str]]:
        """For a hunted label that the head does not have: the labels of the head that it covers."""
        found = {}
        for wanted in self.task.hunted:
            if not self.labels or wanted in self.labels:
                continue
            covered: frozenset[str] = frozenset()
            if self.wordnet is not None:
                try:
                    sense = self.wordnet.choose(wanted, self.senses.get(wanted))
                    covered = frozenset(self.wordnet.covered(sense, self.labels))
                except UnknownWord:
                    pass
                except AmbiguousLabel as error:
                    raise self._unclear(error) from error
            if not covered:
                raise no_label(self.task.target, wanted, self.labels)
            found[wanted] = covered
        return found

    def _unclear(self, error: AmbiguousLabel) -> WeakspotError:
        several = "" if len(self.task.hunted) == 1 else " (as label=sense, with commas between them)"
        return WeakspotError(error.what, fix=f"--sense says which{several}: {error.fix}")


def chosen(text: str | None, hunted: Sequence[str]) -> dict[str, str]:
    """By hunted label, which of its meanings was chosen: "5" for the only one, or "crane=5,cat=1"."""
    if text is None:
        return {}
    if "=" not in text:
        if len(hunted) > 1:
            raise WeakspotError(
                f"the sense {text[:80]!r} could belong to any of {len(hunted)} labels",
                fix=f"write e.g. --sense '{hunted[0][:40]}={text[:40]}'",
            )
        return {hunted[0]: text}
    found = {}
    for one in text.split(","):
        label, _, sense = (word.strip() for word in one.partition("="))
        if label not in hunted or not sense:
            raise WeakspotError(
                f"{one.strip()[:80]!r} gives no hunted label a sense",
                fix=nearest(label, hunted) or "write label=sense, with commas between them",
            )
        found[label] = sense
    return found


def kin_of_head(
    labels: Sequence[str], known: Mapping[str, str], file: str | None, senses: Mapping[str, str]
) -> Relation | None:
    """By label, the labels under the same parent; None where no parent is known.

    Parents are those that the head knows, else the labels file, else WordNet, where it is there.
    """
    try:
        wordnet = None if {*labels} <= {*known} else WordNet.find()
    except WeakspotError:
        wordnet = None
    parents = parents_of(labels, known=known, file=file, wordnet=wordnet, senses=senses, strict=False)
    return kin_of(parents) if parents else None


def needs_kin(judge: str | None) -> bool:
    """Whether a judge has a rule about parents."""
    return judge is not None and "parent" in parse_name(judge).options


def no_label(target: str, wanted: str, labels: Sequence[str]) -> WeakspotError:
    """A head has not the label that is asked of it."""
    some = ", ".join(labels[:20]) + (" …" if len(labels) > 20 else "")
    hint = nearest(wanted, labels) or f"its labels: {some}"
    return WeakspotError(f"{target} has no label {wanted[:80]!r}", fix=hint)
