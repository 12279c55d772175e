"""What `mine` finds beside its findings: the mined pairs, what a language model said, the further checks."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from weakspot.core import Rate
from weakspot.sources.corpus import LeftOut
from weakspot.stats.clustered import ClusteredRate
from weakspot.studies.mine.pair_rule import Rule
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
    """Above which similarity two texts are alike.

    Attributes:
        value: The similarity.
        how: "fixed" or "calibrated".
        share: Of random pairs that are below `random`.
        random: The similarity that random pairs gave.
        reworded: The similarity that captions gave which were only reworded.
    """

    value: float
    how: str
    share: float | None = None
    random: float | None = None
    reworded: float | None = None


class Mined(Value):
    """The list of pairs, the most alike first, and what it was chosen from.

    Attributes:
        texts: How many the corpus has.
        rule: What was looked for; `candidates` are those it keeps, and if `complete`, all there are.
        alike: Pairs that the tested encoder puts above the rule's threshold; None if they were not counted.
        struck: Candidates that were passed over, by the reason.
        random: Similarities of random pairs, counted in bins from -1 to 1.
        seconds: By the step.
    """

    texts: int
    left_out: Annotated[LeftOut, ByName]
    rule: Annotated[Rule, ByName]
    threshold: Threshold
    candidates: int
    complete: bool
    alike: int | None
    struck: dict[str, int]
    random: tuple[int, ...]
    seconds: dict[str, float]
    pairs: tuple[MinedPair, ...]


class Failure(Value):
    """A systematic failure in the words of a language model.

    Attributes:
        description: Specific enough to write new pairs from.
        cited: Indices of the pairs that show it, ascending.
        passes: In how many readings it was named.
    """

    name: str
    description: str
    cited: tuple[int, ...]
    passes: int


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
    """The measures of the published method.

    Attributes:
        quantity: Systematic failures that are confirmed.
        success: The share of their new pairs that is alike, and differs: the mean over failures.
        relevance: The share of new pairs that matter for the topic.
        by: Who said so.
        each: The relevance of each failure, by the id of its hypothesis.
    """

    quantity: int
    success: float | None
    relevance: Annotated[Rate, ByName] | None = None
    by: str | None = None
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
    """One kind of change.

    Attributes:
        rate: How often the picture is nearer its own caption, with an interval by clusters; ties count half.
        pairs: Captions with a foil, of so many `images`.
        elsewhere: How often other pictures are nearer the caption: what its words alone are worth.
        cosine: Mean similarity of caption and foil.
        control: How often the same pictures are nearer the same captions than those of other pictures.
        p_above: Adjusted p-value of 'not above 50 %'.
        p_blind: Adjusted p-value of 'not below the bound of blindness'.
        p_worse: Adjusted p-value of 'not below the control'; `worse` if that is settled.
        failures: Some pairs of which the foil is nearer, the widest first.
    """

    name: str
    category: str
    rate: float
    low: float
    high: float
    pairs: int
    images: int
    elsewhere: float
    cosine: float
    control: float
    p_above: float
    p_blind: float
    p_worse: float
    sight: Sight
    worse: bool
    failures: tuple[Miss, ...]


class TooFew(Value):
    """A kind of change with too few pairs to judge."""

    name: str
    pairs: int


class LeftOutFile(Value):
    """A picture that could not be used, and why."""

    file: str
    why: str


class Grounded(Value):
    """Captions and their foils, held against the pictures by one encoder; the blindest kinds first.

    Attributes:
        control: How often a picture is nearer its own caption than that of another picture.
        refused: Foils that the judge of differences refused.
        fdr: The false-discovery rate of each claim.
        level: Of the intervals.
        blind: The bound of blindness.
    """

    rows: tuple[GroundedRow, ...]
    too_few: tuple[TooFew, ...]
    control: Annotated[ClusteredRate, ByName]
    images: int
    captions: int
    refused: int
    skipped: tuple[LeftOutFile, ...]
    seed: int
    fdr: float
    level: float
    blind: float


# -- drawn ---------------------------------------------------------------------------------------------


class Choice(StrEnum):
    """Which prompt a picture shows."""

    FIRST = "prompt 1"
    SECOND = "prompt 2"
    NEITHER = "neither"
    SAME = "same"


class Drawn(Value):
    """One picture of a pair, and what the matcher chose.

    Attributes:
        item: Its id, which joins people's answers to it.
        prompt: 1 or 2: what it was drawn from.
        digest: SHA-256 of its PNG.
        first: How well it fits prompt 1; `second`, prompt 2.
    """

    item: str
    prompt: int
    seed: int
    digest: str
    choice: Choice
    first: float
    second: float

    @property
    def failed(self) -> bool | None:
        """Whether it got the wrong prompt or neither; None if both prompts fit."""
        if self.choice is Choice.SAME:
            return None
        return self.choice is not (Choice.FIRST if self.prompt == 1 else Choice.SECOND)


class PairDrawn(Value):
    """Two prompts and their pictures.

    Attributes:
        failed: A picture got the wrong prompt or 'neither'; None if none could be drawn or all fit both.
        error: Why it could not be drawn, or "".
    """

    first: str
    second: str
    pictures: tuple[Drawn, ...] = ()
    failed: bool | None = None
    error: str = ""


class Downstream(Value):
    """What a text-to-image source made of pairs.

    Attributes:
        n: Pairs with a verdict.
        rate: failures / n, with a 95 % interval; None if there are none.
        images: How often a single picture fails, clustered by pairs; None if none was judged.
        same: Pairs whose pictures all fit both prompts.
        errors: Pairs that could not be drawn.
    """

    pairs: tuple[PairDrawn, ...] = ()
    failures: int = 0
    n: int = 0
    rate: float | None = None
    low: float = 0.0
    high: float = 1.0
    images: Annotated[ClusteredRate, ByName] | None = None
    same: int = 0
    errors: int = 0


class MineResult(Result):
    """What was mined, named, written and measured, as far as the run has come.

    Attributes:
        mined: The list of pairs.
        named: The failures that a language model named.
        written: What it wrote for them, by the id of the hypothesis.
        unmeasured: Why categories were left out, by their names.
        states: How each hypothesis stood at the end of the race, by its id.
        scores: Quantity, success and relevance.
        grounded: The check with pictures.
        downstream: What was drawn of failing pairs.
        note: Why nothing was measured on new pairs; "" if that was possible.
    """

    mined: Mined | None = None
    named: Named | None = None
    written: dict[str, Written] = Field(default_factory=dict)
    unmeasured: dict[str, str] = Field(default_factory=dict)
    states: dict[str, str] = Field(default_factory=dict)
    scores: Scores | None = None
    grounded: Grounded | None = None
    downstream: Downstream | None = None
    note: str = ""
