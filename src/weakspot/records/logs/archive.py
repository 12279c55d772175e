"""The members of a zip that nobody vouches for: bounded, and read without unpacking anything to the disk."""

from __future__ import annotations

import sys
import zipfile
import zlib
from typing import Final

from weakspot.core.errors import WeakspotError

#: A member, and all of them together, are not unpacked beyond so many bytes.
MOST_MEMBER: Final = 256 << 20
MOST_TOTAL: Final = 8 << 30
_ZSTD: Final = 93
#: What reading a damaged, truncated or encrypted member raises, or one that is too large.
UNREADABLE: Final = (
    ValueError, RecursionError, zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError,
)  # fmt: skip


class Full(Exception):
    """All members together are larger than is read."""


class Archive:
    """A zip whose members are read into memory, one by one."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self._total = 0

    @property
    def names(self) -> list[str]:
        """Each name once; of members with the same name the last counts."""
        return list(self._file.NameToInfo)

    def __contains__(self, name: str) -> bool:
        return name in self._file.NameToInfo

    def read(self, name: str) -> bytes:
        """A member, of a bounded size whatever the archive says of it."""
        info = self._file.NameToInfo[name]
        if self._total > MOST_TOTAL:
            raise Full
        if info.compress_type == _ZSTD and sys.version_info < (3, 14):
            data = self._zstd(info)
        else:
            with self._file.open(info) as member:
                data = member.read(MOST_MEMBER + 1)
        self._total += len(data)
        if len(data) > MOST_MEMBER:
            raise ValueError(f"larger than {MOST_MEMBER >> 20} MiB")
        return data

    def _zstd(self, info: zipfile.ZipInfo) -> bytes:
        """A member packed with Zstandard, which `zipfile` reads only since Python 3.14."""
        try:
            import zstandard
        except ImportError as error:
            raise WeakspotError(
                f"{self._file.filename} is packed with Zstandard, for which a library is missing",
                fix="pip install zstandard, or: inspect log convert --to json",
            ) from error
        file = self._file.fp
        if file is None:
            raise zipfile.BadZipFile("the archive is closed")
        file.seek(info.header_offset)
        local = file.read(30)
        if len(local) < 30 or local[:4] != b"PK\x03\x04" or info.flag_bits & 1:
            raise zipfile.BadZipFile("its entry is damaged or encrypted")
        file.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), 1)
        packed = file.read(info.compress_size)
        try:
            reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
            data = bytes(reader.read(MOST_MEMBER + 1))
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from error
        if len(data) <= MOST_MEMBER and zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("its checksum is wrong")
        return data
