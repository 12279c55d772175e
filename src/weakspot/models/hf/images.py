"""How a model of transformers wants its pictures: by the library's own image processor.

The processor says its settings. Where all it does is resize, cut, scale and normalise, `preprocess` does the
same for a whole batch at once; everything else the processor does itself. Its variant for Pillow is used, so
that torchvision is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.models.compute import in_one_line
from weakspot.models.hf.loading import NOTHING, Trust, quiet
from weakspot.models.pictures import stack_images
from weakspot.models.preprocess import CONFIG, Preprocess, Unprepared, of_settings

#: Where settings of a processor may lie.
FILES: Final = (CONFIG, "processor_config.json")


class Processor:
    """The library's own image processor, from pictures to what the network is called with, by name.

    Attributes:
        size: Height and width of what it makes, of a square picture.
    """

    def __init__(self, library: Any, *, of: str) -> None:
        self._library, self._of = library, of
        shape = next(iter(self([np.zeros((64, 64, 3), np.uint8)]).values())).shape
        self.size: tuple[int, int] = (shape[2], shape[3]) if len(shape) == 4 else (224, 224)

    def __call__(self, images: Sequence[Any]) -> dict[str, NDArray[Any]]:
        shown = [stack_images([image])[0] for image in images]
        with quiet():
            try:
                made = self._library(images=shown, return_tensors="np", input_data_format="channels_last")
                fields = {str(name): np.asarray(value) for name, value in made.items()}
            except ImportError:
                raise
            except Exception as error:  # whatever a processor raises: mostly sizes that differ
                raise WeakspotError(
                    f"{type(self._library).__name__}, which prepares the pictures of {self._of[:200]}, "
                    f"failed: {in_one_line(error, most=200)}",
                    fix="use a source whose pictures have one size, or another model",
                ) from error
        return {n: np.asarray(v, np.float32) if v.dtype.kind == "f" else v for n, v in fields.items()}


#: What prepares pictures: one array, or several by name.
Prepare = Preprocess | Processor


def prepare_of(folder: Path, *, trust: Trust = NOTHING) -> Prepare | None:
    """How pictures are prepared for a model; None where its folder says nothing of it."""
    if not any((folder / name).is_file() for name in FILES):
        return None
    transformers = import_module("transformers")
    new = int(transformers.__version__.split(".")[0]) >= 5
    without_torchvision: dict[str, Any] = {"backend": "pil"} if new else {"use_fast": False}
    with quiet():
        try:
            library = transformers.AutoImageProcessor.from_pretrained(
                folder, local_files_only=True, trust_remote_code=trust.code, **without_torchvision
            )
            settings = {key: value for key, value in library.to_dict().items() if value is not None}
        except Exception as error:  # of the files, or of a library that a processor needs
            raise WeakspotError(
                f"nobody knows how pictures are prepared for {folder}: {in_one_line(error)}",
                fix=f"check its {CONFIG}; some processors need torchvision, and one that comes with "
                "the model needs ?code=yes",
            ) from error
    try:
        return of_settings(settings)
    except (Unprepared, KeyError, TypeError, ValueError):
        return Processor(library, of=str(folder))


def prepared_by(prepare: Prepare | None, *, of: object) -> Prepare:
    """What prepares the pictures of a folder; an error where the folder says nothing of it."""
    if prepare is None:
        raise WeakspotError(
            f"{of} has no {CONFIG}, so nobody knows how its pictures are prepared",
            fix="copy that file from where the model came from",
        )
    return prepare


def by_name(given: NDArray[Any] | Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """What was prepared, as a network is called with it."""
    return given if isinstance(given, Mapping) else {"pixel_values": given}
