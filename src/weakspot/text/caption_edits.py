"""Counterfactual edits of a caption, by rule: one thing is changed, and the edit says which.

"it is on a yellow flower." becomes "it is not on a yellow flower.", "it is on a blue flower.", "it is on a
flower.", or is left out. What the rules do not know they leave alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from weakspot.core import Hypothesis, WeakspotError
from weakspot.text.changes import Change, put
from weakspot.text.grammar import negated
from weakspot.text.lexicon import swaps
from weakspot.text.sentences import LONGEST, sentences, without_adjectives

T = TypeVar("T")

LONGEST_TEXT: Final = 10_000  # a text longer than this, in characters, is no caption; it is not edited
REWRITES: Final = 16  # of what a rewriter gives, so many texts are looked at


class Kind(StrEnum):
    """What an edit does; those first that say most of what a failure depends on."""

    NEGATE = "negate"
    COLOUR = "colour"
    PLACE = "place"
    COUNT = "count"
    SIDE = "side"  # left and right, top and bottom
    RELATION = "relation"  # on, under, behind, …
    DROP = "drop"
    PLAIN = "plain"  # adjectives are dropped
    REWRITE = "rewrite"


class Edit(NamedTuple):
    """The words that were there, those that are there now ("" if dropped), and the changed hypothesis."""

    kind: Kind
    before: str
    after: str
    hypothesis: Hypothesis


def edits(
    hypothesis: Hypothesis,
    *,
    base: Hypothesis | None = None,
    meaning: Callable[[str], Hashable] | None = None,
    rewrite: Callable[[str], list[str]] | None = None,
    each: int = 3,
    most: int = 64,
) -> list[Edit]:
    """All edits of a hypothesis, no text twice, none that is the hypothesis or the base itself.

    The words of the base are left as they are, where the hypothesis begins with them. Edits that mean to the
    source what another text does are left out, and those for which `meaning` raises `WeakspotError`. Up to
    half of the `most` edits are what `rewrite` gives in place of what the hypothesis says beyond the base. Of
    one word `each` replacements are tried.
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
    for kind, slot in _slots(parts, first=0 if fixed else 1):
        taken = 0
        for change in slot:
            if len(found) >= by_rule or taken >= each:
                break
            taken += add(kind, change.before, change.after, change.text)
    for text in _rewritten(rewrite, own.strip()):
        if len(found) < most:
            add(Kind.REWRITE, own.strip(), text, text)
    return found


def varied(some: Iterable[Edit]) -> list[Edit]:
    """The same edits in another order: the first of each kind, then the second of each, and so on."""
    times: Counter[Kind] = Counter()
    ranked = []
    for edit in some:
        times[edit.kind] += 1
        ranked.append((times[edit.kind], list(Kind).index(edit.kind), edit))
    return [edit for _, _, edit in sorted(ranked, key=lambda one: one[:2])]


def _slots(parts: list[str], *, first: int) -> Iterator[tuple[Kind, Iterator[Change]]]:
    """Kind after kind, the places where something can be changed, each with the changes of the whole text.

    The sentences before `first` are not dropped, since they say what the picture is of.
    """

    def whole(i: int, changes: Iterable[Change]) -> Iterator[Change]:
        for change in changes:
            yield change._replace(text=" ".join(filter(None, [*parts[:i], change.text, *parts[i + 1 :]])))

    for kind, rule in _RULES.items():
        for i, sentence in enumerate(parts):
            if len(sentence) <= 2 * LONGEST and (i >= first or kind is not Kind.DROP):
                for changes in rule(sentence):
                    yield kind, whole(i, changes)


# -- the rules: each gives the places where a sentence can be changed, and the changes there --------

_Slots = Iterator[Iterable[Change]]


def _negate(sentence: str) -> _Slots:
    # "not on a yellow flower" leaves open what is denied; "not on a flower" does not.
    others = dict.fromkeys(negated(form) for form in (sentence, without_adjectives(sentence)))
    yield (Change(sentence, other, other) for other in others if other)


def _drop(sentence: str) -> _Slots:
    yield [Change(sentence, "", "")]


def _plain(sentence: str) -> _Slots:
    other = without_adjectives(sentence)
    if other != " ".join(sentence.split()):
        yield [Change(sentence, other, other)]


