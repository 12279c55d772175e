"""The sixteen edits of a text, by rule: no model, and the same text, seed and amount give the same edit.

What is not touched stays as it was, line breaks included. An edit that finds nothing to change gives the text
back. Nouns and verbs are told by the tagger of captions, which reads plain English.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from weakspot.core import WeakspotError, nearest
from weakspot.text.edits_denial import negate
from weakspot.text.edits_grammar import number, tense

#: A word, with what an apostrophe ties to it.
WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
_STOP: Final = (
    "a an the and or but if as of at by for with about into through during before after above below to from "
    "up down in out on off over under again then once here there when where why how all any both each few "
    "more most other some such only own same so than too very can will just should now i me my we our you "
    "your he him his she her it its they them their what which who whom this that these those am is are was "
    "were be been being have has had having do does did doing would could until while because between"
)
#: Denials are not among them: to drop those is to negate.
STOP: Final = frozenset(_STOP.split())
_KEYS: Final = (
    "wa qase wsdr edft rfgy tghu yhji ujko iklp ol qwsz awedxz serfcx drtgvc ftyhbv gyujnb huikmn jiolm "
    "kop asx zsdc xdfv cfgb vghn bhjm njk"
)
_BESIDE: Final = dict(zip("qwertyuiopasdfghjklzxcvbnm", _KEYS.split(), strict=True))
_PAIRS: Final = (
    "receive:recieve believe:beleive their:thier government:goverment separate:seperate which:wich "
    "definite:definate until:untill because:becuase beginning:begining friend:freind weird:wierd "
    "environment:enviroment necessary:neccessary occurred:occured tomorrow:tommorow really:realy "
    "business:buisness different:diffrent people:poeple probably:probaly surprise:suprise "
    "the:teh with:wiht from:form would:woud could:coud said:siad water:watter two:too "
    "council:counsil library:libary february:febuary wednesday:wensday science:sience height:heigth "
    "through:throuh every:evry several:severel area:erea school:shcool city:citty engineer:enginner "
    "research:reserch years:yeers members:membres visitors:visiters"
)
#: What people really write, and then rules for words that are in no list; the first that fits is used.
_KNOWN: Final = dict(pair.split(":") for pair in _PAIRS.split())
_SOUNDS: Final = (
    (r"(?<=[b-df-hj-np-tv-z])ie", "ei"), (r"(?<=c)ei", "ie"), (r"ph", "f"), (r"ance\b", "ence"),
    (r"ence\b", "ance"), (r"ible\b", "able"), (r"able\b", "ible"), (r"([bdfglmnprst])\1", r"\1"),
    (r"ough", "uff"), (r"tion", "sion"), (r"(?<=[aeiou])ght", "te"), (r"ea", "ee"), (r"ai", "ay"),
    (r"\bkn", "n"), (r"or\b", "er"), (r"er\b", "or"), (r"ck", "k"), (r"ou", "uo"),
    (r"(?<=[aeiou])([bdglmnpt])(?=[aeiou])", r"\1\1"),
)  # fmt: skip


def _words(text: str) -> list[re.Match[str]]:
    return list(WORD.finditer(text))


def _put(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """Replace spans that do not overlap."""
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _some(rng: random.Random, places: Sequence[int], share: float) -> list[int]:
    """A share of places, one at least, in their order."""
    if not places:
        return []
    return sorted(rng.sample(places, min(max(1, round(share * len(places))), len(places))))


def _tidy(text: str) -> str:
    """Without the blanks that dropped words leave behind."""
    text = re.sub(r"[ \t]+(?=[,.;:!?)])", "", re.sub(r"[ \t]{2,}", " ", text))
    return re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text)


def drop_stop_words(text: str, rng: random.Random, share: float) -> str:
    """Without articles, prepositions, auxiliaries and the like."""
    hits = [m for m in _words(text) if m[0].lower() in STOP]
    return _tidy(_put(text, [(*hits[i].span(), "") for i in _some(rng, range(len(hits)), share)]))


def drop_punctuation(text: str, rng: random.Random, share: float) -> str:
    """Without commas, full stops, quotation marks; not those inside numbers and words."""
    marks = [m.start() for m in re.finditer(r"(?<!\w)[^\w\s]|[^\w\s](?!\w)", text)]
    return _put(text, [(i, i + 1, "") for i in _some(rng, marks, share)])


def lower_case(text: str, rng: random.Random, share: float) -> str:
    """All in lower case, or a share of the capitals."""
    capitals = [i for i, c in enumerate(text) if c.isupper()]
    return _put(text, [(i, i + 1, text[i].lower()) for i in _some(rng, capitals, share)])


def _letters(text: str, *, follows: bool = False) -> list[int]:
    """The places of letters; of those that another letter follows, unlike it in more than case."""
    found = [i for i, c in enumerate(text) if c.isalpha()]
    if follows:
        found = [i for i in found if text[i + 1 : i + 2].isalpha() and text[i + 1].lower() != text[i].lower()]
    return found


def delete_characters(text: str, rng: random.Random, share: float) -> str:
    """Letters left out."""
    return _put(text, [(i, i + 1, "") for i in _some(rng, _letters(text), share)])


def insert_characters(text: str, rng: random.Random, share: float) -> str:
    """Letters that do not belong there."""
    chosen = _some(rng, _letters(text), share)
    return _put(text, [(i, i, rng.choice("abcdefghijklmnopqrstuvwxyz")) for i in chosen])


def repeat_characters(text: str, rng: random.Random, share: float) -> str:
    """Letters written twice."""
    return _put(text, [(i, i, text[i]) for i in _some(rng, _letters(text), share)])


def swap_characters(text: str, rng: random.Random, share: float) -> str:
    """Neighbouring letters of a word exchanged."""
    changes: list[tuple[int, int, str]] = []
    for i in _some(rng, _letters(text, follows=True), share):
        if not changes or i >= changes[-1][1]:
            changes.append((i, i + 2, text[i + 1] + text[i]))
    return _put(text, changes)


def mistype_characters(text: str, rng: random.Random, share: float) -> str:
    """The key beside the right one."""
    places = [i for i in _letters(text) if text[i].lower() in _BESIDE]
    changes = []
    for i in _some(rng, places, share):
        key = rng.choice(_BESIDE[text[i].lower()])
        changes.append((i, i + 1, key.upper() if text[i].isupper() else key))
    return _put(text, changes)


def change_case(text: str, rng: random.Random, share: float) -> str:
    """Small letters as capitals and capitals as small letters."""
    places = [i for i in _letters(text) if len(text[i].swapcase()) == 1]
    return _put(text, [(i, i + 1, text[i].swapcase()) for i in _some(rng, places, share)])


def misspell(text: str, rng: random.Random, share: float) -> str:
    """Words as they are often misspelt."""
    hits = [(m.span(), wrong) for m in _words(text) if (wrong := misspelt(m[0])) != m[0]]
    return _put(text, [(*hits[i][0], hits[i][1]) for i in _some(rng, range(len(hits)), share)])


def misspelt(word: str) -> str:
    """A common misspelling of a word; the word itself where no rule fits."""
    small = word.lower()
    wrong = _KNOWN.get(small, "")
    if not wrong and len(small) > 3:
        tried = (re.sub(pattern, new, small, count=1) for pattern, new in _SOUNDS)
        wrong = next((one for one in tried if one != small), "")
    if not wrong:
        return word
    return wrong.capitalize() if word[0].isupper() else wrong


def delete_words(text: str, rng: random.Random, share: float) -> str:
    """Words left out, whatever they are."""
    hits = _words(text)
    return _tidy(_put(text, [(*hits[i].span(), "") for i in _some(rng, range(len(hits)), share)]))


def repeat_words(text: str, rng: random.Random, share: float) -> str:
    """Words written twice."""
    hits = _words(text)
    return _put(
        text, [(hits[i].end(), hits[i].end(), f" {hits[i][0]}") for i in _some(rng, range(len(hits)), share)]
    )


def reorder_words(text: str, rng: random.Random, share: float) -> str:
    """Neighbouring words of a sentence exchanged."""
    hits = _words(text)
    pairs = [
        i
        for i in range(len(hits) - 1)
        if text[hits[i].end() : hits[i + 1].start()] == " " and hits[i][0] != hits[i + 1][0]
    ]
    changes: list[tuple[int, int, str]] = []
    for i in _some(rng, pairs, share):
        if not changes or hits[i].start() >= changes[-1][1]:
            changes.append((hits[i].start(), hits[i + 1].end(), f"{hits[i + 1][0]} {hits[i][0]}"))
    return _put(text, changes)


class Edit(NamedTuple):
    """An edit: how it is done, and the share of what it can change that it changes unless told otherwise."""

    rule: Callable[[str, random.Random, float], str]
    share: float


#: By the names that the space text-16 has.
EDITS: Final[dict[str, Edit]] = {
    "drop stop words": Edit(drop_stop_words, 1.0),
    "drop punctuation": Edit(drop_punctuation, 1.0),
    "lower case": Edit(lower_case, 1.0),
    "negate": Edit(negate, 0.5),
    "delete characters": Edit(delete_characters, 0.06),
    "insert characters": Edit(insert_characters, 0.06),
    "repeat characters": Edit(repeat_characters, 0.06),
    "swap characters": Edit(swap_characters, 0.06),
    "mistype characters": Edit(mistype_characters, 0.06),
    "change case": Edit(change_case, 0.1),
    "misspell": Edit(misspell, 0.4),
    "delete words": Edit(delete_words, 0.15),
    "repeat words": Edit(repeat_words, 0.15),
    "reorder words": Edit(reorder_words, 0.2),
    "number of nouns": Edit(number, 1.0),
    "tense": Edit(tense, 1.0),
}


def edit(text: str, name: str, *, seed: int, share: float | None = None) -> str:
    """Do one edit.

    Args:
        text: What to edit.
        name: One of `EDITS`.
        seed: Where chance has a part, it follows from this.
        share: Of what the edit can change, above 0 and at most 1.
    """
    if name not in EDITS:
        raise WeakspotError(
            f"no edit is called {name[:60]!r}", fix=nearest(name, EDITS) or f"choose from: {', '.join(EDITS)}"
        )
    if share is not None and not 0 < share <= 1:
        raise WeakspotError(f"a share cannot be {share}", fix="choose a number above 0 and at most 1")
    rule, usual = EDITS[name]
    return rule(text, random.Random(seed), usual if share is None else share)  # noqa: S311
