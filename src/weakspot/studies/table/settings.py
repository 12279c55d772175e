"""What `table` is asked to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

from pydantic import model_validator

from weakspot.core import WeakspotError
from weakspot.core.registry import name_of
from weakspot.study.options import FdrOption, Option, ProposeOption, SeedOption, StudySettings

if TYPE_CHECKING:
    from weakspot.records import Roles

#: Columns are named by their names in the table.
_COLUMN: Final = "COLUMN"


def _is_there(text: str) -> None:
    if not takes(text):
        raise WeakspotError(
            f"{text[:200]} is not a table of results", fix="name a CSV, Parquet or JSON lines file, or a log"
        )


class TableSettings(StudySettings):
    """Find which kinds of rows an evaluation fails on, from a table of its results.

    The table is a CSV, Parquet, JSON lines or log file with a row for each input. Columns are recognised by
    their usual names; if yours have others, name them with the options below. What one half of the rows
    suggests is confirmed on the other half. The model that failed is not asked again.
    """

    target: Annotated[
        str,
        Option(
            "The table: a CSV, Parquet or JSON lines file, a log, a folder, a frame.",
            "TABLE",
            names="inputs",
            checked=_is_there,
            argument=True,
            named=name_of,
        ),
    ]
    label: Annotated[str, Option("The column with the right answers.", _COLUMN)] = ""
    prediction: Annotated[str, Option("The column with the model's answers.", _COLUMN)] = ""
    score: Annotated[str, Option("The column that says how sure the model was, from 0 to 1.", _COLUMN)] = ""
    image: Annotated[str, Option("The column with the paths of pictures.", _COLUMN)] = ""
    text: Annotated[
        tuple[str, ...], Option("A column of captions or other words; may be repeated.", _COLUMN)
    ] = ()
    group: Annotated[
        str, Option("Rows with the same value belong together, such as those of one patient.", _COLUMN)
    ] = ""
    id: Annotated[str, Option("The column that identifies the input of a row.", _COLUMN)] = ""
    relabelled: Annotated[str, Option("The column with further answers that are also right.", _COLUMN)] = ""
    failed: Annotated[
        str, Option("What counts as a failure if not a wrong answer, e.g. 'loss > 2'.", "EXPRESSION")
    ] = ""
    ignore: Annotated[tuple[str, ...], Option("A column to leave out; may be repeated.", _COLUMN)] = ()
    encoder: Annotated[
        str | None,
        Option(
            "Says what the pictures show, for rows without words, e.g. world:encoder.",
            "MODEL",
            names="model",
            port="Encoder",
        ),
    ] = None
    tags: Annotated[
        str | None,
        Option(
            "What the encoder may say: one word or phrase per line; by default a built-in list.",
            "FILE",
            names="file",
        ),
    ] = None
    llm: Annotated[
        str | None,
        Option(
            "A language model that reads rows and proposes conditions, e.g. chat:openai/…",
            "MODEL",
            names="model",
            named=name_of,
        ),
    ] = None
    propose: ProposeOption = "both"
    sentences: Annotated[int, Option("The most conditions that one finding may combine.")] = 3
    at_once: Annotated[
        int,
        Option("A table with more rows is read in pieces: a sample suggests, all other rows test.", "ROWS"),
    ] = 1_000_000
    sample: Annotated[
        int, Option("How many rows of such a table are sampled to suggest weak spots.", "ROWS")
    ] = 300_000
    seed: SeedOption = 0
    fdr: FdrOption = 0.05

    @property
    def roles(self) -> Roles:
        """The columns that were named."""
        from weakspot.records import Roles  # only now: the help of a command needs no NumPy

        return Roles(
            self.label,
            self.prediction,
            self.score,
            self.image,
            self.text,
            self.group,
            self.id,
            self.relabelled,
        )

    @model_validator(mode="after")
    def _can_be_meant(self) -> Self:
        if not 1 <= self.sentences <= 3:
            raise WeakspotError(f"{self.sentences} conditions cannot be combined", fix="choose 1, 2 or 3")
        if self.sample < 1:
            raise WeakspotError(f"{self.sample} rows cannot suggest anything", fix="choose 1 or more")
        if self.propose == "llm" and self.llm is None:
            raise WeakspotError("there is no language model that could propose", fix="name one: --llm MODEL")
        if self.tags is not None and self.encoder is None:
            raise WeakspotError("tags need an encoder", fix="name one: encoder=MODEL")
        return self


def takes(given: Any) -> bool:
    """Whether something is a table of results, or is called like one."""
    from weakspot.records.read import called_table, is_table  # only now: a command's help reads no tables

    empty = isinstance(given, list) and not given  # of which it is told that it has no rows
    return empty or is_table(given) or called_table(given)


def title(settings: TableSettings) -> str:
    """The first line on the screen."""
    return f"looking for weak spots in {settings.target}"


def subject(settings: TableSettings, _: object) -> str:
    """A word for people: the file's name without its ending."""
    return Path(settings.target).name.split(".")[0] or "table"
