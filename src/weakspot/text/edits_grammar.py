"""Edits that need grammar: nouns from one to many and back, verbs in the other tense.

The tagger reads captions, so what it says of running text is taken with care: a word that may be a noun or a
verb is left alone unless its place says which.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from weakspot.text.forms import plural, singular, verb_form, verb_forms
from weakspot.text.lexicon import Tag
from weakspot.text.tagging import Token, sure_adjective, tokenise

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*")
SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.!?]+(?=\s|$|[\"'”’)])|[.!?]+|\n|$)")
BE: Final = frozenset({"is", "are", "was", "were", "am", "be", "been", "being"})
HAVE: Final = frozenset({"has", "have", "had", "having"})
_MODALS: Final = "can could will would shall should must may might do does did"
MODAL: Final = frozenset(_MODALS.split())
_DENIABLE: Final = "is are was were has have had do does did could would should must might"
#: "didn't", "can't": each is an auxiliary with its denial.
DENIED: Final = {
    "can't": "can",
    "won't": "will",
    "shan't": "shall",
    **{f"{word}n't": word for word in _DENIABLE.split()},
}
_CLITICS: Final = ("'ll", "'ve", "'re", "'d", "'m")
_OTHER: Final = {
    "is": "was", "are": "were", "am": "was", "was": "is", "were": "are", "has": "had", "have": "had",
    "do": "did", "does": "did", "will": "would", "would": "will", "can": "could", "could": "can",
    "may": "might", "might": "may",
}  # fmt: skip
_MANY: Final = frozenset({"they", "we", "i", "you", "these", "those", "both", "many", "several", "few"})
_LETTING: Final = "let lets made make makes help helps helped saw see sees hear heard watch watched"
#: After these and their object a verb has no tense: "let them go".
_LETS: Final = frozenset(_LETTING.split())
_OBJECTS: Final = frozenset({"me", "him", "her", "us", "them", "himself", "herself", "themselves"})
_STUFF: Final = (
    "water snow rain money news information traffic electricity heat energy food wood milk bread music air "
    "sand salt work research equipment furniture advice weather time power evidence flour dust growth gas "
    "medicine ice success lithium chess football cheese"
)
_MASS: Final = frozenset(_STUFF.split())
_NO_NOUNS: Final = (
    "now how why whether later usual other others else twice once then still away free less again ever never "
    "always often soon today tomorrow yesterday tonight already yet instead together however perhaps maybe "
    "minus plus better home first last next"
)
#: Taken for nouns because they are in no list.
_NO_NOUN: Final = frozenset(_NO_NOUNS.split())
_NEVER_NOUNS: Final = "goes says comes takes makes gives knows becomes begins lets"
#: Never nouns, whatever the tagger says.
_VERB: Final = frozenset(_NEVER_NOUNS.split())
#: Prepositions that a clause may follow: "since records began".
_CLAUSES: Final = frozenset({"since", "after", "before", "until", "till", "like"})
_ADVERBS: Final = "not never also already just still ever always often soon then now only even really first"
_ADVERB: Final = frozenset(_ADVERBS.split())
#: Forms that are also words of their own, and in running text seldom are.
_PAST: Final = {"saw": "see", "found": "find", "fell": "fall", "left": "leave", "felt": "feel", "lay": "lie"}
#: Pasts that the lists of captions have otherwise, for there a participle is what is looked for.
_PASTS: Final = {"show": "showed", "beat": "beat", "do": "did", "go": "went", "travel": "travelled"}


class Placed(NamedTuple):
    """A word of a text, where it stands, and what it does there; no token where the tagger joins words."""

    start: int
    end: int
    word: str
    token: Token | None

    @property
    def small(self) -> str:
        """In lower case, with a plain apostrophe."""
        return self.word.lower().replace("’", "'")

    @property
    def tag(self) -> Tag | None:
        """What it does."""
        return self.token.tag if self.token else None


Row = Sequence[Placed]


def placed(text: str) -> Iterator[list[Placed]]:
    """The words of each sentence."""
    for sentence in SENTENCE.finditer(text):
        tokens = [t for t in tokenise(sentence[0]) if t.tag is not Tag.BREAK]
        said = [(part, token) for token in tokens for part in token.said.split()]
        found, at = [], 0
        for match in _WORD.finditer(sentence[0]):
            start, token = sentence.start() + match.start(), None
            ahead = [i for i in range(at, min(at + 4, len(said))) if said[i][0] == match[0].casefold()]
            if ahead:
                at, token = ahead[0] + 1, said[ahead[0]][1]
            alone = token is not None and " " not in token.said
            found.append(Placed(start, start + len(match[0]), match[0], token if alone else None))
        yield found


def like(word: str, model: str) -> str:
    """In the capitals of another word."""
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def apply(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """Replace spans that do not overlap."""
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def sample(
    changes: Sequence[tuple[int, int, str]], rng: random.Random, share: float
) -> Sequence[tuple[int, int, str]]:
    """A share of the changes, one at least."""
    if not changes:
        return changes
    return rng.sample(changes, min(max(1, round(share * len(changes))), len(changes)))


def auxiliary(word: str) -> bool:
    """Whether a word carries the tense for a verb behind it: "did", "didn't", "they've"."""
    return word in BE | HAVE | MODAL or word in DENIED or word.endswith(_CLITICS)


def adverb(word: Placed) -> bool:
    """Whether a word may stand between an auxiliary and its verb."""
    return word.small in _ADVERB or word.tag is Tag.ADV or (word.small.endswith("ly") and len(word.small) > 4)


def inverted(row: Row, *, most: int = 4) -> int:
    """The place of an auxiliary before its subject, as in "Did they leave?"; −1 if there is none."""
    for i, word in enumerate(row[:most]):
        if auxiliary(word.small) and not word.small.endswith(_CLITICS):
            asks = i == 0 or row[0].small in ("why", "how", "when", "where", "what", "who", "which")
            behind = row[i + 1].tag if i + 1 < len(row) else None
            return i if asks and behind in (Tag.PRON, Tag.DET, Tag.NUM, Tag.NOUN) else -1
        if word.tag is Tag.VERB or (word.tag is Tag.PRON and i > 0):
            return -1
    return -1


# -- number -------------------------------------------------------------------------------------------


def number(text: str, rng: random.Random, share: float) -> str:
    """Nouns: "the bridges" and "the bridge" change places. Names and stuff are left as they are."""
    changes = []
    for row in placed(text):
        for i, (start, end, word, _) in enumerate(row):
            if _noun(row, i):
                small = word.lower()
                other = singular(small)
                if other == small:
                    other = small if small in _MASS or not _counted(row, i) else plural(small)
                if other != small:
                    changes.append((start, end, like(other, word)))
    return apply(text, sample(changes, rng, share))


def _noun(row: Row, i: int) -> bool:
    """Whether a word is a noun that can change its number by itself."""
    word = row[i]
    before = row[i - 1] if i else None
    behind = row[i + 1] if i + 1 < len(row) else None
    small = word.small
    if word.tag is not Tag.NOUN or len(small) < 3 or not small.isalpha() or small in _NO_NOUN:
        return False
    if (i and word.word[:1].isupper()) or (small.endswith("ed") and len(small) > 5) or sure_adjective(small):
        return False
    touching = behind is not None and behind.start - word.end == 1
    if touching and singular(small) == small and _compound(row, i + 1):
        return False  # "a town council" has councils, not towns
    if before is None:
        return singular(small) != small
    if before.small == "to" or auxiliary(before.small) or adverb(before) or before.tag is Tag.PRON:
        return False
    if small in verb_forms():
        return before.tag in (Tag.DET, Tag.NUM, Tag.ADJ, Tag.PREP) or before.small.endswith("'s")
    if before.tag is not Tag.NOUN:
        return True
    opens = (
        touching
        and behind is not None
        and (behind.small in ("that", "as") or behind.tag in (Tag.DET, Tag.NUM, Tag.PRON, Tag.ADJ))
    )
    # "a company employs ninety", "owners fear that", "rangers hope": verbs that the tagger takes for nouns.
    return not opens and not (singular(small) == small and singular(before.small) != before.small)


def _compound(row: Row, i: int) -> bool:
    """Whether a word that follows a noun goes on with it: "shop owners", not "rangers hope"."""
    word, behind = row[i], row[i + 1] if i + 1 < len(row) else None
    if word.tag is not Tag.NOUN or word.small in _NO_NOUN | _VERB:
        return False
    if singular(word.small) != word.small:
        goes_on = behind is not None and behind.start - word.end == 1
        return word.small not in verb_forms() and not (
            goes_on and behind and behind.tag in (Tag.DET, Tag.NUM)
        )
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


# -- tense --------------------------------------------------------------------------------------------


def tense(text: str, rng: random.Random, share: float) -> str:
    """Verbs and auxiliaries: past becomes present, and present past."""
    changes = []
    for row in placed(text):
        for i, (start, end, word, _) in enumerate(row):
            other = _other_tense(row, i)
            if other and other != word.lower():
                changes.append((start, end, like(other, word)))
    return apply(text, sample(changes, rng, share))


def _other_tense(row: Row, i: int) -> str:
    """The word in the other tense; "" where it has none."""
    word = row[i].small
    if row[i].word[:1].isupper() and i > 0:
        return ""  # the month of May
    if i == 0 and word in ("do", "don't") and inverted(row) != 0:
        return ""  # "Don't go."
    if word in DENIED:
        other = _auxiliary(row, i, DENIED[word])
        return {"can": "can't", "will": "won't", "shall": "", "may": ""}.get(
            other, f"{other}n't" if other else ""
        )
    if word in _OTHER or word in ("had", "did"):
        return "" if _governed(row, i) else _auxiliary(row, i, word)
    if (row[i].tag is not Tag.VERB and word not in _VERB) or _governed(row, i):
        return ""
    base, form = base_of(word)
    past = _PASTS.get(base) or verb_form(base, "past")
    if form == "past":
        passive = i + 1 < len(row) and row[i + 1].small == "by"
        listed = base in {known for known, _ in verb_forms().values()}
        if passive or (listed and word != past and word not in _PAST):
            return ""  # a participle: "given", "bought by"
        return verb_form(base, "base" if many(row, i) else "s")
    if form == "s":
        return past
    before = row[i - 1] if i else None
    bare = before is None or before.small in _OBJECTS or (i > 1 and row[i - 2].small in _LETS)
    return past if form == "base" and not bare and many(row, i) else ""


def _auxiliary(row: Row, i: int, word: str) -> str:
    """The other tense of an auxiliary."""
    if word in ("had", "did"):
        several = many(row, i)
        return {"had": ("has", "have"), "did": ("does", "do")}[word][several]
    return _OTHER.get(word, "")


def _governed(row: Row, i: int) -> bool:
    """Whether the tense of a verb is carried by a word before it, or by none, as that of "to go"."""
    at = i - 1
    while at >= 0 and adverb(row[at]):
        at -= 1
    if at < 0:
        return False
    if auxiliary(row[at].small) or row[at].small == "to":
        return True
    if row[at].tag is Tag.CONJ:
        earlier = _verb_before(row, at)
        if earlier is None or row[at].small not in ("and", "or"):
            return False
        forms = {base_of(row[j].small)[1] for j in (earlier, i)}
        return len(forms) == 1 and _governed(row, earlier)
    asked = inverted(row)
    if 0 <= asked < i:
        between = row[asked + 1 : i]
        return not any(p.tag in (Tag.VERB, Tag.CONJ) or auxiliary(p.small) for p in between)
    return False


def _verb_before(row: Row, i: int) -> int | None:
    return next((j for j in range(i - 1, -1, -1) if row[j].tag is Tag.VERB), None)


def many(row: Row, i: int) -> bool:
    """Whether the subject of a verb is many, or speaks of itself."""
    asked = inverted(row)
    if asked == i and i + 1 < len(row):
        subject = next((p for p in row[i + 1 :] if p.tag in (Tag.NOUN, Tag.PRON)), None)
        return subject is not None and _several(subject)
    at = i - 1
    while at >= 0 and adverb(row[at]):
        at -= 1
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
        if p.tag is Tag.NOUN and p.small not in _NO_NOUN:
            start = _phrase(row, at)
            inner = start > 1 and row[start - 1].tag is Tag.PREP
            inner = inner and not (at == i - 1 and row[start - 1].small in _CLAUSES)
            if not inner or not any(q.tag is Tag.NOUN for q in row[: start - 1]):
                return _several(p)
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


def _several(word: Placed) -> bool:
    if word.tag is Tag.NOUN and word.token is not None:
        return word.token.form == "many" or word.small == "people"
    return word.small in _MANY


def base_of(verb: str) -> tuple[str, str]:
    """A verb's base and which form it is, from the lists or from its ending: "restored" is "restore"."""
    known = (_PAST[verb], "past") if verb in _PAST else verb_forms().get(verb)
    if known:
        return known
    if verb.endswith("ied") and len(verb) > 4:
        return f"{verb[:-3]}y", "past"
    if verb.endswith("ed") and len(verb) > 4:
        stem = verb[:-2]
        if re.search(r"([bdgklmnprt])\1$", stem) and not re.search(r"(ll|ss)$", stem):
            return stem[:-1], "past"
        mute = r"([bcdgpt]l|[aeiou][cgsvzu]|[^aeiou][cgvz]|[^aeious]s|[aiou][dtmkr]|[ai]n|[aeiou][pb]|u)$"
        kept = r"([aeo]i|oo|ea|ou|ee)[a-z]$|(er|ain|[^r]on|en|[^v]it|ct?or|ns?or|itor|op)$"
        ends_in_e = re.search(r"(st|pl|gn|[^c]c)or$|in$(?<!oin|ain)|plet$|[aeiou]s$", stem) or (
            re.search(mute, stem) and not re.search(kept, stem)
        )
        return (f"{stem}e" if ends_in_e else stem), "past"
    if verb.endswith("ing") and len(verb) > 5:
        return verb[:-3], "ing"
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y", "s"
    if verb.endswith("s") and not verb.endswith("ss"):
        return (verb[:-2] if re.search(r"(ss|x|zz|ch|sh|o)es$", verb) else verb[:-1]), "s"
    return verb, "base"
