"""How new pairs are made of the captions of a corpus: edited in one category, or as baselines.

The baselines are two captions at random, which show how often the encoder takes anything for alike, and
captions in which some noun, verb or adjective was replaced by another of its kind: as near to the original as
the pairs of a category are. What an encoder misses more often than that, it misses for what it is.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from weakspot.text.changes import put
from weakspot.text.contrast import LONGEST, variants
from weakspot.text.differences import Category
from weakspot.text.lexicon import Tag
from weakspot.text.plain import normal_form
from weakspot.text.tagging import Token, tokenise

#: After so many pairs with the same change of words ("two" → "three") others are preferred.
OFTEN: Final = 12
#: Kinds of words that are replaced.
KINDS: Final = (Tag.NOUN, Tag.VERB, Tag.ADJ)
#: Captions whose words are gathered.
READ: Final = 3000
#: Words that are tried in one caption.
TRIES: Final = 12
#: How often the captions are gone through, another word each time.
ROUNDS: Final = 3

#: By kind and form, words as often as captions have them.
Vocabulary = Mapping[tuple[Tag, str], Sequence[str]]


class Made(NamedTuple):
    """A pair, and what was changed where that is known."""

    first: str
    second: str
    change: str = ""


def _admitting(known: Collection[str], fits: Callable[[str], bool] | None) -> Callable[[str], bool]:
    """Admits each text once, none of the corpus, and none that would not be understood."""
    seen: set[str] = set()

    def admits(text: str) -> bool:
        form = normal_form(text)
        if form in known or form in seen or (fits is not None and not fits(text)):
            return False
        seen.add(form)
        return True

    return admits


def edited(
    captions: Sequence[str],
    *,
    category: Category,
    rng: Random,
    known: Collection[str],
    fits: Callable[[str], bool] | None = None,
) -> Iterator[Made]:
    """One new pair for each caption to which an edit of the category applies, in the captions' order.

    None of `known`, normal forms of the texts of the corpus, is the changed caption of a pair; nor is a text
    that does not `fit` where it will be used.
    """
    admits = _admitting(known, fits)
    used: Counter[str] = Counter()
    for caption in captions:
        if not 0 < len(caption) <= LONGEST or not caption.isprintable():
            continue
        plain = " ".join(caption.split())
        found = variants(plain, category=category)
        rng.shuffle(found)
        found.sort(key=lambda c: used[_change(c.before, c.after)] >= OFTEN)  # what is worn comes last
        for contrast in found:
            if admits(contrast.text):
                change = _change(contrast.before, contrast.after)
                used[change] += 1
                yield Made(plain, contrast.text, change)
                break


def _change(before: str, after: str) -> str:
    """What became what, in a few words."""
    return f"{before.casefold()[:60] or '∅'} → {after.casefold()[:60] or '∅'}"


def vocabulary(captions: Sequence[str]) -> Vocabulary:
    """The words that can take each other's place."""
    found: dict[tuple[Tag, str], list[str]] = defaultdict(list)
    for caption in captions[:READ]:
        for token in tokenise(caption):
            if _plain(token):
                found[token.tag, token.form].append(token.text)
    return found


def replaced(
    captions: Sequence[str],
    *,
    words: Vocabulary,
    rng: Random,
    known: Collection[str],
    fits: Callable[[str], bool] | None = None,
) -> Iterator[Made]:
    """Captions with one word replaced by any other of its kind and form; see `edited`."""
    admits = _admitting(known, fits)
    for _ in range(ROUNDS):
        for caption in captions:
            tokens = [t for t in tokenise(caption) if _plain(t) and len(words.get((t.tag, t.form), ())) > 1]
            for _ in range(TRIES if tokens else 0):
                token = rng.choice(tokens)
                word = rng.choice(words[token.tag, token.form])
                text = _put(caption, token.text, word) if word != token.text else None
                if text is not None and admits(text):
                    yield Made(caption, text, f"{token.text} → {word}")
                    break


def at_random(
    captions: Sequence[str], pictures: Mapping[str, Collection[str]], *, rng: Random
) -> Iterator[Made]:
    """Two captions at random, none of them of one picture, as far as the pictures of a caption are known."""
    while len(captions) > 1:
        first, second = rng.sample(range(len(captions)), 2)
        of, other = (pictures.get(captions[i], ()) for i in (first, second))
        if not set(of) & set(other):
            yield Made(captions[first], captions[second], "")


_OPENING: Final = re.compile(r"an? (?:realistic )?(?:photo|picture|image|photograph) of ", re.IGNORECASE)
OPENINGS: Final = ("a photo of ", "a picture of ", "an image of ")


def reworded(caption: str) -> list[str]:
    """The caption with openings that say nothing of the scene: "a picture of …" for "a photo of …"."""
    own = _OPENING.match(caption)
    rest = caption[own.end() :] if own else caption[:1].lower() + caption[1:]
    return [opening + rest for opening in OPENINGS if not own or opening.strip() != own[0].strip().lower()]


def _plain(token: Token) -> bool:
    return token.tag in KINDS and token.text.isalpha() and len(token.text) > 1


def _put(caption: str, old: str, new: str) -> str | None:
    """The caption with a word replaced; None if the word is not there just once."""
    places = list(re.finditer(rf"(?<![\w'’-]){re.escape(old)}(?![\w'’-])", caption, re.IGNORECASE))
    return put(caption, (*places[0].span(), new)).text if len(places) == 1 else None
