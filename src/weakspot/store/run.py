"""A run: one folder that describes itself and can be gone on with."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import platform
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Protocol, Self, runtime_checkable

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from weakspot._version import __version__
from weakspot.core import Finding, Hypothesis, Trial, WeakspotError, disk_errors
from weakspot.core.registry import load_study
from weakspot.store.blobs import Blobs, begin_at, blobs_at, check_own, open_own, write_whole
from weakspot.store.database import inspect_file
from weakspot.store.ledger import Ledger

#: Libraries that models are made of, where they are not called like their modules.
_LIBRARIES: Final = {"open_clip": "open_clip_torch", "sentence_transformers": "sentence-transformers"}
_MODULES: Final = (
    "onnxruntime", "torch", "torchvision", "transformers", "diffusers", "timm", *_LIBRARIES, "ray",
)  # fmt: skip


def _versions() -> dict[str, str]:
    found = {"weakspot": __version__, "python": platform.python_version()}
    used = [_LIBRARIES.get(module, module) for module in _MODULES if module in sys.modules]
    for package in ("numpy", "pillow", *used):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


class RunConfig(BaseModel):
    """What a run was asked to do, and with what.

    Attributes:
        study: Its name ("hunt", …).
        subject: A word for people: the label, the corpus, the benchmark.
        settings: The study's arguments, resolved: names of models, label, seed, budget.
        digests: SHA-256 of models and data, by the setting that names them.
        blobs: Where kept inputs are, if not in the folder `blobs`: an address such as s3://bucket/folder.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = 1
    study: str
    subject: str
    settings: dict[str, Any]
    digests: dict[str, str] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=_versions)
    created: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    blobs: str = ""

    def write(self, path: Path) -> None:
        """Write it as YAML, whole or not at all."""
        content = self.model_dump(exclude=None if self.blobs else {"blobs"})
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
        write_whole(path, text.encode())

    @classmethod
    def read(cls, path: Path) -> RunConfig:
        with disk_errors(f"{path} cannot be read", "check the permissions"):
            try:
                data = yaml.safe_load(path.read_bytes())
            except FileNotFoundError:
                what = f"{path.parent} is not a run: it has no run.yaml"
                raise WeakspotError(what, fix="name a folder under runs/") from None
            except yaml.YAMLError as error:
                what = f"{path} is not valid YAML: {str(error).splitlines()[0]}"
                raise WeakspotError(what, fix="restore it") from error
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise WeakspotError(f"{path}: {where}: {first['msg']}", fix="restore it from a copy") from error


@runtime_checkable
class ReadsResult(Protocol):
    """A study, as far as a run needs it."""

    def read_result(self, run: Run) -> object | None: ...


class Run:
    """An open run folder: its configuration, its ledger, its blobs.

    Use `Run.create`, `Run.open` (to go on writing) or `Run.read`. A run is a context manager; leaving it
    closes the ledger and frees the writer's lock.
    """

    def __init__(self, folder: Path, config: RunConfig, ledger: Ledger, lock: IO[bytes] | None) -> None:
        self.folder = folder
        self.config = config
        self.ledger = ledger
        self.blobs = kept_by(folder, config)
        self._lock = lock

    @classmethod
    def create(
        cls,
        config: RunConfig,
        *,
        folder: Path | None = None,
        parent: Path = Path("runs"),
        blobs: str | None = None,
    ) -> Self:
        """A new run.

        Args:
            folder: Where; it must be empty or absent. By default a new folder below `parent`.
            blobs: Where inputs are kept, as an address, e.g. s3://bucket/folder; by default in the folder.
                It is tried first.
        """
        if blobs is not None:
            begin_at(blobs)
            config = config.model_copy(update={"blobs": blobs})
        folder = folder or parent / _fresh_name(config)
        try:
            new = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            if new:
                folder.chmod(0o700)  # pictures and answers are the owner's to show
            # A run killed in its first moment may leave these behind; they are nothing.
            if any(not path.name.startswith((".lock", ".part-")) for path in folder.iterdir()):
                is_run = (folder / "run.yaml").exists()
                raise WeakspotError(
                    f"{folder} is not empty",
                    fix=f"weakspot resume {folder}" if is_run else "choose another --out",
                )
            lock = _locked(folder)
            with _freed_on_error(lock):
                config.write(folder / "run.yaml")
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            raise WeakspotError(
                f"no run can be written to {folder}: {error.strerror}",
                fix="free some space" if full else "choose a folder you may write to with --out",
            ) from error
        with _freed_on_error(lock):
            return cls(folder, config, Ledger.create(folder / "ledger.db"), lock)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a run to go on with it; an error if another process is writing it."""
        config = _config(folder)
        ledger = folder / "ledger.db"
        if ledger.exists():
            for end in ("", "-wal", "-shm"):
                check_own(folder / f"ledger.db{end}")
            inspect_file(ledger)  # before the lock, so that nothing is touched if it is no ledger of ours
        lock = _locked(folder)
        with _freed_on_error(lock):
            # A run killed in its first moment has no ledger yet; it starts from nothing.
            opened = Ledger.open(ledger) if ledger.exists() else Ledger.create(ledger)
            return cls(folder, config, opened, lock)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Open a run for reading only, also while it is being written."""
        config = _config(folder)
        return cls(folder, config, Ledger.read(folder / "ledger.db"), None)

    def close(self) -> None:
        self.ledger.close()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        found = sum(f.confirmed for f in self.findings)
        return f"<Run {self.folder} · {self.config.study} · {found} confirmed findings>"

    @property
    def findings(self) -> list[Finding]:
        """The findings, best first; those with `confirmed` hold on fresh draws."""
        return self.ledger.findings()

    @property
    def result(self) -> Any:
        """What the study found beside them, as its typed result; None before it has one."""
        study = load_study(self.config.study)
        return study.read_result(self) if isinstance(study, ReadsResult) else None

    @property
    def baselines(self) -> list[Hypothesis]:
        """The hypotheses that the others are compared with, oldest first."""
        return [h for h in self.ledger.hypotheses() if h.origin == "baseline"]

    @property
    def state(self) -> str:
        """How it stands: "running", "finished", or "stopped: …" with the reason."""
        return str(self.ledger.fact("state", "running"))

    def image(self, hypothesis: Hypothesis, trial: Trial | int) -> Any:
        """The kept image of a trial as an array, or None if it was not kept."""
        import numpy as np
        from PIL import Image

        found = self.ledger.trial(hypothesis, trial) if isinstance(trial, int) else trial
        if found is None or found.blob is None:
            return None
        return np.asarray(Image.open(io.BytesIO(self.blobs.get(found.blob))).convert("RGB"))


