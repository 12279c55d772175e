"""What `mine` finds beside its findings: the mined pairs, what a language model said, the further checks."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from weakspot.core import Rate
from weakspot.sources.corpus import LeftOut
from weakspot.stats.clustered import ClusteredRate
from weakspot.studies.mine.pair_rule import PairRule
from weakspot.study.study import ByName, Result, Value
from weakspot.text.llm_answers import Answers


class MinedPair(Value):
    """Two texts of the corpus: how alike they are to both encoders, and in what they differ."""

    first: str
    second: str
    tested: float
    reference: float
    category: str
    reason: str


class Threshold(Value):
    """Above which similarity two texts are alike."""

    value: float  # the similarity
    how: str  # "fixed" or "calibrated"
    share: float | None = None  # of random pairs that are below `random`
    random: float | None = None  # the similarity that random pairs gave
    reworded: float | None = None  # the similarity that captions gave which were only reworded


class Mined(Value):
    """The list of pairs, the most alike first, and what it was chosen from."""

    texts: int  # how many the corpus has
    left_out: Annotated[LeftOut, ByName]
    #: What was looked for; `candidates` are those it keeps, and if `complete`, all there are.
    rule: Annotated[PairRule, ByName]
    threshold: Threshold
    candidates: int
    complete: bool
    #: Pairs that the tested encoder puts above the rule's threshold; None if they were not counted.
    alike: int | None
    struck: dict[str, int]  # candidates that were passed over, by the reason
    random: tuple[int, ...]  # similarities of random pairs, counted in bins from -1 to 1
    seconds: dict[str, float]  # by the step
    pairs: tuple[MinedPair, ...]


class Failure(Value):
    """A systematic failure in the words of a language model."""

    name: str
    description: str  # specific enough to write new pairs from
    cited: tuple[int, ...]  # indices of the pairs that show it, ascending
    passes: int  # in how many readings it was named


class Named(Value):
    """The failures that a language model named, and what could not be had of it."""

    failures: tuple[Failure, ...] = ()
    answers: Answers | None = None
    note: str = ""


class Written(Value):
    """Pairs that a language model wrote for a failure; why others were dropped; how the calls went."""

    name: str
    description: str
    pairs: tuple[tuple[str, str], ...]
    dropped: dict[str, int]
    answers: Answers


class Scores(Value):
    """The measures of the published method."""

    quantity: int  # systematic failures that are confirmed
    success: float | None  # the share of their new pairs that is alike, and differs: the mean over failures
    relevance: Annotated[Rate, ByName] | None = None  # the share of new pairs that matter for the topic
    by: str | None = None  # who said so
    #: The relevance of each failure, by the id of its hypothesis.
    each: dict[str, Annotated[Rate, ByName]] = Field(default_factory=dict)


# -- held against pictures -----------------------------------------------------------------------------


class Sight(StrEnum):
    """What is known of a kind of change."""

    BLIND = "blind"
    FAINT = "faint"  # above chance, and below the bound of blindness
    ABOVE = "above chance"
    UNKNOWN = "not known"


class Miss(Value):
    """A picture that is nearer a foil than its caption, by a (negative) difference of cosines."""

    image: str
    caption: str
    foil: str
    margin: float


class GroundedRow(Value):
    """One kind of change."""

    name: str
    category: str
    #: How often the picture is nearer its own caption, with an interval by clusters; ties count half.
    rate: float
    low: float
    high: float
    pairs: int  # captions with a foil, of so many `images`
    images: int
    elsewhere: float  # how often other pictures are nearer the caption: what its words alone are worth
    cosine: float  # mean similarity of caption and foil
    control: float  # how often the same pictures are nearer the same captions than those of other pictures
    p_above: float  # adjusted p-value of 'not above 50 %'
    p_blind: float  # adjusted p-value of 'not below the bound of blindness'
    p_worse: float  # adjusted p-value of 'not below the control'; `worse` if that is settled
    sight: Sight
    worse: bool
    failures: tuple[Miss, ...]  # some pairs of which the foil is nearer, the widest first


class TooFew(Value):
    """A kind of change with too few pairs to judge."""

    name: str
    pairs: int


class LeftOutFile(Value):
    """A picture that could not be used, and why."""

    file: str
    why: str


class Grounded(Value):
    """Captions and their foils, held against the pictures by one encoder; the blindest kinds first."""

    rows: tuple[GroundedRow, ...]
    too_few: tuple[TooFew, ...]
    #: How often a picture is nearer its own caption than that of another picture.
    control: Annotated[ClusteredRate, ByName]
    images: int
    captions: int
    refused: int  # foils that the judge of differences refused
    skipped: tuple[LeftOutFile, ...]
    seed: int
    fdr: float  # the false-discovery rate of each claim
    level: float  # of the intervals
    blind: float  # the bound of blindness


# -- drawn ---------------------------------------------------------------------------------------------


class Choice(StrEnum):
    """Which prompt a picture shows."""

    FIRST = "prompt 1"
    SECOND = "prompt 2"
    NEITHER = "neither"
    SAME = "same"


class Drawn(Value):
    """One picture of a pair, and what the matcher chose."""

    item: str  # its id, which joins people's answers to it
    prompt: int  # 1 or 2: what it was drawn from
    seed: int
    digest: str  # SHA-256 of its PNG
    choice: Choice
    first: float  # how well it fits prompt 1; `second`, prompt 2
    second: float

    @property
    def failed(self) -> bool | None:
        """Whether it got the wrong prompt or neither; None if both prompts fit."""
        if self.choice is Choice.SAME:
            return None
        return self.choice is not (Choice.FIRST if self.prompt == 1 else Choice.SECOND)


class PairDrawn(Value):
    """Two prompts and their pictures."""

    first: str
    second: str
    pictures: tuple[Drawn, ...] = ()
    #: A picture got the wrong prompt or 'neither'; None if none could be drawn or all fit both.
    failed: bool | None = None
    error: str = ""  # why it could not be drawn, or ""


class Downstream(Value):
    """What a text-to-image source made of pairs."""

    pairs: tuple[PairDrawn, ...] = ()
    failures: int = 0
    n: int = 0  # pairs with a verdict
    rate: float | None = None  # failures / n, with a 95 % interval; None if there are none
    low: float = 0.0
    high: float = 1.0
    #: How often a single picture fails, clustered by pairs; None if none was judged.
    images: Annotated[ClusteredRate, ByName] | None = None
    same: int = 0  # pairs whose pictures all fit both prompts
    errors: int = 0  # pairs that could not be drawn


class MineResult(Result):
    """What was mined, named, written and measured, as far as the run has come."""

    mined: Mined | None = None  # the list of pairs
    named: Named | None = None  # the failures that a language model named
    #: By the id of the hypothesis.
    written: dict[str, Written] = Field(default_factory=dict)
    unmeasured: dict[str, str] = Field(default_factory=dict)  # why categories were left out, by their names
    #: How each hypothesis stood at the end of the race, by its id.
    states: dict[str, str] = Field(default_factory=dict)
    scores: Scores | None = None  # quantity, success and relevance
    grounded: Grounded | None = None  # the check with pictures
    downstream: Downstream | None = None  # what was drawn of failing pairs
    note: str = ""  # why nothing was measured on new pairs; "" if that was possible
