"""The grammar of running text: nouns from one to many and back, verbs in the other tense, denials.

The tagger reads captions, so what it says of running text is taken with care: a word that may be a noun or a
verb is left alone unless its place says which.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from weakspot.text import lexicon
from weakspot.text.changes import SENTENCE, Placed, Span, words_of_sentences
from weakspot.text.lexicon import Tag, words
from weakspot.text.tagging import LONG_FORMS, sure_adjective

BE: Final = frozenset({"is", "are", "was", "were", "am", "be", "been", "being"})
HAVE: Final = frozenset({"has", "have", "had", "having"})
_MODALS: Final = "can could will would shall should must may might do does did"
MODAL: Final = frozenset(_MODALS.split())
_DENIABLE: Final = "is are was were has have had do does did could would should must might"
#: "did" → "didn't", "can" → "can't": an auxiliary with its denial; and back.
DENIAL: Final = {"can": "can't", "will": "won't", "shall": "shan't"} | {
    word: f"{word}n't" for word in _DENIABLE.split()
}
DENIED: Final = {short: word for word, short in DENIAL.items()}
_CLITICS: Final = ("'ll", "'ve", "'re", "'d", "'m")
_OTHER: Final = {row[0]: row[1] for row in lexicon.lines("other tense")}
_MANY: Final = frozenset({"they", "we", "i", "you", "these", "those", "both", "many", "several", "few"})
_OBJECTS: Final = frozenset({"me", "him", "her", "us", "them", "himself", "herself", "themselves"})
#: Prepositions that a clause may follow: "since records began".
_CLAUSES: Final = frozenset({"since", "after", "before", "until", "till", "like"})
#: Pasts that the lists of captions have otherwise, for there a participle is what is looked for.
_PASTS: Final = {"show": "showed", "beat": "beat", "do": "did", "go": "went", "travel": "travelled"}

Row = Sequence[Placed]


def like(word: str, model: str) -> str:
    return word.upper() if model.isupper() and len(model) > 1 else lexicon.capital(word, model)


def auxiliary(word: str) -> bool:
    """Whether a word carries the tense for a verb behind it: "did", "didn't", "they've"."""
    return word in BE | HAVE | MODAL or word in DENIED or word.endswith(_CLITICS)


def adverb(word: Placed) -> bool:
    """Whether a word may stand between an auxiliary and its verb."""
    listed = word.small in words("between") or word.tag is Tag.ADV
    return listed or (word.small.endswith("ly") and len(word.small) > 4)


def inverted(row: Row) -> int:
    """The place of an auxiliary before its subject, as in "Did they leave?"; −1 if there is none."""
    for i, word in enumerate(row[:4]):
        if auxiliary(word.small) and not word.small.endswith(_CLITICS):
            asks = i == 0 or row[0].small in ("why", "how", "when", "where", "what", "who", "which")
            behind = row[i + 1].tag if i + 1 < len(row) else None
            return i if asks and behind in (Tag.PRON, Tag.DET, Tag.NUM, Tag.NOUN) else -1
        if word.tag is Tag.VERB or (word.tag is Tag.PRON and i > 0):
            return -1
    return -1


def numbers(text: str) -> Iterator[Span]:
    """Nouns: "the bridges" and "the bridge" change places. Names and stuff are left as they are."""
    for row in words_of_sentences(text):
        for i, (start, end, word, _) in enumerate(row):
            if _noun(row, i):
                small = word.lower()
                other = lexicon.singular(small)
                if other == small and small not in words("not counted") and _counted(row, i):
                    other = lexicon.plural(small)
                if other != small:
                    yield start, end, like(other, word)


def _noun(row: Row, i: int) -> bool:
    """Whether a word is a noun that can change its number by itself."""
    word = row[i]
    before = row[i - 1] if i else None
    behind = row[i + 1] if i + 1 < len(row) else None
    small = word.small
    if word.tag is not Tag.NOUN or len(small) < 3 or not small.isalpha() or small in words("no noun"):
        return False
    if (i and word.word[:1].isupper()) or (small.endswith("ed") and len(small) > 5) or sure_adjective(small):
        return False
    touching = behind is not None and behind.start - word.end == 1
    if touching and lexicon.singular(small) == small and _compound(row, i + 1):
        return False  # "a town council" has councils, not towns
    if before is None:
        return lexicon.singular(small) != small
    if before.small == "to" or auxiliary(before.small) or adverb(before) or before.tag is Tag.PRON:
        return False
    if small in lexicon.verb_forms():
        return before.tag in (Tag.DET, Tag.NUM, Tag.ADJ, Tag.PREP) or before.small.endswith("'s")
    if before.tag is not Tag.NOUN:
        return True
    opens = behind is not None and (
        behind.small in ("that", "as") or behind.tag in (Tag.DET, Tag.NUM, Tag.PRON, Tag.ADJ)
    )
    # "a company employs ninety", "owners fear that", "rangers hope": verbs that the tagger takes for nouns.
    return not (touching and opens) and not (
        lexicon.singular(small) == small and lexicon.singular(before.small) != before.small
    )


def _compound(row: Row, i: int) -> bool:
    """Whether a word that follows a noun goes on with it: "shop owners", not "rangers hope"."""
    word, behind = row[i], row[i + 1] if i + 1 < len(row) else None
    if word.tag is not Tag.NOUN or word.small in words("no noun") | words("surely verb"):
        return False
    if lexicon.singular(word.small) != word.small:
        goes_on = behind is not None and behind.start - word.end == 1 and behind.tag in (Tag.DET, Tag.NUM)
        return word.small not in lexicon.verb_forms() and not goes_on
    return behind is None or (behind.small != "that" and behind.tag is not Tag.PRON)


def _counted(row: Row, i: int) -> bool:
    """Whether one of something is spoken of: "the bridge", "a small library"; not "in spring", "on foot"."""
    for p in reversed(row[:i]):
        if p.small in ("much", "little", "less", "enough", "more", "most"):
            return False
        if p.tag in (Tag.DET, Tag.NUM) or p.small.endswith("'s"):
            return True
        if p.tag not in (Tag.ADJ, Tag.NOUN) and not adverb(p):
            return False
    return False


def tenses(text: str) -> Iterator[Span]:
    """Verbs and auxiliaries: past becomes present, and present past."""
    for row in words_of_sentences(text):
        for i, (start, end, word, _) in enumerate(row):
            other = _other_tense(row, i)
            if other and other != word.lower():
                yield start, end, like(other, word)


def _other_tense(row: Row, i: int) -> str:
    """The word in the other tense; "" where it has none."""
    word = row[i].small
    if row[i].word[:1].isupper() and i > 0:
        return ""  # the month of May
    if i == 0 and word in ("do", "don't") and inverted(row) != 0:
        return ""  # "Don't go."
    if word in DENIED:
        return DENIAL.get(_auxiliary(row, i, DENIED[word]), "")
    if word in _OTHER or word in ("had", "did"):
        return "" if _governed(row, i) else _auxiliary(row, i, word)
    if (row[i].tag is not Tag.VERB and word not in words("surely verb")) or _governed(row, i):
        return ""
    base, form = lexicon.base_of(word)
    past = _PASTS.get(base) or lexicon.verb_form(base, "past")
    if form == "past":
        passive = i + 1 < len(row) and row[i + 1].small == "by"
        listed = base in {known for known, _ in lexicon.verb_forms().values()}
        if passive or (listed and word != past and word not in lexicon.PASTS):
            return ""  # a participle: "given", "bought by"
        return lexicon.verb_form(base, "base" if many(row, i) else "s")
    if form == "s":
        return past
    before = row[i - 1] if i else None
    bare = before is None or before.small in _OBJECTS or (i > 1 and row[i - 2].small in words("letting"))
    return past if form == "base" and not bare and many(row, i) else ""


def _auxiliary(row: Row, i: int, word: str) -> str:
    if word in ("had", "did"):
        return {"had": ("has", "have"), "did": ("does", "do")}[word][many(row, i)]
    return _OTHER.get(word, "")


def _governed(row: Row, i: int) -> bool:
    """Whether the tense of a verb is carried by a word before it, or by none, as that of "to go"."""
    at = _before_adverbs(row, i)
    if at < 0:
        return False
    if auxiliary(row[at].small) or row[at].small == "to":
        return True
    if row[at].tag is Tag.CONJ:
        earlier = next((j for j in range(at - 1, -1, -1) if row[j].tag is Tag.VERB), None)
        if earlier is None or row[at].small not in ("and", "or"):
            return False
        alike = {lexicon.base_of(row[j].small)[1] for j in (earlier, i)}
        return len(alike) == 1 and _governed(row, earlier)
    asked = inverted(row)
    if 0 <= asked < i:
        between = row[asked + 1 : i]
        return not any(p.tag in (Tag.VERB, Tag.CONJ) or auxiliary(p.small) for p in between)
    return False


def _before_adverbs(row: Row, i: int) -> int:
    """The place of the word before this one, adverbs passed over; −1 if there is none."""
    return next((at for at in range(i - 1, -1, -1) if not adverb(row[at])), -1)


def many(row: Row, i: int) -> bool:
    """Whether the subject of a verb is many, or speaks of itself."""
    asked = inverted(row)
    if asked == i and i + 1 < len(row):
        subject = next((p for p in row[i + 1 :] if p.tag in (Tag.NOUN, Tag.PRON)), None)
        return subject is not None and _is_many(subject)
    at = _before_adverbs(row, i)
    if at > 0 and row[at].tag is Tag.CONJ and row[at].small in ("and", "or", "but"):
        verbs = [j for j in range(at) if row[j].tag is Tag.VERB or auxiliary(row[j].small)]
        if verbs:
            return many(row, verbs[-1])  # "they came and went"
    while at >= 0:
        p = row[at]
        if p.small in _MANY:
            return True
        if p.tag is Tag.PRON and p.small not in ("which", "who", "that"):
            return False
        if p.tag is Tag.NOUN and p.small not in words("no noun"):
            start = _phrase(row, at)
            inner = start > 1 and row[start - 1].tag is Tag.PREP
            inner = inner and not (at == i - 1 and row[start - 1].small in _CLAUSES)
            if not inner or not any(q.tag is Tag.NOUN for q in row[: start - 1]):
                return _is_many(p)
            at = start - 1
        at -= 1
    return False


def _phrase(row: Row, i: int) -> int:
    """Where the noun phrase begins that a noun ends."""
    while i > 0 and row[i - 1].tag in (Tag.ADJ, Tag.DET, Tag.NUM, Tag.NOUN):
        i -= 1
        if row[i].tag is Tag.DET:
            break
    return i


def _is_many(word: Placed) -> bool:
    if word.tag is Tag.NOUN:
        return word.token.form == "many" or word.small == "people"
    return word.small in _MANY


# -- denials -------------------------------------------------------------------------------------------

_HELPS: Final = r"is|are|was|were|am|can|could|will|would|should|must|may|might"

_WHERE: Final = (
    r"on|in|behind|under|near|at|by|inside|outside|above|below|beside|between|against|next to|in front of"
)
_Put = str | Callable[[re.Match[str]], str]


def negated(sentence: str) -> str:
    """The opposite of one short sentence of a caption; "" where no rule applies. Most words are kept."""
    text = " ".join(sentence.split())
    for short, full in LONG_FORMS:
        text = re.sub(short, full, text, flags=re.IGNORECASE)
    for pattern, put in _RULES:
        other, n = pattern.subn(put, text, count=1)
        if n:
            other = " ".join(other.split())
            return other if other.lower() != sentence.lower() else ""
    return ""


def _a(noun: str) -> str:
    first = noun.split()[0].strip(".,;!?").lower()
    last = re.split(r"[\s.,;!?]", noun.strip(".,;!? "))[-1].lower()
    if first in ("a", "an", "the") or {first, last} & words("no article"):
        return noun
    return f"{lexicon.article(first)} {noun}"


def _rule(pattern: str, put: _Put) -> tuple[re.Pattern[str], _Put]:
    return re.compile(pattern, re.IGNORECASE), put


#: The first that applies is used. Denials come first: what denies is asserted, not denied twice.
_RULES: Final[tuple[tuple[re.Pattern[str], _Put], ...]] = (
    _rule(r"\bdoes not ([a-z]+)", lambda m: lexicon.third(m[1])),
    _rule(r"\b(?:do|did) not ([a-z]+)", r"\1"),
    _rule(r"\bthere is no(?:t any)? ((?!one\b).+)$", lambda m: f"there is {_a(m[1])}"),
    _rule(r"\bthere are no(?:t any)? ((?!one\b).+)$", r"there are \1"),
    _rule(r"\bhas no (.+)$", lambda m: f"has {_a(m[1])}"),
    _rule(r"\bwithout\b", "with"),
    _rule(r"\bwith no (.+)$", lambda m: f"with {_a(m[1])}"),
    _rule(r"\bnot\s+", ""),
    _rule(r"\bnothing\b", "something"),
    _rule(r"\b(?:nobody|no one)\b", "someone"),
    _rule(r"\bsomething\b", "nothing"),
    _rule(r"\b(?:somebody|someone)\b", "nobody"),
    _rule(r"\bthere (is|are) ((?:one|two|three|four|five|six|\d+)\b)", r"there \1 not \2"),
    _rule(r"\bthere (is|are) (?:(?:an?|the|some)\s+)?", r"there \1 no "),
    _rule(r"\bhas (?:an? |some )", "has no "),
    _rule(rf"\b({_HELPS})\s+", r"\1 not "),
    _rule(r"^(it|he|she|this|that) ([a-z]+[^s\W]e?s)\b", lambda m: f"{m[1]} does not {lexicon.bare(m[2])}"),
    _rule(r"^(they|these|those) ([a-z]+)\b", r"\1 do not \2"),
    _rule(r"\bwith\b", "without"),
    _rule(rf"\b({_WHERE})\s+", r"not \1 "),
)


def denials(text: str) -> Iterator[Span]:
    """The sentences of a text that have an opposite, with it: "it is open" and "it is not open"."""
    for sentence in SENTENCE.finditer(text):
        other = denied(sentence[0])
        if other != sentence[0]:
            yield *sentence.span(), other


def denied(sentence: str) -> str:
    """The opposite of one sentence; the sentence itself where no rule fits."""
    row = next(words_of_sentences(sentence), [])
    asked = inverted(row)
    if asked >= 0 and row[asked].small in DENIAL:
        start, end, word, _ = row[asked]
        return sentence[:start] + like(DENIAL[row[asked].small], word) + sentence[end:]
    for pattern, new in (
        (r"\b(ca|wo|sha|does|do|did|is|are|was|were|has|have|had|would|could|should|must)n['’]t\b", _unsaid),
        (r"\bcannot\b", "can"),
        (r"\bnever\s+", ""),
        (rf"\b({_HELPS}|has|have|had|do|does|did)\s+not\b", r"\1"),
        (rf"\b({_HELPS})\b", r"\1 not"),
    ):
        other, n = re.subn(pattern, new, sentence, count=1, flags=re.IGNORECASE)
        if n:
            return other[:1].upper() + other[1:] if sentence[:1].isupper() else other
    for i, (start, end, word, token) in enumerate(row):
        small = row[i].small
        if token.tag is Tag.BREAK or (i and (row[i - 1].small == "to" or auxiliary(row[i - 1].small))):
            continue
        if small in HAVE and _participle(row, i):
            return sentence[:end] + " not" + sentence[end:]
        if token.form == "ing" or small in BE | MODAL or (token.tag is not Tag.VERB and small not in HAVE):
            continue
        base, form = lexicon.base_of(small)
        if form in ("past", "s") or (form == "base" and i and many(row, i)):
            helper = {"past": "did", "s": "does", "base": "do"}[form]
            return f"{sentence[:start]}{like(helper, word)} not {base}{sentence[end:]}"
    return sentence


def _participle(row: Row, i: int) -> bool:
    """Whether a participle follows "have", with adverbs between or without."""
    for word in row[i + 1 :]:
        if not adverb(word):
            form = lexicon.base_of(word.small)[1] if word.tag is Tag.VERB else ""
            return word.small == "been" or form in ("past", "base")
    return False


def _unsaid(match: re.Match[str]) -> str:
    """From "can't" to "can", from "won't" to "will"."""
    full = DENIED.get(f"{match[1].lower()}n't", match[1])
    return like(full, match[1])