def kept_by(folder: Path, config: RunConfig) -> Blobs:
    """The inputs that a run kept, wherever they are."""
    return blobs_at(config.blobs) if config.blobs else Blobs(folder / "blobs")


def _config(folder: Path) -> RunConfig:
    if not folder.is_dir():
        raise WeakspotError(f"there is no run folder {folder}", fix="see: ls runs/")
    return RunConfig.read(folder / "run.yaml")


def _fresh_name(config: RunConfig) -> str:
    subject = re.sub(r"[^a-z0-9]+", "-", config.subject.lower()).strip("-")[:40] or "run"
    return f"{config.created[:10]}-{config.study}-{subject}-{secrets.token_hex(2)}"


def _locked(folder: Path) -> IO[bytes]:
    """The writer's lock. The kernel frees it when the process ends, however it ends."""
    with disk_errors(f"{folder} cannot be written", "check the permissions"):
        handle = os.fdopen(open_own(folder / ".lock", os.O_WRONLY | os.O_CREAT), "wb")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise WeakspotError(f"another process is writing {folder}", fix="wait for it, or stop it") from None
    return handle


@contextmanager
def _freed_on_error(lock: IO[bytes]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        lock.close()
        raise


#: What names one input among many: which it was tells nothing of the cause.
_NAMES: Final = (
    (re.compile(r"(leaves nothing of) (?!the ).+"), r"\1 the input"),
    (re.compile(r"[^\s'\"]+\.(?:png|jpe?g|webp|bmp|gif|tiff?|txt|npz)\b", re.IGNORECASE), "…"),
    (re.compile(r"0x[0-9a-f]{4,}|\d{5,}", re.IGNORECASE), "…"),
)


class Unjudged(NamedTuple):
    """Trials without a verdict that have a cause in common."""

    status: str
    reason: str
    times: int

    def to_json(self) -> dict[str, Any]:
        return self._asdict()

    def __str__(self) -> str:
        return f"{self.status}: {self.reason}" if self.reason else self.status


def unjudged(run: Run) -> list[Unjudged]:
    """Why trials of a run have no verdict, most frequent cause first; the names of inputs are left out."""
    found: dict[tuple[str, str], int] = {}
    for status, detail, times in run.ledger.unjudged():
        key = (status, plain_reason(detail))
        found[key] = found.get(key, 0) + times
    rows = (Unjudged(status, reason, times) for (status, reason), times in found.items())
    return sorted(rows, key=lambda row: (-row.times, row.status, row.reason))


def plain_reason(detail: str) -> str:
    """What was said of a trial, without what names its input."""
    for pattern, new in _NAMES:
        detail = pattern.sub(new, detail)
    return " ".join(detail.split())
