"""The bytes of a table's file: unpacked, bounded, decoded."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast

from weakspot.core.errors import WeakspotError, disk_errors, first_line, nearest

#: Bytes of the largest table that is read into memory, unpacked.
LARGEST: Final = 1 << 31
#: The first bytes of packed files.
PACKED: Final = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_PACKED_ENDINGS: Final = (".gz", ".bz2", ".xz", ".zst", ".zstd")
#: The first bytes of tables of Arrow; its streams have none that are sure.
PARQUET: Final = b"PAR1"
ARROW_FILE: Final = b"ARROW1"
OLD_FEATHER: Final = b"FEA1"
ARROW: Final = (PARQUET, ARROW_FILE, OLD_FEATHER)
_BOMS: Final = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


#: What a packed file that is damaged raises.
DAMAGED: Final = (EOFError, zlib.error, lzma.LZMAError, OSError)


class Content(NamedTuple):
    """What stands in a file; `cut` says why the end is missing, "" where it is not."""

    data: bytes
    cut: str = ""


def ending(path: Path) -> str:
    """The ending that says the format, not how the file is packed: ".csv" of a.csv.gz."""
    name = path.name.lower()
    for packed in _PACKED_ENDINGS:
        name = name.removesuffix(packed)
    return Path(name).suffix


def packing(start: bytes) -> str:
    return next((name for magic, name in PACKED.items() if start.startswith(magic)), "")


def is_packed(path: Path) -> bool:
    with path.open("rb") as raw:
        return bool(packing(raw.read(8)))


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A file, unpacked while it is read."""
    with path.open("rb") as raw, unpacked(raw) as file:
        yield file


def unpacked(raw: IO[bytes]) -> IO[bytes]:
    """What comes of these bytes, whichever way they are packed."""
    how = packing(raw.read(8))
    raw.seek(0)
    return _unpacked(raw, how)


def first_bytes(path: Path, most: int = 1 << 16) -> bytes:
    """The beginning of a file, unpacked; b"" of what cannot be read."""
    try:
        with opened(path) as file:
            return file.read(most)
    except (*DAMAGED, WeakspotError):
        return b""


def check_file(path: Path) -> None:
    """A file that is not there gets the nearest name beside it."""
    with disk_errors(f"{path} cannot be read", "check the name and the permissions"):
        if path.exists():
            if not path.is_file():
                raise WeakspotError(f"{path} is not a file", fix="name a table, or a folder that holds one")
            return
        beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    raise WeakspotError(f"{path} does not exist", fix=nearest(path.name, beside) or "check the name")


def digest_of(paths: Iterable[Path]) -> str:
    """SHA-256 of the bytes of these files, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with disk_errors(f"{path} cannot be read", "check the permissions"), path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def read_content(path: Path) -> Content:
    """The unpacked bytes of a file. A packed file that is damaged gives what comes before the damage."""
    parts: list[bytes] = []
    size, cut = 0, ""
    with disk_errors(f"{path} cannot be read", "check the permissions"), path.open("rb") as raw:
        how = packing(raw.read(8))
        raw.seek(0)
        try:
            with _unpacked(raw, how) as file:
                while size <= LARGEST and (chunk := file.read(1 << 16)):
                    parts.append(chunk)
                    size += len(chunk)
        except DAMAGED as error:
            if not how:
                raise
            cut = f"the {how} file is damaged from here on: {first_line(error)}"
    if size > LARGEST:
        raise WeakspotError(
            f"{path} has more than {LARGEST >> 30} GiB{' unpacked' if how else ''}", fix="split it"
        )
    if cut and not size:
        raise WeakspotError(
            f"{path} cannot be unpacked: {cut.partition(': ')[2]}", fix="fetch the file again"
        )
    return Content(b"".join(parts), cut)


def text_of(path: Path, content: Content) -> str:
    """The text of a file; bytes that are no UTF-8 become surrogates, so that their rows can be left out."""
    data = content.data
    coding = next((name for bom, name in _BOMS.items() if data.startswith(bom)), "utf-8")
    if coding == "utf-8":
        text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    else:
        text = data.decode(coding, "replace").removeprefix("\ufeff")
    if not text or text.isspace():
        raise WeakspotError(f"{path} is empty", fix="give a table with a row for each input")
    if text.count("\0", 0, 1 << 16) > min(len(text), 1 << 16) / 10:
        raise WeakspotError(f"{path} is not text", fix="save the table as CSV in UTF-8, or as Parquet")
    if content.cut:
        text = text[: text.rfind("\n") + 1]
    return text


class Lines:
    """The lines of a file, one after the other, with what ends them.

    Attributes:
        newline: As `open` has it.
        cut: Why the end is missing, once it was reached; "" where it is not.
    """

    def __init__(self, path: Path, newline: str) -> None:
        self.path, self.newline, self.cut = path, newline, ""

    def __iter__(self) -> Iterator[str]:
        start = first_bytes(self.path)
        text_of(self.path, Content(start))  # refuses what is no text
        coding = next((name for bom, name in _BOMS.items() if start.startswith(bom)), "utf-8")
        errors = "surrogateescape" if coding == "utf-8" else "replace"
        with disk_errors(f"{self.path} cannot be read", "check the permissions"), opened(self.path) as file:
            lines = io.TextIOWrapper(file, coding, errors, newline=self.newline)
            try:
                for number, line in enumerate(lines):
                    yield line.removeprefix("\ufeff") if number == 0 else line
            except DAMAGED as error:
                if not is_packed(self.path):
                    raise
                self.cut = f"the file is damaged from here on: {first_line(error)}"


#: Characters that no row of a table can have: NUL, and bytes that were no UTF-8.
BROKEN: Final = re.compile(r"[\x00\udc80-\udcff]")


def why_broken(text: str) -> str:
    """Why a row is left out; "" if its characters are fine."""
    found = BROKEN.search(text)
    if found is None:
        return ""
    return "it has a NUL character" if found.group() == "\0" else "it is not UTF-8"


def _unpacked(raw: IO[bytes], how: str) -> IO[bytes]:
    if how == "gzip":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if how == "bz2":
        return bz2.BZ2File(raw)
    if how == "xz":
        return lzma.LZMAFile(raw)
    if how == "zstd":
        pyarrow = need_pyarrow("a .zst file")
        return cast("IO[bytes]", pyarrow.input_stream(raw, compression="zstd"))
    return raw


def need_pyarrow(what: str) -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise WeakspotError(
            f"{what} needs a library that is missing: {error}", fix="pip install 'weakspot[data]'"
        ) from error
    return pyarrow
