"""What `hunt` decided, beside the findings in the ledger's own table."""

from __future__ import annotations

from typing import ClassVar

from weakspot.study.language_model import LlmUse
from weakspot.study.study import Result, Value


class Raced(Value):
    """How a hypothesis came out of the race: "ahead", "behind", "open", …"""

    hypothesis: str
    state: str


class Edited(Value):
    """A finding with some of its words changed, so as to see what the failure depends on.

    Both are ids of hypotheses; trials of the changed one were drawn. `kind` is what was done ("negate",
    "colour", …), `after` is "" if nothing took the place of the words before.
    """

    finding: str
    hypothesis: str
    kind: str
    before: str
    after: str


class Skipped(Value):
    """A file that could not be used, and why."""

    name: str
    reason: str


class NotFound(Value):
    """What a collection excludes, at 95 %: nothing that is true of so many photographs fails more often.

    `concepts` were looked at, on the photographs that no finding speaks of.
    """

    concepts: int
    photographs: int
    rate: float


class Meant(Value):
    """What a word stands for that an encoder saw: photographs of a finding, whatever was answered to them.

    Attributes:
        finding: The id of its hypothesis; `typical` and `edge` are indices of its trials.
        word: That they look like: `typical` ones most of all, those at the `edge` least.
        trust: Of pairs of a photograph whose caption says the word and one whose does not, the share that
            the encoder ranks rightly; None where no captions could say.
    """

    finding: str
    word: str
    typical: tuple[int, ...]
    edge: tuple[int, ...]
    trust: float | None = None


class CollectionRead(Value):
    """A folder of photographs of which each was asked about once.

    Attributes:
        photographs: With a hunted label; `sizes` has them by label.
        captioned: Those that somebody has described; `looked` were described by a captioner.
        tags: By how many words the encoder ranked the photographs; 0 where captions say what they show.
        checked: How many words captions could check; `refuted` were dropped for it.
        right: How well the median of them ranks pairs of photographs; see `Meant.trust`.
        meant: What the words of findings stand for.
        concepts: How many things could be said of photographs.
        wider: Nouns had wider ones.
        bound: What was not found; None until all is done, or where too little was asked to say.
    """

    photographs: int
    sizes: tuple[int, ...]
    captioned: int = 0
    looked: int = 0
    tags: int = 0
    checked: int = 0
    refuted: int = 0
    right: float | None = None
    meant: tuple[Meant, ...] = ()
    concepts: int = 0
    wider: bool = True
    bound: NotFound | None = None


class TriedCaption(Value):
    """A caption that was tried, and between which rates its own is; all such bounds of a run hold together.

    Attributes:
        hypothesis: The id of its text, of which trials were drawn unless `by_plain`.
        by_plain: The trials are those of the baseline whose pictures say it.
    """

    hypothesis: str
    baseline: str
    phrase: str
    failures: int
    n: int
    low: float
    high: float
    by_plain: bool


class Certified(Value):
    """What was tried and not found: none of so many captions fails above the bound, at this level.

    Attributes:
        captions: Raced or explored, or said of this share of the plain pictures; without findings and
            narrower forms of them.
        common: How many of them are sentences that a larger share of the plain pictures say, with the bound
            of these alone.
        tried: They, the highest bounds first; where there are very many, only the first of them.
        limit: What was to be certified, if anything was.
        above: The caption that is shown to fail above that limit, if one is.
    """

    captions: int
    share: float
    level: float
    bound: float
    common: int
    common_share: float
    common_bound: float
    tried: tuple[TriedCaption, ...]
    limit: float | None = None
    above: TriedCaption | None = None

    @property
    def passed(self) -> bool | None:
        """Whether what was to be certified is; None where nothing was."""
        return None if self.limit is None else self.bound <= self.limit


class HuntResult(Result):
    """The race, in the order of the proposals; edits, best finding first; files left out; what is excluded.

    Until the race is over, () stands for it. The files are of the source's folder or pictures to begin with.
    Of a collection nothing is raced; `collection` says what it holds. `llm` is what a language model did.
    """

    race: tuple[Raced, ...] = ()
    edits: tuple[Edited, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    collection: CollectionRead | None = None
    certified: Certified | None = None
    llm: LlmUse | None = None


class TriedWords(Value):
    """Words that a person brought: the ids of the text and of its baseline, and what was shown of it."""

    hypothesis: str
    baseline: str
    verdict: str


class Tries(Result):
    """What people tried on a hunt, in the order in which they began; see `weakspot try`."""

    key: ClassVar[str] = "tries"

    rows: tuple[TriedWords, ...] = ()
