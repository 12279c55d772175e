"""Corpora of texts for mining: each text once, with how often it came; noise, blanks and giants left out.

    captions.txt, captions.txt.gz      one text a line
    coco:captions_val2017.json         the captions of a COCO annotations file, and whose pictures they are of
    snli:DIR                           the premises (`sentence1`) of SNLI's .jsonl files; a file will do
    datasets:owner/name?column=caption&split=train     a data set of the Hugging Face hub, or a folder of one
    any other name of `weakspot list corpora`

Two texts are the same if they differ in case, white space or punctuation alone; the first form is kept.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Protocol, runtime_checkable

from weakspot.core import CORPORA, WeakspotError
from weakspot.core.errors import explained, system_reason
from weakspot.text.plain import normal_form, one_line

#: Characters of the longest text that is kept; captions have about 50.
LONGEST: Final = 2000
#: Bytes of the largest JSON file, which is read as a whole. COCO's captions of 2017 are 90 MB.
LARGEST: Final = 1 << 31
NOISE: Final = Path(__file__).with_name("noise_phrases.txt")


class Text(NamedTuple):
    """A text as a file has it, and the picture it is of, where that is known."""

    text: str
    picture: str = ""


@runtime_checkable
class Renewable(Protocol):
    """A corpus of texts whose meaning is known, so that more of the same can be said, and drawn."""

    def more(self, seed: str, count: int) -> Iterator[Text]:
        """Texts of the same kind that follow from a seed of their own."""
        ...

    def same(self, one: str, other: str) -> bool: ...

    def picture(self, text: str, against: Sequence[str], *, seed: int) -> Any:
        """A picture of which a text is true and the others are not; None if none was found."""
        ...


class LeftOut(NamedTuple):
    """How many texts of a file are not in the corpus."""

    blank: int = 0
    long: int = 0
    noise: int = 0
    copies: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Distinct texts, in the order in which they came."""

    name: str
    texts: tuple[str, ...]
    #: How often each came, in any form.
    counts: tuple[int, ...]
    #: Of which pictures each is a caption; () where nobody knows.
    pictures: tuple[tuple[str, ...], ...]
    left_out: LeftOut
    digest: str

    def __len__(self) -> int:
        return len(self.texts)


def read_corpus(name: str, *, noise: str | Path | None = None, limit: int | None = None) -> Corpus:
    """Read a corpus without texts that have a phrase of a file (by default `NOISE`); see `gather`."""
    phrases = read_phrases(Path(noise) if noise is not None else NOISE)
    known = CORPORA.knows(name) and not Path(name).exists()
    texts: Iterable[Text] = CORPORA.load(name) if known else ()
    if not known:
        lines = _raw_lines(Path(name))
        texts = (Text("x" * (LONGEST + 1) if line is None else line) for line in lines)
    return gather(texts, name=name, noise=phrases, limit=limit)


def gather(
    texts: Iterable[Text], *, name: str, noise: Iterable[str] = (), limit: int | None = None
) -> Corpus:
    """A corpus of any texts: blank ones, giants and those with a phrase (in any form) are left out.

    At most `limit` distinct texts are kept; the rest is not read.
    """
    phrases = [f" {form} " for form in map(normal_form, noise) if form]
    kept: dict[str, str] = {}
    counts: dict[str, int] = {}
    pictures: dict[str, list[str]] = {}
    blank = long = noisy = copies = 0
    for raw, picture in texts:
        if len(raw) > LONGEST:
            long += 1
            continue
        form = normal_form(text := one_line(raw))
        if not form:
            blank += 1
        elif any(phrase in f" {form} " for phrase in phrases):
            noisy += 1
        elif form in kept:
            copies += 1
            counts[form] += 1
        elif limit is not None and len(kept) >= limit:
            break
        else:
            kept[form], counts[form] = text, 1
        if picture and form in kept and picture not in pictures.setdefault(form, []):
            pictures[form].append(picture)
    if len(kept) < 2:
        there = "one text" if kept else "no texts"
        left = f" ({blank} blank, {long} too long, {noisy} noise)" if blank + long + noisy else ""
        raise WeakspotError(
            f"the corpus {name[:200]!r} has {there}{left}, but mining needs pairs",
            fix="use a file with many texts, one a line",
        )
    digest = hashlib.sha256("".join(f"{text}\n" for text in kept.values()).encode())
    return Corpus(
        name=name,
        texts=tuple(kept.values()),
        counts=tuple(counts.values()),
        pictures=tuple(tuple(pictures.get(form, ())) for form in kept),
        left_out=LeftOut(blank, long, noisy, copies),
        digest=digest.hexdigest(),
    )


