"""What the labels of a hunt mean: their words in prompts, their wider classes, what they cover of a head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from weakspot.core import SOURCES, WeakspotError, nearest, parse_name
from weakspot.judges.label import Relation, kin_of
from weakspot.sources.prompts import LabelWords, parents_of, words_of
from weakspot.text.wordnet import AmbiguousLabel, UnknownWord, WordNet

if TYPE_CHECKING:
    from weakspot.study.label_settings import LabelTask


class Meanings:
    """The labels of a hunt, as the head, a labels file and WordNet know them.

    Args:
        task: What is asked of the classifier.
        labels: Of the head; () where they are not known.
        parents: Their wider classes, as far as the head knows them.
    """

    def __init__(self, task: LabelTask, labels: Sequence[str], parents: Mapping[str, str]) -> None:
        self.task, self.labels, self.parents = task, labels, parents

    @cached_property
    def senses(self) -> dict[str, str]:
        """By hunted label, which of its meanings was chosen."""
        return chosen(self.task.sense, self.task.hunted)

    @cached_property
    def wordnet(self) -> WordNet | None:
        """WordNet, if a label needs it and it is there. Who brings a source of their own knows its words."""
        hunted, labels = self.task.hunted, self.labels
        known = all(h in labels and (h in self.parents or self.parents) for h in hunted)
        own = not SOURCES.takes(self.task.source, "label")
        if not self.senses and (known or (own and not labels) or (own and {*hunted} <= {*labels})):
            return None
        return self._found()

    def _found(self) -> WordNet | None:
        try:
            return WordNet.find()
        except WeakspotError:
            if self.senses:
                raise
            return None

    def words(self) -> dict[str, LabelWords]:
        """What is said for each hunted label in prompts."""
        task = self.task
        try:
            return words_of(
                task.hunted,
                known=self.parents,
                file=task.labels_file,
                wordnet=self.wordnet,
                senses=self.senses,
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
                    covered = frozenset()
                except AmbiguousLabel as error:
                    raise self._unclear(error) from error
            if not covered:
                raise no_label(self.task.target, wanted, self.labels)
            found[wanted] = covered
        return found

    def kin(self) -> Relation | None:
        """See `kin_of_head`."""
        labels = dict.fromkeys([*self.labels, *self.task.hunted])
        return kin_of_head(tuple(labels), self.parents, self.task.labels_file, self.senses)

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
                f"it is not said which of {len(hunted)} labels is meant by the sense {text[:80]!r}",
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

    Args:
        labels: Of the head, and the hunted ones.
        known: Parents that the head knows.
        file: A labels file. What neither knows is looked up in WordNet, where it is there.
        senses: By label, the meaning that was chosen.
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
