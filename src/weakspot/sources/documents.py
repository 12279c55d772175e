"""Texts with a summary that people wrote of each: what a summariser is measured by.

- a `.jsonl` file: one object per line with `text` and `summary`, and `name` if wanted. The fields of common
  sets are known too (article, document, dialogue; highlights, reference, abstract);
- a folder of texts `NAME.txt`, each with its summary beside it, `NAME.summary.txt`;
- "" or `own`: twenty short texts that come with weakspot.

As cases they are edited as a cell of a concept space says. An axis `edit` names the edit; an axis `amount`,
if there is one, the share of what the edit can change. An edit can be drawn again at other places of the
text, so a cell's draws go through the texts of a part in rounds, until rates can be told apart.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace, Region
from weakspot.core import Case, Hypothesis, Stage, WeakspotError, case_seed, disk_errors
from weakspot.core.errors import explained
from weakspot.models.vectors import Ngrams
from weakspot.sources.cells import CellSource, cell_of
from weakspot.sources.transform import Destroyed
from weakspot.text.text_edits import EDITS, edit

OWN: Final = Path(__file__).with_name("documents.jsonl")
TEXTS: Final = ("text", "article", "document", "dialogue", "source")
SUMMARIES: Final = ("summary", "highlights", "reference", "abstract", "target")
#: Longer texts and larger files are refused, in characters and bytes.
LONGEST, LARGEST = 200_000, 1 << 30
#: More texts than these are not read.
MOST: Final = 200_000


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts in a fixed order; equal ones have equal digests."""

    names: tuple[str, ...]
    texts: tuple[str, ...]
    summaries: tuple[str, ...]
    digests: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def digest(self) -> str:
        rows = (f"{n}\0{d}\0{s}\n" for n, d, s in zip(self.names, self.digests, self.summaries, strict=True))
        return hashlib.sha256("".join(rows).encode()).hexdigest()


def documents(where: str = "") -> Documents:
    path = OWN if where in ("", "own") else Path(where)
    fix = "name a .jsonl file, or a folder of NAME.txt and NAME.summary.txt"
    with disk_errors(f"the texts in {str(path)[:200]!r} cannot be read", fix):
        rows = _folder(path) if path.is_dir() else _lines(path)
    if not rows:
        raise WeakspotError(f"there are no texts in {str(path)[:200]!r}", fix=fix)
    names, texts, summaries = zip(*rows, strict=True)
    if len(set(names)) < len(names):
        raise WeakspotError(f"two texts in {path} have the same name", fix="give each its own")
    digests = tuple(hashlib.sha256(text.encode()).hexdigest() for text in texts)
    return Documents(names, texts, summaries, digests)


def _lines(path: Path) -> list[tuple[str, str, str]]:
    if path.stat().st_size > LARGEST:
        raise WeakspotError(f"{path} is larger than {LARGEST >> 30} GiB", fix="give a part of it")
    rows: list[tuple[str, str, str]] = []
    what, fix = f"{path} is not lines of JSON in UTF-8", 'write one {"text": …, "summary": …} per line'
    with (
        path.open(encoding="utf-8", errors="strict") as file,
        explained(what, ValueError, RecursionError, fix=fix, why=lambda error: str(error)[:200]),
    ):
        for number, line in enumerate(file, start=1):
            if not line.strip() or len(rows) >= MOST:
                continue
            data, where = json.loads(line), f"line {number} of {path}"
            if not isinstance(data, Mapping):
                raise WeakspotError(f"{where} is not a JSON object", fix='write {"text": …, "summary": …}')
            text = next((data[key] for key in TEXTS if key in data), None)
            summary = next((data[key] for key in SUMMARIES if key in data), None)
            name = str(data.get("name", data.get("id", str(number))))
            rows.append(_checked(name[:200], text, summary, where))
    return rows


