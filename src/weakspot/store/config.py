"""`run.yaml`: the resolved configuration of a run, enough to run it again."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from weakspot._version import __version__
from weakspot.core import WeakspotError
from weakspot.store.blobs import write_whole

#: Libraries that models are made of, by the module that shows that one is used.
_USED: Final = {
    "onnxruntime": "onnxruntime",
    "torch": "torch",
    "torchvision": "torchvision",
    "transformers": "transformers",
    "diffusers": "diffusers",
    "timm": "timm",
    "open_clip": "open_clip_torch",
    "sentence_transformers": "sentence-transformers",
    "ray": "ray",
}


def _versions() -> dict[str, str]:
    found = {"weakspot": __version__, "python": platform.python_version()}
    used = [package for module, package in _USED.items() if module in sys.modules]
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
        versions: Of the packages that drew and answered.
        created: When, in UTC.
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
        """Read and check it."""
        try:
            data = yaml.safe_load(path.read_bytes())
            return cls.model_validate(data)
        except FileNotFoundError:
            raise WeakspotError(
                f"{path.parent} is not a run: it has no run.yaml", fix="name a folder under runs/"
            ) from None
        except OSError as error:
            raise WeakspotError(
                f"{path} cannot be read: {error.strerror}", fix="check the permissions"
            ) from error
        except yaml.YAMLError as error:
            raise WeakspotError(
                f"{path} is not valid YAML: {str(error).splitlines()[0]}", fix="restore it"
            ) from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise WeakspotError(f"{path}: {where}: {first['msg']}", fix="restore it from a copy") from error
