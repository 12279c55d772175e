"""The real tables: photographs with what people said of them, drawings with their parameters, and answers.

The folder holds the packs below. `WANTED` says what each file is and where it comes from.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.bench.real.methods import Flags, Slices
from weakspot.core import WeakspotError
from weakspot.core.errors import explained
from weakspot.text.lexicon import Tag
from weakspot.text.tagging import tokenise

#: A concept of fewer rows is none.
LEAST: Final = 5
#: Words of other kinds say nothing of a picture by themselves.
TELLING: Final = frozenset({Tag.NOUN, Tag.VERB, Tag.ADJ, Tag.ADV, Tag.NUM, Tag.SIDE})
FACTORS: Final = (
    "multiple_objects", "background", "color", "brighter", "darker", "style", "larger", "smaller",
    "object_blocking", "person_blocking", "partial_view", "pattern", "pose", "shape", "subcategory",
    "texture",
)  # fmt: skip

#: The files, and what they are.
WANTED: Final[Mapping[str, str]] = {
    "flickr8k/captions.jsonl": 'Flickr8k: {"captions": ["a dog runs.", …]} a line, five captions each',
    "captions/coco-val2017-captions.json": "the captions of COCO 2017, annotations/captions_val2017.json",
    "imagenet-x/annotations.csv.gz": (
        "ImageNet-X (the package imagenet-x 0.0.7, or facebookresearch/imagenetx): image, label, real_labels "
        "(of the ReaL labels, google-research/reassessed-imagenet), the 16 factors as 0 or 1, justification, "
        "one_word"
    ),
    "imagenet-x/predictions-resnet50.csv.gz": "its predictions of ResNet-50: image, label, predicted",
    "imagenet-x/predictions-dino.csv.gz": "the same of DINO",
    "blindtest/answers.csv.gz": (
        "BlindTest (anguyen8/vision-llms-are-blind): task, image, prompt, model, correct, parameters (JSON)"
    ),
}
IMAGENET: Final = ("resnet50", "dino")
BLINDTEST: Final = ("gpt-4o", "claude-3-sonnet", "claude-3.5-sonnet")


class Marks(NamedTuple):
    """Which rows have which concept: a sparse matrix of zeros and ones, rows × concepts."""

    names: tuple[str, ...]
    rows: Any


@dataclass(frozen=True, eq=False)
class RealTable:
    """A table of real inputs.

    Attributes:
        name: "coco", "imagenet-x resnet50", …
        texts: What people said of each row; "" where nothing.
        notions: What failures may be planted on.
        marks: What methods see: the same, unless their words are read in another way.
        wrong: Which rows the model really got wrong; None where there is no model.
        groups: Rows of one number show the same picture; None where all differ.
    """

    name: str
    texts: Sequence[str]
    notions: Marks
    marks: Marks
    wrong: Flags | None = None
    groups: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def errors(self) -> Flags:
        """Which rows the model got wrong."""
        if self.wrong is None:
            raise ValueError(f"no model has answered {self.name}")
        return self.wrong


def marks_of(texts: Sequence[str], values: Mapping[str, Sequence[str]]) -> Marks:
    """The concepts of rows: words in their base form, and every value of every further column.

    Args:
        texts: All that people said of each row.
        values: Further columns; "" is missing.
    """
    said = [{f"text:{word}" for word in words_of(text)} for text in texts]
    for column, own in values.items():
        for names, value in zip(said, own, strict=True):
            if value:
                names.add(f"{column}={value}")
    return as_marks(said)


def words_of(text: str) -> set[str]:
    """The words that say something, in their base form."""
    found = set()
    for sentence in text.split("\n"):
        for token in tokenise(sentence):
            if token.tag in TELLING and len(token.lemma) > 1:
                found.add(token.lemma)
    return found


def as_marks(said: Iterable[Iterable[str]], *, least: int = LEAST) -> Marks:
    """The same as a matrix, its columns in the order of their names; rare concepts are left out."""
    from scipy.sparse import csc_matrix

    rows = [list(names) for names in said]
    number: dict[str, int] = {}
    for names in rows:
        for name in names:
            number[name] = number.get(name, 0) + 1
    kept = tuple(sorted(name for name, n in number.items() if n >= least))
    place = {name: i for i, name in enumerate(kept)}
    pairs = [(i, place[name]) for i, names in enumerate(rows) for name in names if name in place]
    at = np.array(pairs, np.int64).reshape(-1, 2)
    ones = np.ones(len(at), np.uint8)
    return Marks(kept, csc_matrix((ones, (at[:, 0], at[:, 1])), shape=(len(rows), len(kept))))


def slices_of(table: RealTable, seen: NDArray[np.int64], failed: Flags) -> Slices:
    """What methods are given of these rows: every concept that at least five of them have."""
    part = table.marks.rows[seen]
    common = np.flatnonzero(np.asarray(part.sum(axis=0, dtype=np.int64)).ravel() >= LEAST)
    names = tuple(table.marks.names[column] for column in common)
    return Slices(names, part[:, common], failed, [table.texts[row] for row in seen])


# -- reading them --------------------------------------------------------------------------------------


def missing(folder: Path) -> list[str]:
    return [name for name in WANTED if not (folder / name).is_file()]


def check_folder(folder: Path) -> None:
    """Refuse a folder without the data, and say what they are."""
    if not (lacking := missing(folder)):
        return
    listed = "\n".join(f"  {name}: {WANTED[name]}" for name in lacking)
    raise WeakspotError(
        f"{folder} lacks {len(lacking)} of the {len(WANTED)} files of the benchmark of real data",
        fix=f"get them from their publishers and put them there as\n{listed}",
    )


def real_tables(folder: Path) -> dict[str, Callable[[], RealTable]]:
    """How each table is read, by its name."""
    return {
        "flickr8k": partial(_flickr8k, folder),
        "coco": partial(_coco, folder),
        **{f"imagenet-x {model}": partial(imagenet, folder, model) for model in IMAGENET},
        **{f"blindtest {model}": partial(_blindtest, folder, model) for model in BLINDTEST},
    }


def _flickr8k(folder: Path) -> RealTable:
    with _opened(folder / "flickr8k/captions.jsonl") as lines:
        texts = ["\n".join(json.loads(line)["captions"]) for line in lines]
    marks = marks_of(texts, {})
    return RealTable("flickr8k", texts, marks, marks)


def _coco(folder: Path) -> RealTable:
    with _opened(folder / "captions/coco-val2017-captions.json") as lines:
        by_image: dict[int, list[str]] = {}
        for one in json.loads("".join(lines))["annotations"]:
            by_image.setdefault(int(one["image_id"]), []).append(" ".join(str(one["caption"]).split()))
    texts = ["\n".join(by_image[image]) for image in sorted(by_image)]
    marks = marks_of(texts, {})
    return RealTable("coco", texts, marks, marks)


def imagenet(folder: Path, model: str, *, factors: bool = True) -> RealTable:
    """ImageNet-X with a model's errors; without the factors only people's words say what is in a row."""
    with _opened(folder / "imagenet-x/annotations.csv.gz") as lines:
        rows = list(csv.DictReader(lines))
    with _opened(folder / f"imagenet-x/predictions-{model}.csv.gz") as lines:
        answers = {row["image"]: row["label"] != row["predicted"] for row in csv.DictReader(lines)}
    texts = [f"{row['justification']}\n{row['one_word']}" for row in rows]
    flags = {f: ["1" if row[f] == "1" else "" for row in rows] for f in FACTORS} if factors else {}
    marks = marks_of(texts, flags)
    wrong = np.array([answers[row["image"]] for row in rows], np.bool_)
    return RealTable(f"imagenet-x {model}", texts, marks, marks, wrong)


def _blindtest(folder: Path, model: str) -> RealTable:
    """The answers of one model; every parameter of a drawing is a column."""
    with _opened(folder / "blindtest/answers.csv.gz") as lines:
        rows = [row for row in csv.DictReader(lines) if row["model"] == model]
        said = [
            [
                f"{name}={value}"
                for name, value in {
                    "task": row["task"],
                    "prompt": row["prompt"].lower(),
                    **json.loads(row["parameters"]),
                }.items()
            ]
            for row in rows
        ]
    pictures = {image: i for i, image in enumerate(sorted({row["image"] for row in rows}))}
    marks = as_marks(said)
    return RealTable(
        f"blindtest {model}",
        [""] * len(rows),
        marks,
        marks,
        np.array([row["correct"] != "1" for row in rows], np.bool_),
        np.array([pictures[row["image"]] for row in rows], np.int64),
    )


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[str]]:
    """The lines of a file, compressed or not; what is wrong with it is said with its name."""
    errors = OSError, ValueError, KeyError, TypeError, EOFError
    with explained(f"{path} cannot be read", *errors, fix="check the file, or copy it again"):
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8", newline="") as packed:
                yield packed
        else:
            with path.open(encoding="utf-8", newline="") as plain:
                yield plain