def _folder(path: Path) -> list[tuple[str, str, str]]:
    rows = []
    for file in sorted(path.glob("*.txt"))[: 2 * MOST]:
        if file.name.endswith(".summary.txt"):
            continue
        beside = file.with_name(f"{file.name.removesuffix('.txt')}.summary.txt")
        if not beside.is_file():
            raise WeakspotError(f"{file} has no summary", fix=f"write one into {beside.name}")
        try:
            both = file.read_text("utf-8"), beside.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise WeakspotError(f"{file} or its summary is not UTF-8", fix="save both as UTF-8") from error
        rows.append(_checked(file.stem, *both, str(file)))
    return rows


def _checked(name: str, text: object, summary: object, where: str) -> tuple[str, str, str]:
    for what, value in (("text", text), ("summary", summary)):
        if not isinstance(value, str) or not value.strip():
            raise WeakspotError(f"{where} has no {what}", fix="give every text and its summary")
        if len(value) > LONGEST:
            raise WeakspotError(f"the {what} in {where} is too long", fix=f"keep to {LONGEST:,} characters")
    clean = [str(value).encode("utf-8", "backslashreplace").decode() for value in (name, text, summary)]
    return clean[0], clean[1], clean[2]


#: Draws that a cell can have at least: fewer texts than this are shown in several rounds.
DRAWS: Final = 400
AXES: Final = ("edit", "amount")
#: Numbers of the vector that a policy sees of a text.
SEEN: Final = 64


class EditedTexts(CellSource):
    """Draws texts of a part, edited by the hypothesis' concepts; see `CellSource`.

    The axes of the space are `edit` and, if wanted, `amount`.
    """

    sees = "a vector of the text"

    def __init__(
        self, documents: Documents, *, space: ConceptSpace, parts: Mapping[Stage, Sequence[int]]
    ) -> None:
        super().__init__(space, parts)
        self.documents = documents
        self._encoder = Ngrams(size=SEEN)
        check(space)

    def rounds(self, stage: Stage) -> int:
        """How often each text of a stage's part can be shown in a cell."""
        return max(1, math.ceil(DRAWS / len(self.parts[stage])))

    def none_left(self, count: int) -> WeakspotError:
        return WeakspotError("a cell has no more draws of these texts", fix="give more texts")

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The caption says which text it is."""
        region, cases = self.space.read(hypothesis), []
        for index in indices:
            own, number = case_seed(seed, hypothesis, index), self.number_of(hypothesis, index, seed=seed)
            text = self.documents.texts[number]
            if region is not None:
                text = self.edited(text, region, own)
            caption = f"text {self.documents.names[number]}"
            cases.append(Case(hypothesis, index, own, text, self.documents.summaries[number], caption))
        return cases

    def edited(self, text: str, region: Region, own: int) -> str:
        given = self.space.assignment(cell_of(self.space, region, own))
        share = float(given["amount"]) if "amount" in given else None
        after = edit(text, given["edit"], seed=own, share=share)
        if not any(c.isalnum() for c in after):
            raise Destroyed(f"the edit {given['edit']!r} leaves nothing of the text")
        return after

    def contexts(self, texts: Sequence[int], *, stage: Stage = Stage.EXPLORE) -> NDArray[np.float32]:
        part = self.parts[stage]
        rows = self._encoder.embed_texts([self.documents.texts[part[i % len(part)]] for i in texts])
        return np.asarray(np.clip((rows + 1) / 2, 0, 1), np.float32)


def check(space: ConceptSpace) -> None:
    """Refuse axes and values that no edit of a text knows."""
    names = [axis.name for axis in space.axes]
    if "edit" not in names or not set(names) <= set(AXES):
        raise WeakspotError(
            f"the space {space.name[:60]!r} of texts has the axes {', '.join(names)[:120]}",
            fix="it needs an axis edit, and may have an axis amount",
        )
    for axis in space.axes:
        for value in axis.values:
            if axis.name == "edit" and value not in EDITS:
                edit("a", value, seed=0)  # says the nearest right one
            if axis.name == "amount":
                try:
                    fits = 0 < float(value) <= 1
                except ValueError:
                    fits = False
                if not fits:
                    what = f"an amount cannot be {value[:60]!r}"
                    raise WeakspotError(what, fix="choose numbers above 0 and at most 1")
