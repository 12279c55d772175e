"""What `repair` did and proved."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, SerializerFunctionWrapHandler, model_serializer

from weakspot.study.study import Result, Value

Verdict = Literal["repaired", "reduced", "traded", "not reduced", "worse"]
#: Error rate of the tests.
ALPHA: Final = 0.05


class _Open(Value, extra="allow"):
    """Written with what it was given: studies whose models are repaired tell facts of their own.

    What follows from the fields is written beside them.
    """

    derived: ClassVar[tuple[str, ...]] = ()

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        given = {name: value for name, value in write(self).items() if name in self.model_fields_set}
        return given | {name: getattr(self, name) for name in self.derived}


class Change(_Open, extra="ignore"):
    """Failures before and after on the same n cases: `removed` failed only before, `made` only after.

    The interval (95 %) is for the difference of the rates, after minus before, and p is McNemar's of "no
    change", adjusted where several are tested together. The wanted rate is 0, or the share of an attribute
    that is to be shown now and then. The number is that of the mode or finding.
    """

    derived = "difference", "reduced", "increased", "halved"

    words: str
    n: int
    before: int
    after: int
    removed: int
    made: int
    low: float
    high: float
    p: float
    wanted: float = 0.0
    number: int = 0

    @property
    def difference(self) -> float:
        return (self.after - self.before) / self.n if self.n else 0.0

    @property
    def reduced(self) -> bool:
        """Fewer failures (or a share that is nearer to the wanted one), beyond chance."""
        return self._moved and self._far(self.after) < self._far(self.before)

    @property
    def increased(self) -> bool:
        """More failures (or a share that is farther from the wanted one), beyond chance."""
        return self._moved and self._far(self.after) > self._far(self.before)

    @property
    def halved(self) -> bool:
        """At most half as many failures as before, or half as far from the wanted share."""
        return 2 * self._far(self.after) <= self._far(self.before) and self._far(self.before) > 0

    @property
    def _moved(self) -> bool:
        return self.p <= ALPHA and not self.low <= 0 <= self.high

    def _far(self, failures: int) -> float:
        return abs(failures - self.wanted * self.n)


class BlendRates(BaseModel, frozen=True):
    """See `weakspot.tuning.rounds.Blend`."""

    way: float
    plain: float
    transformed: float | None
    apart: tuple[float, ...]


class Training(_Open):
    """How a training went; see `weakspot.tuning.train.Trained`.

    It learnt from so many `pictures`, or whatever `kind` of things. A `round` is what the word says, where it
    is none of all of them, and `watched` says what the two rates of a row of the curve are of.
    """

    curve: tuple[dict[str, int | float], ...]
    best: int
    epochs: int
    parameters: int
    layer: str
    pictures: int
    seconds: float
    kind: str = "pictures"
    round: str = ""
    watched: tuple[str, str] = ("transformed", "as they are")
    way: float = 1.0
    guard: tuple[BlendRates, ...] = ()
    guards: int = 0


class DataSet(_Open):
    """What was written for a trainer of one's own: so many pictures, or whatever `kind` of things."""

    folder: str
    pictures: int
    kind: str = "pictures"


class Shown(_Open):
    """An input whose verdict changed: a text, or a kept picture; a generator draws another one `now`."""

    words: str
    made: bool
    expected: str
    before: str | None
    after: str | None
    text: str = ""
    blob: str = ""
    now: str = ""


class Shares(Value):
    """How often each value of an attribute was seen, and the total variation from the wanted shares."""

    counts: tuple[int, ...]
    apart: float
    low: float
    high: float


class Bias(Value):
    """The values of an attribute in a generator's pictures of the repaired modes."""

    attribute: tuple[str, ...]
    wanted: tuple[float, ...]
    before: Shares
    after: Shares


class AxisValues(Value):
    name: str
    values: tuple[str, ...]


class Peak(Value):
    """A mode of the landscape: the rate of its worst cell, and its number of cells."""

    words: str
    rate: float
    cells: int


class Landscape(Value):
    """Two landscapes that were measured with the same draws; see `weakspot.studies.repair.proof.Moved`.

    Regions that fail at least at the rate `above` are modes. The rates of all cells, `before` and `after`,
    are kept where there are not too many.
    """

    axes: tuple[AxisValues, ...]
    n: int
    rate_before: float
    rate_after: float
    removed: int
    made: int
    distance: float
    exact: bool
    p: float | None
    unplaced: float
    above: float
    modes_before: tuple[Peak, ...]
    modes_after: tuple[Peak, ...]
    before: tuple[float, ...] | None
    after: tuple[float, ...] | None


class Proof(_Open):
    """What moved: the repaired modes, the others, the inputs as they are, the landscape, inputs to look at.

    `errors` are cases that are no pairs, as where a transformation leaves nothing of a picture.
    """

    verdict: Verdict
    chosen: tuple[Change, ...]
    others: tuple[Change, ...]
    clean: Change
    elsewhere: Change | None = None
    new: tuple[Change, ...] = ()
    landscape: Landscape | None
    errors: int = 0
    shown: tuple[Shown, ...] = ()
    bias: Bias | None = None

    @property
    def more(self) -> list[Change]:
        """What the landscape says beside the modes: the rest of it, and places that look like new modes."""
        return [*([self.elsewhere] if self.elsewhere else []), *self.new]


class RepairResult(Result):
    """A repaired model and its proof, or the data set for a trainer of one's own.

    The model's name is "" if it is no target; `target` is the name of the model as it was.
    """

    method: str
    parts: dict[str, int]
    chosen: tuple[str, ...] = ()
    training: Training | None = None
    proof: Proof | None = None
    data: DataSet | None = None
    model: str = ""
    target: str = ""

    @property
    def known(self) -> dict[str, Any] | None:
        """The result as `--json` has it; None while there is none."""
        plain = self.plain()
        if self.data is not None:
            return {"verdict": ""} | {name: plain[name] for name in ("method", "data", "chosen")}
        if self.proof is None:
            return None
        return self.proof.plain() | {name: plain[name] for name in ("method", "training", "model", "target")}
