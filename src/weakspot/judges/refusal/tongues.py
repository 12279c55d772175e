"""Which language an answer is in, and what its sentences do in the languages that are known besides
English.

A language is known by its script or by its small words. The patterns of `tongues.yaml` name the same acts
as the English ones, so everything behind them is free of language. Answers in other languages are
recognised and not judged.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

ENGLISH: Final = "en"
_ENGLISH_WORDS: Final = (
    "the a an of to and in is it you that for on with as are this be or your from by at not can have if but "
    "they we i was will do so its their them his her he she what how when which there would should could has "
    "one my me about into than then some no yes up out all just more also please here i'm it's don't can't"
)
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
#: Characters from which the language is told.
_LOOKED_AT: Final = 2_000
#: Scripts of languages that are not known, by the beginning of a letter's Unicode name.
_SCRIPTS: Final = {
    "ARABIC": "Arabic", "DEVANAGARI": "Hindi", "GREEK": "Greek", "HEBREW": "Hebrew", "THAI": "Thai",
    "BENGALI": "Bengali", "TAMIL": "Tamil", "GEORGIAN": "Georgian", "ARMENIAN": "Armenian",
}  # fmt: skip
#: Languages written without spaces, in which a word is about two characters.
UNSPACED: Final = frozenset({"zh", "ja"})


class Tongue(NamedTuple):
    """A language: its code and its name.

    The code is "" for those that are only told apart; answers in them are not judged.
    """

    code: str
    name: str

    @property
    def known(self) -> bool:
        return bool(self.code)


_ENGLISH: Final = Tongue(ENGLISH, "English")


@cache
def _data() -> tuple[Mapping[str, Any], Mapping[str, tuple[str, ...]]]:
    """The languages of the file, and by word or letter the languages that it speaks for."""
    data = yaml.safe_load(Path(__file__).with_name("tongues.yaml").read_bytes())
    others, letters = data.pop("others"), data.pop("letters")
    speaks: dict[str, list[str]] = {}
    lists = {ENGLISH: _ENGLISH_WORDS} | {
        code: entry["known"] for code, entry in data.items() if "known" in entry
    }
    for code, words in (lists | {f"?{name}": words for name, words in others.items()}).items():
        for word in set(words.split()):
            speaks.setdefault(word, []).append(code)
    for code, some in letters.items():
        for letter in some:
            speaks.setdefault(letter, []).append(code)
    return data, {word: tuple(codes) for word, codes in speaks.items()}


def tongue_of(text: str) -> Tongue:
    """The language of a text; English where nothing speaks against it."""
    head = text[:_LOOKED_AT]
    if script := _by_script(head):
        return script
    low = head.lower()
    marks = [word.replace("’", "'") for word in _WORD.findall(low)]
    if not low.isascii():
        marks += sorted({c for c in low if c > "\x7f"})
    data, speaks = _data()
    heard: dict[str, float] = {}
    for mark in marks:
        codes = speaks.get(mark, ())
        for code in codes:
            heard[code] = heard.get(code, 0.0) + 1 / len(codes)
    english = heard.pop(ENGLISH, 0.0)
    if not heard:
        return _ENGLISH
    best, weight = max(heard.items(), key=lambda entry: entry[1])
    if weight < 0.3 or weight < 1.2 * english:
        return _ENGLISH
    if best.startswith("?"):
        return Tongue("", best[1:]) if weight >= 1.5 else _ENGLISH
    return Tongue(best, data[best]["name"])


def _by_script(text: str) -> Tongue | None:
    """The language of most letters, where they are not Latin ones."""
    if text.isascii():
        return None
    kinds = Counter(kind for c in text if c > "\u02ff" and c.isalpha() and (kind := _script(c)))
    latin = sum(c.isalpha() and c <= "\u02ff" for c in text)
    if not kinds or 2 * kinds.total() < latin:
        return None
    if kinds["KANA"] and kinds["KANA"] + kinds["HAN"] > kinds.total() / 2:
        return Tongue("ja", "Japanese")
    most, _ = kinds.most_common(1)[0]
    named = {"HAN": ("zh", "Chinese"), "HANGUL": ("ko", "Korean"), "CYRILLIC": ("ru", "Russian")}
    return Tongue(*named.get(most, ("", _SCRIPTS.get(most, "an unknown script"))))


@cache
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "?").split()[0]
    if name in ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"):
        return "KANA"
    return {"CJK": "HAN", "LATIN": ""}.get(name, name)


@cache
def patterns_of(code: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The names of acts with their patterns, in a language that is known; none in English, which has its
    own.
    """
    entry = _data()[0].get(code)
    if entry is None:
        return ()
    helping = entry["help"].replace("\n", "").strip()
    return tuple(
        (name, re.compile(text.replace("{HELP}", helping)))
        for act in entry["acts"]
        for name, text in act.items()
    )
