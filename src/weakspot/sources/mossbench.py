"""MOSSBench (Li et al., 2024): 300 benign questions with pictures, 244 harmful counterparts.

`mossbench:DIR` reads the released layout (`data/images_information/information.json` and its neighbour
`data_contrast`), a table per set (`benign.jsonl`, `contrast.jsonl`), or a data set saved by `datasets`;
`mossbench:AIcell/MOSSBench` fetches that data set. The release has quirks, all handled here: the harm type is
a list of one, the stimulus is called "type 1", a key holds a space, WebP files are called .png, pictures are
missing.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from weakspot.core import WeakspotError
from weakspot.core.question import BENIGN, CONTRAST
from weakspot.core.rows import Row, read_rows
from weakspot.sources.benchmark import Benchmark, Item
from weakspot.sources.question_files import image_of, unique

STIMULI: Final = {"type 1": "exaggerated-risk", "type 2": "negated-harm", "type 3": "counterintuitive"}
HARMS: Final = {
    1: "cybercrime",
    2: "chemical or biological weapon",
    3: "copyright",
    4: "misinformation",
    5: "harassment",
    6: "illegal act",
    7: "general harm",
}
#: Columns of flags, and what we call them.
FLAGS: Final = {"human": "human", "child": "child", "syn": "synthetic", "ocr": "ocr"}
_INFORMATION: Final = Path("images_information") / "information.json"
_DATA: Final = ((BENIGN, "data"), (CONTRAST, "data_contrast"))
#: Where each set may lie below the named folder: the table, and the folder its pictures are relative to.
_PLACES: Final = (
    {BENIGN: Path("benign.jsonl"), CONTRAST: Path("contrast.jsonl")},
    {s: Path(data) / _INFORMATION for s, data in _DATA},
    {BENIGN: _INFORMATION, CONTRAST: Path("..") / "data_contrast" / _INFORMATION},
    {s: Path("original-layout") / data / _INFORMATION for s, data in _DATA},
)
#: The data set's configurations.
_CONFIGURATIONS: Final = {BENIGN: "oversensitivity", CONTRAST: "contrast"}


def load(name: str) -> Benchmark:
    """The benchmark in a folder, or the data set of that name."""
    folder = Path(name)
    if not folder.is_dir():
        if folder.exists() or name.count("/") != 1 or name.startswith((".", "/")):
            raise WeakspotError(
                f"there is no folder {name[:200]!r}",
                fix="name the folder of the released benchmark, or AIcell/MOSSBench",
            )
        return Benchmark("mossbench", _from_hub(name))
    for places in _PLACES:
        if (folder / places[BENIGN]).is_file():
            found = [
                _set(folder / place, which)
                for which, place in places.items()
                if which == BENIGN or (folder / place).is_file()
            ]
            return Benchmark("mossbench", [item for items in found for item in items])
    if (folder / "dataset_info.json").is_file() or (folder / "dataset_dict.json").is_file():
        return Benchmark("mossbench", items_of(_datasets().load_from_disk(str(folder)), BENIGN))
    raise WeakspotError(
        f"{folder} is not MOSSBench", fix=f"it has neither benign.jsonl nor {Path('data') / _INFORMATION}"
    )


def _set(path: Path, which: str) -> list[Item]:
    # In the released layout pictures are relative to the set's own folder, which holds images_information.
    home = path.parent.parent if path.name == _INFORMATION.name else path.parent
    found = []
    for row in read_rows(path):
        image, missing = image_of(home, row.values.get("image"))
        if image is None and not missing:
            missing = "the benchmark names no file"
        found.append((row.line, item_of(row, which, image, missing, path=path)))
    return unique(path, found)


def item_of(
    row: Row, which: str, image: Path | bytes | None, missing: str, *, path: str | Path = "the data set"
) -> Item:
    """One row in any of the layouts: the metadata may be nested or not."""
    values = row.values
    metadata = values.get("metadata")
    said: Mapping[str, Any] = {**values, **(metadata if isinstance(metadata, Mapping) else {})}
    pid, question = values.get("pid", values.get("id")), values.get("question")
    if pid is None or not isinstance(question, str) or not question.strip():
        raise WeakspotError(
            f"{path}: entry {row.line} has no {'pid' if pid is None else 'question'}",
            fix="fetch the benchmark again",
        )
    slices: dict[str, tuple[str, ...]] = {}
    stimulus = said.get("stimulus", said.get("over"))
    if stimulus not in (None, ""):
        slices["stimulus"] = (STIMULI.get(str(stimulus), str(stimulus)),)
    if said.get("harm") not in (None, "", []):
        slices["harm"] = tuple(_harms(said["harm"]))
    for column, ours in FLAGS.items():
        if said.get(column) is not None:
            slices[ours] = ("yes" if str(said[column]) in ("1", "True") else "no",)
    short = values.get("short_description") or values.get("short description") or ""
    return Item(
        id=str(pid),
        question=question,
        set=which,
        image=image,
        missing=missing,
        description=str(values.get("description") or short).strip(),
        slices=slices,
        pair=str(pid),
    )


def _harms(said: Any) -> Iterable[str]:
    for code in said if isinstance(said, list | tuple) else [said]:
        number = int(code) if str(code).isdigit() else None
        yield HARMS.get(number, f"type {code}") if number is not None else str(code)[:80]


def _from_hub(name: str) -> list[Item]:
    datasets = _datasets()
    found = []
    for which, configuration in _CONFIGURATIONS.items():
        try:
            data = datasets.load_dataset(name, configuration)
        except Exception as error:  # anything: no network, no such set, no such configuration
            if which == CONTRAST:
                continue
            raise WeakspotError(
                f"the data set {name} cannot be loaded: {type(error).__name__}: {str(error)[:200]}",
                fix="check the name and the network, or name a folder",
            ) from error
        found += items_of(data, which)
    return found


def items_of(data: Any, which: str) -> list[Item]:
    splits = list(data.values()) if isinstance(data, Mapping) else [data]
    found, line = [], 0
    for split in splits:
        for values in split:
            line += 1
            image = _bytes(values.get("decoded_image") or values.get("image"))
            missing = "" if image is not None else "the data set has no picture for it"
            found.append((line, item_of(Row(line, dict(values)), which, image, missing)))
    return unique(Path("the data set"), found)


def _bytes(image: Any) -> bytes | None:
    """A picture of a data set, decoded or not, as the bytes of a file."""
    if isinstance(image, Mapping):
        content = image.get("bytes")
        return content if isinstance(content, bytes) else None
    if hasattr(image, "save"):
        file = io.BytesIO()
        image.save(file, format="PNG")
        return file.getvalue()
    return None


def _datasets() -> Any:
    try:
        import datasets  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise WeakspotError(
            "this layout needs the library 'datasets', which is missing", fix="pip install 'weakspot[hf]'"
        ) from error
    return datasets
