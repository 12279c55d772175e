"""What a study found: a typed value with a version, kept in the ledger as plain JSON.

It is the only thing about a run, beside run.yaml and the ledger's tables, that anybody else reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, PlainSerializer, ValidationError

from weakspot.core import WeakspotError

if TYPE_CHECKING:
    from weakspot.store import Run

#: Writes a named tuple as an object with its names: `rate: Annotated[Rate, ByName]`.
ByName: Final = PlainSerializer(lambda value: value._asdict(), return_type=dict)


class Value(BaseModel):
    """A part of a result."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return self.model_dump(mode="json")


class Result(Value):
    """The base of every study's result.

    Attributes:
        version: Raised when a field changes its meaning; a reader refuses what is newer than itself.
        key: The name under which the ledger keeps it.
    """

    version: ClassVar[int] = 1
    key: ClassVar[str] = "result"

    def keep(self, run: Run) -> None:
        """Write it into the run's ledger."""
        run.ledger.set_fact(self.key, {"version": self.version} | self.plain())

    @classmethod
    def of(cls, run: Run) -> Self | None:
        """The result of a run; None while there is none."""
        values = run.ledger.fact(cls.key)
        if values is None:
            return None
        version = values.pop("version", 0) if isinstance(values, dict) else 0
        if not isinstance(version, int) or version > cls.version:
            raise WeakspotError(
                f"the result in {run.folder} was written by a newer weakspot (version {version!r}; "
                f"this one reads {cls.version})",
                fix="update weakspot",
            )
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            at = ".".join(map(str, first["loc"])) or "it"
            raise WeakspotError(
                f"the result in {run.folder} cannot be read: {at}: {first['msg']}",
                fix="restore the run from a copy, or run the study again",
            ) from None