def _side(sentence: str) -> _Slots:
    for pair in swaps("sides"):
        one, two = pair
        opposite = {one: two, two: one}
        found = list(re.finditer(rf"\b({_either(pair)})\b", sentence, re.IGNORECASE))
        if found:
            if one not in [m[0].lower() for m in found]:
                one, two = two, one
            changed = put(sentence, *((*m.span(), opposite[m[0].lower()]) for m in found))
            yield [Change(one, two, changed.text)]


def _colour(sentence: str) -> _Slots:
    (colours,) = swaps("colours")
    pattern = rf"\b(?:an?\s+)?({_either((*colours, 'gray'))})\b(?!-)"
    for match in re.finditer(pattern, sentence, re.IGNORECASE):
        old = match[1].lower().replace("gray", "grey")
        others = [c for c in _after(old, colours) if c not in sentence.lower()]
        yield (put(sentence, (*match.span(1), other)) for other in others)


#: A place after these is said with its own preposition.
_HOLDS: Final = ("in", "on", "at", "inside")
_AFTER: Final = (
    "and|or|with|without|at|by|in|on|near|behind|under|next|to|of|while|during|beside|between|against|is|are|but|"
    "as|from|above|below"
)


def _place(sentence: str) -> _Slots:
    places = swaps("places")  # where, name, nouns by which it is recognised
    names = {noun: place for place in places for noun in place[2:]}
    pattern = re.compile(
        rf"\b(?:(?P<before>{_either((*_HOLDS, 'is', 'are', 'not', 'shows', 'near', 'by', 'against'))})\s+)"
        rf"(?:(?:an?|the)\s+)?(?P<noun>{_either(names)})(?=\s*[.,;!?]|\s*$|\s+(?:{_AFTER})\b)",
        re.IGNORECASE,
    )
    for match in pattern.finditer(sentence):
        here = names[match["noun"].lower()]
        held = match["before"].lower() in _HOLDS
        others = _after(here, places)
        if held or here[1] == "-":
            start = match.start() if held else match.start("noun")
            said = [where for where, *_ in others]
        else:
            start = match.end("before") + 1
            said = [name for _, name, *_ in others if name != "-"]
        yield (put(sentence, (start, match.end(), other)) for other in said)


def _count(sentence: str) -> _Slots:
    (numbers,) = swaps("numbers")
    all_of = ("one", *numbers)
    of_them = re.compile(rf"\bthere (?:is|are) (?:not )?({_either(all_of)})(?= of them\b)", re.IGNORECASE)
    if match := of_them.search(sentence):
        no = "not " if "not" in match[0].split() else ""
        said = {n: f"there {'is' if n == 'one' else 'are'} {no}{n}" for n in _after(match[1].lower(), all_of)}
        changed = {n: put(sentence, (*match.span(), other)).text for n, other in said.items()}
        yield [Change(match[1], n, text) for n, text in changed.items()]
        return
    # "one dog" would need its plural: only numbers above one take each other's place.
    for match in re.finditer(rf"\b({_either(numbers)})(?=\s+[a-z])", sentence, re.IGNORECASE):
        free = [n for n in _after(match[1].lower(), numbers) if n not in sentence.lower().split()]
        yield (put(sentence, (*match.span(), other)) for other in free)


def _relation(sentence: str) -> _Slots:
    table = {one: others for one, *others in swaps("relations")}
    for match in re.finditer(rf"\b({_either(table)})(?=\s+[a-z])", sentence, re.IGNORECASE):
        yield (put(sentence, (*match.span(), other)) for other in table[match[1].lower()])


_RULES: Final[dict[Kind, Callable[[str], _Slots]]] = {
    Kind.NEGATE: _negate, Kind.DROP: _drop, Kind.PLAIN: _plain, Kind.SIDE: _side, Kind.COLOUR: _colour,
    Kind.PLACE: _place, Kind.COUNT: _count, Kind.RELATION: _relation,
}  # fmt: skip


def _after(value: T, values: tuple[T, ...]) -> list[T]:
    """The other values, from the one after this on."""
    at = values.index(value) if value in values else -1
    return [v for v in (*values[at + 1 :], *values[: max(at, 0)]) if v != value]


def _either(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


def _meaning(meaning: Callable[[str], Hashable] | None, text: str) -> Hashable:
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
            f"the rewriter failed: {type(error).__name__}: {str(error)[:200]}",
            fix="correct it, or leave it out",
        ) from error
    clean = [" ".join(sentences(t)) for t in given if isinstance(t, str) and len(t) <= 4 * LONGEST]
    return [t for t in clean if t]