def read_phrases(path: Path) -> list[str]:
    """Phrases of a file, one a line, without remarks."""
    what = f"the phrases in {str(path)[:200]!r} cannot be read"
    with explained(what, OSError, UnicodeDecodeError, fix="one phrase a line, in UTF-8"):
        lines = path.read_text("utf-8-sig").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _open(path: Path) -> BinaryIO:
    what, fix = f"the corpus {str(path)[:200]!r} cannot be read", "name a text file, or one of "
    fix += ", ".join(entry.example for entry in CORPORA)
    with explained(what, OSError, ValueError, fix=fix, why=system_reason):
        if path.exists() and not path.is_file():
            raise OSError("it is not a file")
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        return gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value]


def _raw_lines(path: Path) -> Iterator[str | None]:
    """Lines; None for one that is too long, of which no more than needed is ever in memory."""
    most = 4 * LONGEST + 2  # bytes of so many characters
    corpus, damage = f"the corpus {str(path)[:200]!r}", (OSError, EOFError, zlib.error)
    with (
        _open(path) as file,
        explained(f"{corpus} is not text", UnicodeError, fix="save it as UTF-8, one text a line"),
        explained(f"{corpus} is damaged", *damage, fix="copy or download it again"),
    ):
        while line := file.readline(most):
            whole = line.endswith(b"\n") or len(line) < most
            if b"\0" in line:
                raise UnicodeError("it has zero bytes")
            if whole:
                yield line.decode("utf-8-sig")
                continue
            while not line.endswith(b"\n") and (line := file.readline(1 << 16)):
                if b"\0" in line:
                    raise UnicodeError("it has zero bytes")
            yield None


def coco(path: str) -> Iterator[Text]:
    what = f"{str(Path(path))[:200]!r} is not a JSON file"
    broken = (OSError, EOFError, zlib.error, ValueError, RecursionError)
    with _open(Path(path)) as file, explained(what, *broken, fix="name COCO's captions_….json"):
        whole = file.read(LARGEST + 1)
        if len(whole) > LARGEST:
            raise ValueError(f"it has more than {LARGEST >> 20} MiB")
        content = json.loads(whole)
    rows = content.get("annotations") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not any(isinstance(r, dict) and "caption" in r for r in rows):
        raise WeakspotError(
            f"{path[:200]!r} has no captions", fix="name COCO's captions_….json, not instances_….json"
        )
    images = content.get("images")
    images = [i for i in images if isinstance(i, dict)] if isinstance(images, list) else []
    files = {i["id"]: str(i.get("file_name", "")) for i in images if isinstance(i.get("id"), int | str)}
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("caption"), str):
            of = row.get("image_id")
            of = of if isinstance(of, int | str) else ""
            yield Text(row["caption"], files.get(of) or str(of))


def snli(path: str) -> Iterator[Text]:
    root = Path(path)
    files = [root] if root.is_file() else sorted([*root.glob("*.jsonl"), *root.glob("*.jsonl.gz")])
    if not files:
        raise WeakspotError(
            f"there are no .jsonl files in {path[:200]!r}",
            fix="name the folder snli_1.0 with its .jsonl files",
        )
    for file in files:
        for number, line in enumerate(_raw_lines(file), 1):
            if line is None or not line.strip():
                continue
            try:
                row = json.loads(line)
                text = row["sentence1"]
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise WeakspotError(
                    f"line {number} of {file} has no 'sentence1': {str(error)[:80]}",
                    fix="name SNLI's own .jsonl files",
                ) from error
            yield Text(text if isinstance(text, str) else "", str(row.get("captionID") or "").split("#")[0])


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def datasets(path: str, *, column: str = "", split: str = "train", config: str = "") -> Iterator[Text]:
    """`datasets:owner/name?column=caption&split=train`."""
    missing = "'datasets:' needs a library that is missing"
    with explained(missing, ImportError, fix="pip install 'weakspot[hf]'"):
        library: Any = import_module("datasets")
    what, fix = f"the data set {path[:200]!r} cannot be loaded", "check the name, the split, the network"
    with explained(what, Exception, fix=fix, why=_first_line):  # of the network, the hub or the files
        rows = library.load_dataset(path, config or None, split=split, streaming=False)
    names = list(rows.column_names)
    chosen = column or next(
        (c for c in ("caption", "captions", "text", "sentence", "sentence1") if c in names), ""
    )
    if chosen not in names:
        raise WeakspotError(
            f"the data set {path[:200]!r} has no column {chosen[:80] or 'of captions'!r}",
            fix=f"say which: ?column=… ({', '.join(map(str, names))[:200]})",
        )
    for number, value in enumerate(rows[chosen]):
        for text in value if isinstance(value, list) else [value]:
            yield Text(text if isinstance(text, str) else "", f"row {number}")
