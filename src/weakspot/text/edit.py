"""Counterfactual edits of a caption, by rule: one thing is changed, and the edit says which.

"it is on a yellow flower." becomes "it is not on a yellow flower.", "it is on a blue flower.", "it is on a
flower.", or is left out. If the failure rate moves with the edit, the words that changed matter. The rules
know a few hundred words of English and leave alone what they do not know; whoever knows what texts mean, such
as the world's grammar, can check each edit (`meaning`), and a language model can add its own (`rewrite`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from weakspot.core import Hypothesis, WeakspotError
from weakspot.text.caption import LONGEST, sentences
from weakspot.text.english import ENGLISH, Lexicon, negated
from weakspot.text.refine import without_adjectives

T = TypeVar("T")

#: A text longer than this, in characters, is no caption; it is not edited.
LONGEST_TEXT: Final = 10_000
#: Of what a rewriter gives, so many texts are looked at.
REWRITES: Final = 16


class Kind(StrEnum):
    """What an edit does."""

    NEGATE = "negate"
    DROP = "drop"
    PLAIN = "plain"  # adjectives are dropped
    SIDE = "side"  # left and right, top and bottom
    COLOUR = "colour"
    PLACE = "place"
    COUNT = "count"
    RELATION = "relation"  # on, under, behind, …
    REWRITE = "rewrite"


#: The kinds, those first that say most of what a failure hangs on.
_TELLING: Final = (
    *(Kind.NEGATE, Kind.COLOUR, Kind.PLACE, Kind.COUNT, Kind.SIDE, Kind.RELATION, Kind.DROP, Kind.PLAIN),
    Kind.REWRITE,
)


class Edit(NamedTuple):
    """One change of a caption.

    Attributes:
        kind: What was done.
        before: The words that were there.
        after: The words that are there now; "" if they were dropped.
        hypothesis: The changed text; its parent is the hypothesis that was edited.
    """

    kind: Kind
    before: str
    after: str
    hypothesis: Hypothesis


class _Change(NamedTuple):
    kind: Kind
    before: str
    after: str
    sentence: str


def edits(
    hypothesis: Hypothesis,
    *,
    base: Hypothesis | None = None,
    words: Lexicon = ENGLISH,
    meaning: Callable[[str], Hashable] | None = None,
    rewrite: Callable[[str], list[str]] | None = None,
    each: int = 3,
    most: int = 64,
) -> list[Edit]:
    """All edits of a hypothesis, no text twice, none that is the hypothesis or the base itself.

    Args:
        hypothesis: What to edit.
        base: Its words are left as they are, where the hypothesis begins with them.
        words: The words that can take each other's place.
        meaning: What a text means to the source, e.g. `weakspot.world.grammar.parse`. Edits for which it
            raises `WeakspotError` are left out, and so are those that mean what another text does.
        rewrite: Gives further texts in place of what the hypothesis says beyond the base, e.g. by a language
            model. What is not one short printable text is left out.
        each: Replacements tried for one word.
        most: How many edits to give; up to half of them are the rewriter's, if there is one.

    Raises:
        WeakspotError: The rewriter raised.
    """
    fixed = base.text.rstrip() if base is not None else ""
    own = hypothesis.text.removeprefix(fixed)
    if own == hypothesis.text or (own and not own[0].isspace()):
        fixed, own = "", hypothesis.text  # it has other words, or the base's last word goes on
    if len(own) > LONGEST_TEXT:
        return []
    parts = re.split(r"(?<=[.!?;])\s+", " ".join(own.split()))
    known = [hypothesis.text, *([base.text] if base is not None else [])]
    texts = {_key(text) for text in known}
    meanings = {_meaning(meaning, text) for text in known}
    found: list[Edit] = []

    def add(kind: Kind, before: str, after: str, said: str) -> bool:
        text = f"{fixed} {said}" if fixed else said
        if not said or _key(text) in texts:
            return False
        texts.add(_key(text))
        if meaning is not None:
            meant = _meaning(meaning, text)
            if meant is None or meant in meanings:
                return False
            meanings.add(meant)
        child = replace(hypothesis, text=text, origin="edit", parent=hypothesis.id)
        found.append(Edit(kind, before, after, child))
        return True

    by_rule = most if rewrite is None else most - min(REWRITES, most // 2)
    for slot in _slots(parts, words, first=0 if fixed else 1):
        taken = 0
        for change, said in slot:
            if len(found) >= by_rule or taken >= each:
                break
            taken += add(change.kind, change.before, change.after, said)
    for text in _rewritten(rewrite, own.strip()):
        if len(found) < most:
            add(Kind.REWRITE, own.strip(), text, text)
    return found


def varied(some: Iterable[Edit]) -> list[Edit]:
    """The same edits in another order: the first of each kind, then the second of each, and so on."""
    times: dict[Kind, int] = {}
    ranked = []
    for edit in some:
        times[edit.kind] = times.get(edit.kind, 0) + 1
        ranked.append((times[edit.kind], _TELLING.index(edit.kind), edit))
    return [edit for _, _, edit in sorted(ranked, key=lambda one: one[:2])]


def _slots(parts: list[str], words: Lexicon, *, first: int) -> Iterator[Iterator[tuple[_Change, str]]]:
    """Kind after kind, the places where something can be changed; each with its changes and new texts.

    The sentences before `first` are not dropped, since they say what the picture is of.
    """

    def texts(i: int, changes: Iterator[_Change]) -> Iterator[tuple[_Change, str]]:
        for change in changes:
            yield change, " ".join(filter(None, [*parts[:i], change.sentence, *parts[i + 1 :]]))

    for rule in (_negate, _drop, _plain, _side, _colour, _place, _count, _relation):
        for i, sentence in enumerate(parts):
            if len(sentence) <= 2 * LONGEST and (i >= first or rule is not _drop):
                for changes in rule(sentence, words):
                    yield texts(i, changes)


# -- the rules: each gives the places where a sentence can be changed, and the changes there --------

_Slots = Iterator[Iterator[_Change]]


def _negate(sentence: str, _: Lexicon) -> _Slots:
    # "not on a yellow flower" leaves open what is denied; "not on a flower" does not.
    others = dict.fromkeys(negated(form) for form in (sentence, without_adjectives(sentence)))
    yield (_Change(Kind.NEGATE, sentence, other, other) for other in others if other)


def _drop(sentence: str, _: Lexicon) -> _Slots:
    yield iter([_Change(Kind.DROP, sentence, "", "")])


def _plain(sentence: str, _: Lexicon) -> _Slots:
    other = without_adjectives(sentence)
    if other != " ".join(sentence.split()):
        yield iter([_Change(Kind.PLAIN, sentence, other, other)])


def _side(sentence: str, words: Lexicon) -> _Slots:
    for pair in words.sides:
        opposite = dict([pair, pair[::-1]])
        parts = re.split(rf"\b({_either(pair)})\b", sentence, flags=re.IGNORECASE)
        other = "".join(_as(part, opposite.get(part.lower(), part)) if part else "" for part in parts)
        if other != sentence:
            one, two = pair if pair[0] in map(str.lower, parts) else pair[::-1]
            yield iter([_Change(Kind.SIDE, one, two, other)])


def _colour(sentence: str, words: Lexicon) -> _Slots:
    alike = {"gray": "grey"}
    pattern = re.compile(rf"\b(?:an?\s+)?({_either((*words.colours, *alike))})\b(?!-)", re.IGNORECASE)
    for match in pattern.finditer(sentence):
        old = match[1].lower()
        others = [c for c in _after(alike.get(old, old), words.colours) if c not in sentence.lower()]
        yield (_put(Kind.COLOUR, sentence, match.start(1), match.end(1), other) for other in others)


_HOLDS: Final = ("in", "on", "at", "inside")  # a place after these is said with its own preposition
_AFTER: Final = (
    *("and", "or", "with", "without", "at", "by", "in", "on", "near", "behind", "under", "next", "to", "of"),
    *("while", "during", "beside", "between", "against", "is", "are", "but", "as", "from", "above", "below"),
)


def _place(sentence: str, words: Lexicon) -> _Slots:
    names = {noun: place for place in words.places for noun in place.nouns}
    pattern = re.compile(
        rf"\b(?:(?P<before>{_either((*_HOLDS, 'is', 'are', 'not', 'shows', 'near', 'by', 'against'))})\s+)"
        rf"(?:(?:an?|the)\s+)?(?P<noun>{_either(names)})(?=\s*[.,;!?]|\s*$|\s+(?:{_either(_AFTER)})\b)",
        re.IGNORECASE,
    )
    for match in pattern.finditer(sentence):
        here = names[match["noun"].lower()]
        others = _after(here, words.places)
        if match["before"].lower() in _HOLDS or not here.name:
            start = match.start() if match["before"].lower() in _HOLDS else match.start("noun")
            yield (_put(Kind.PLACE, sentence, start, match.end(), other.where) for other in others)
        else:
            start = match.end("before") + 1
            yield (
                _put(Kind.PLACE, sentence, start, match.end(), other.name) for other in others if other.name
            )


def _count(sentence: str, words: Lexicon) -> _Slots:
    all_of = ("one", *words.numbers)
    of_them = re.compile(rf"\bthere (?:is|are) (?:not )?({_either(all_of)})(?= of them\b)", re.IGNORECASE)
    if match := of_them.search(sentence):
        no = "not " if "not" in match[0].split() else ""
        others = {
            n: f"there {'is' if n == 'one' else 'are'} {no}{n}" for n in _after(match[1].lower(), all_of)
        }
        yield (
            _put(Kind.COUNT, sentence, match.start(), match.end(), said)._replace(before=match[1], after=n)
            for n, said in others.items()
        )
        return
    # "one dog" would need its plural: only numbers above one take each other's place.
    for match in re.finditer(rf"\b({_either(words.numbers)})(?=\s+[a-z])", sentence, re.IGNORECASE):
        free = [n for n in _after(match[1].lower(), words.numbers) if n not in sentence.lower().split()]
        yield (_put(Kind.COUNT, sentence, match.start(), match.end(), other) for other in free)


def _relation(sentence: str, words: Lexicon) -> _Slots:
    table = dict(words.relations)
    for match in re.finditer(rf"\b({_either(table)})(?=\s+[a-z])", sentence, re.IGNORECASE):
        others = table[match[1].lower()]
        yield (_put(Kind.RELATION, sentence, match.start(), match.end(), other) for other in others)


# -- words ------------------------------------------------------------------------------------------


def _put(kind: Kind, sentence: str, start: int, end: int, new: str) -> _Change:
    """A change of some characters; an article before them is fitted to the new word."""
    head, old = sentence[:start], sentence[start:end]
    if article := re.search(r"\b(an?)(\s+)$", head, re.IGNORECASE):
        a = _as(article[1], "an" if new[0] in "aeiou" else "a")
        head = head[: article.start()] + a + article[2]
    return _Change(kind, old, new, head + _as(old, new) + sentence[end:])


def _as(old: str, new: str) -> str:
    """The new word with a capital where the old one had it."""
    return new[0].upper() + new[1:] if old[:1].isupper() else new


def _after(value: T, values: tuple[T, ...]) -> list[T]:
    """The other values, from the one after this on."""
    at = values.index(value) if value in values else -1
    return [v for v in (*values[at + 1 :], *values[: max(at, 0)]) if v != value]


def _either(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


def _meaning(meaning: Callable[[str], Hashable] | None, text: str) -> Hashable:
    """What a text means; None where that is not known."""
    try:
        return None if meaning is None else meaning(text)
    except WeakspotError:
        return None


def _rewritten(rewrite: Callable[[str], list[str]] | None, text: str) -> list[str]:
    if rewrite is None:
        return []
    try:
        given = list(rewrite(text))[:REWRITES]
    except Exception as error:  # a language model's client may raise anything
        raise WeakspotError(
            f"the rewriter failed: {type(error).__name__}: {str(error)[:200]}", fix="mend it, or leave it out"
        ) from error
    clean = [" ".join(sentences(t)) for t in given if isinstance(t, str) and len(t) <= 4 * LONGEST]
    return [t for t in clean if t]
