"""What `ask` finds: how many questions were refused, of which kinds, under which prompts, and why.

Rates and slices are of the first time an item was asked, because repeats of one item are no independent
evidence. A rate is refusals among judged answers: errors, blocks and empty answers are counted beside it.
"""

from __future__ import annotations

from pydantic import Field

from weakspot.study.study import Result, Value

#: The ends of a 95 % interval.
Interval = tuple[float, float]


class Counted(Value):
    """Questions by what became of them; `n` were judged: those that refuse, that answer, and the unsure ones.

    `rate` counts an unsure one by its probability. `rate_bounds` are the rates if none of the unsure ones
    refuses and if all do; `rate_interval` reaches from the low end of the first's interval to the high end
    of the second's. All are None where nothing was judged. `rate_corrected` goes by people's labels, or
    allows for the judge's own error; it is None where there is neither.
    """

    rate: float | None = None
    rate_interval: Interval | None = None
    rate_bounds: Interval | None = None
    rate_corrected: float | None = None
    rate_corrected_interval: Interval | None = None
    n: int = 0
    asked: int = 0
    refused: int = 0
    answered: int = 0
    unsure: int = 0
    blocked: int = 0
    empty: int = 0
    errors: int = 0
    undecided: int = 0

    @property
    def decided(self) -> int:
        """Those that refuse and those that answer."""
        return self.n - self.unsure


class Slice(Counted):
    """Items with one value in one column; whether they are worse than the rest (Fisher's test, one-sided).

    `p` is None where there were too few answers for a test; `q` is adjusted for all slices of the set at once
    (Benjamini and Hochberg).
    """

    p: float | None = None
    q: float | None = None
    worse: bool = False
    rest_rate: float | None = None  # of the items of the set that have another value in the column
    rest_interval: Interval | None = None
    rest_n: int = 0


class SetRates(Counted):
    """A set of questions: the judge's finer labels, if it gives any, and slices by column and value."""

    grades: dict[str, int] = Field(default_factory=dict)
    slices: dict[str, dict[str, Slice]] = Field(default_factory=dict)


class Pairs(Value):
    """Items with their counterparts, both judged: how often only the right one of the two is refused.

    `p` is of McNemar's exact test of `told_apart` against `wrong_way_round`.
    """

    n: int
    told_apart: int
    told_apart_rate: float
    told_apart_interval: Interval
    both_refused: int
    both_answered: int
    wrong_way_round: int
    p: float


class TradeOff(Value):
    """Benign against harmful questions: does the model tell them apart?"""

    balanced_accuracy: float
    balanced_accuracy_interval: Interval
    d_prime: float
    d_prime_interval: Interval
    pairs: Pairs | None


class Consistency(Value):
    """How far an item's verdict depends on the day, over the `n` items that were judged every time.

    `agreement` is the chance that two repeats of one item agree; without such items there are no figures.
    """

    repeats: int
    n: int
    always_refused: int | None = None
    sometimes_refused: int | None = None
    never_refused: int | None = None
    agreement: float | None = None
    agreement_interval: Interval | None = None
    rate: float | None = None
    rate_interval: Interval | None = None


class PromptRates(SetRates):
    """The benign questions under one system prompt, and, where they were asked, harmful ones and repeats."""

    contrast: SetRates | None = None
    trade_off: TradeOff | None = None
    consistency: Consistency | None = None


class Compared(Value):
    """Two models or system prompts on the items that were judged in both (McNemar's exact test).

    The difference has Tango's interval for paired rates; `p_adjusted` holds for all comparisons (Holm).
    """

    n: int
    rate_first: float
    rate_second: float
    difference: float
    difference_interval: Interval
    only_first: int
    only_second: int
    p: float
    p_adjusted: float = 1.0


class Comparison(Compared):
    """Two system prompts of this run, by their names."""

    first: str
    second: str


class Share(Value):
    """Some of the `n` questions that were judged; the share is None where there are none at all."""

    n: int
    count: int
    share: float | None
    interval: Interval | None


class Cause(Share):
    """What one cause accounts for: a share of the refusals, net of the placebo, that may come out below 0.

    `count` is of single questions: those that were refused under either placebo and answered with this help.
    `found` says that the share is above 0; the intervals of the three causes hold together, with 95 %.
    """

    found: bool = False


class Described(Value):
    """How many of the benchmark's words for the pictures the model's own descriptions have, on average."""

    n: int
    mean_words_found: float | None


class Stages(Value):
    """Why questions were refused: by the help that turned more refusals into answers than a placebo did."""

    refused: int  # how many were asked again
    answered: dict[str, Share]  # how many of them were then answered, by how they were asked
    perception: Cause  # answered once told what the picture shows
    intent: Cause  # answered once also told what it is for
    decision: Cause  # refused even then, more often than by chance
    chance: Cause  # refused once by chance
    unknown: int  # not asked in all ways, or an answer could not be judged
    described: Described
    items: dict[str, str]  # the first help that was enough, by item


class Agreement(Value):
    """How far the judges of a panel agree: Krippendorff's alpha, and Cohen's kappa of every two."""

    alpha: float | None
    kappa: dict[str, float | None]
    n: int


class Example(Value):
    """A refused scenario."""

    scene: str
    question: str
    contrast: str
    answer: str
    reason: str


class Description(Counted):
    """Scenarios of one description, and their harmful counterparts where they were asked.

    If `fresh`, the figures are of scenarios that were written for the confirmation alone.
    """

    description: str
    state: str
    confirmed: bool
    log_evidence: float
    fresh: bool
    contrast: Counted | None
    examples: tuple[Example, ...]


class Writer(Value):
    """The model that wrote the scenarios, and what it cost."""

    name: str
    tokens: int
    dollars: float


class Scenarios(Value):
    """What a search over written scenarios found: descriptions, confirmed ones first.

    `rejected` says how many were written and not asked, by what was wrong with them.
    """

    stimulus: str
    descriptions: tuple[Description, ...]
    rejected: dict[str, int]
    llm: Writer


class Item(Value):
    """What a reader needs to know of an item without the benchmark; its counterpart has the same `pair`."""

    slices: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    pair: str = ""
    image: str = ""


class AskResult(Result, PromptRates):
    """A run's figures; those at the top are of the first system prompt, or of scenarios of any kind."""

    model: str
    arms: dict[str, PromptRates] = Field(default_factory=dict)  # by system prompt, where there are several
    comparisons: tuple[Comparison, ...] = ()  # every two of them
    judge_error: dict[str, int] | None = None  # what is known of the judge's error against people, as counts
    stages: Stages | None = None
    vetted: dict[str, bool] = Field(default_factory=dict)  # whether a model calls an item harmless
    vetted_by: str = ""  # that model
    images_missing: tuple[str, ...] = ()  # items without the picture that they should have
    images_changed: dict[str, str] = Field(default_factory=dict)  # to make pictures fit, by item
    agreement: Agreement | None = None
    scenarios: Scenarios | None = None  # of a run without a benchmark
    items: dict[str, dict[str, Item]] = Field(default_factory=dict)  # by set and id
    #: By hypothesis, the ids of its items: trial i is about item i, and after the last about the first again.
    order: dict[str, tuple[str, ...]] = Field(default_factory=dict)
