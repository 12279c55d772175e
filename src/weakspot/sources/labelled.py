"""Pictures with their right answers, whatever form they come in, and their parts: disjoint by construction.

- a folder with one folder per label (ImageNet's WordNet ids are read through a labels file);
- a folder with `labels.jsonl` or `labels.csv` beside its pictures (columns file and label, name or class);
- an `.npz` with `images` (n, height, width, 3), `labels` and `names`, or a folder with one such file;
- a name of `weakspot list pictures`.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import PICTURES, WeakspotError
from weakspot.core.errors import explained
from weakspot.sources.folder import Unusable, decode, files_in, read
from weakspot.sources.prompts import read_label_file

#: The parts, in the order in which they are cut, with the share of the pictures each gets.
PARTS: Final = {"discovery": 0.4, "confirmation": 0.1, "repair": 0.25, "verification": 0.25}
#: Fewer pictures in a part say nothing.
LEAST: Final = 5
#: Pixels of the longer side at most.
LONGEST: Final = 512
#: Bytes of decoded pictures kept in memory.
_ROOM: Final = 1 << 30


@dataclass(eq=False)
class LabelledImages:
    """Pictures in a fixed order; digests are of their content, and equal for equal pictures."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    digests: tuple[str, ...]
    load: Callable[[int], NDArray[np.uint8]]
    skipped: tuple[tuple[str, str], ...] = ()
    _kept: dict[int, NDArray[np.uint8]] = field(default_factory=dict, init=False, repr=False)
    _bytes: int = field(default=0, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.names)

    def picture(self, i: int) -> NDArray[np.uint8]:
        """The pixels of the i-th picture; read once as long as there is room for them."""
        found = self._kept.get(i)
        if found is None:
            found = self.load(i)
            if self._bytes + found.nbytes <= _ROOM:
                self._kept[i] = found
                self._bytes += found.nbytes
        return found

    @property
    def digest(self) -> str:
        rows = (f"{n}\0{d}\0{lab}\n" for n, d, lab in zip(self.names, self.digests, self.labels, strict=True))
        return hashlib.sha256("".join(rows).encode()).hexdigest()


def split(images: LabelledImages, *, seed: int, shares: Mapping[str, float] = PARTS) -> dict[str, list[int]]:
    """Cut the pictures, in the order of a hash of their content and the seed, into parts that share none.

    Equal pictures stand side by side and stay in one part, whatever their names.
    """
    keys = [hashlib.blake2b(f"{seed}:{d}".encode(), digest_size=8).hexdigest() for d in images.digests]
    row = sorted(range(len(images)), key=lambda i: (keys[i], i))
    total, upto, parts, start = sum(shares.values()), 0.0, {}, 0
    for name, share in shares.items():
        upto += share / total
        end = max(start, round(upto * len(row)))
        while 0 < end < len(row) and keys[row[end]] == keys[row[end - 1]]:
            end += 1
        parts[name], start = sorted(row[start:end]), end
    short = [name for name in shares if len(parts[name]) < LEAST]
    if short:
        raise WeakspotError(
            f"{len(images)} pictures are too few to split: {len(parts[short[0]])} are left for {short[0]}",
            fix=f"give {int(LEAST / min(shares.values()) * total) + 1} pictures at least",
        )
    return parts


def part_digest(images: LabelledImages, indices: Sequence[int]) -> str:
    """Stands for the pictures of a part in run.yaml."""
    return hashlib.sha256("".join(sorted(images.digests[i] for i in indices)).encode()).hexdigest()


def _names(labels_file: str, known: set[str]) -> dict[str, str]:
    """Names by WordNet id, as the target says them: of "tench, Tinca tinca" all, the first, or the id too."""
    found = {}
    for row in read_label_file(labels_file):
        first = row.name.split(",")[0].strip()
        said = (row.name, first, f"{row.wordnet} {row.name}", f"{row.wordnet} {first}")
        found[row.wordnet] = next((name for name in said if name in known), row.name)
    return found


def labelled_images(
    where: str, *, labels: Sequence[str] = (), labels_file: str | None = None
) -> LabelledImages:
    """Read pictures and their labels from a folder, an .npz, or a registered name; see above.

    Where the target's `labels` are known, a picture with another label is refused. `labels_file` has names by
    WordNet id, for folders called by such ids.
    """
    if PICTURES.knows(where):
        images: LabelledImages = PICTURES.load(where)
    else:
        path = Path(where)
        packs = sorted(path.glob("*.npz")) if path.is_dir() else []
        if path.suffix == ".npz" or len(packs) == 1:
            images = _packed(packs[0] if packs else path)
        else:
            images = _folder(path, _names(labels_file, set(labels)) if labels_file else {})
    known = set(labels)
    strange = sorted({label for label in images.labels if known and label not in known})
    if strange:
        raise WeakspotError(
            f"{len(strange)} labels of the pictures are not labels of the target, such as "
            f"{strange[0][:60]!r}",
            fix=f"name them as the target does: {', '.join(labels[:5])[:200]} …",
        )
    return images


def _packed(path: Path) -> LabelledImages:
    broken, fix = (OSError, ValueError, EOFError), "name an .npz without pickles"
    with explained(f"{path} cannot be read", *broken, fix=fix), np.load(path, allow_pickle=False) as pack:
        if not {"images", "labels", "names"} <= set(pack.files):
            raise WeakspotError(
                f"{path} has no images, labels and names", fix="save all three with numpy.savez"
            )
        pixels, numbers, names = pack["images"], pack["labels"], [str(n) for n in pack["names"]]
        index = pack["index"] if "index" in pack.files else np.arange(len(pixels))
    right = pixels.dtype == np.uint8 and pixels.ndim == 4 and pixels.shape[3] == 3
    fits = len(numbers) == len(pixels) == len(index) and numbers.dtype.kind in "iu"
    if not right or not fits or (len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(names)):
        raise WeakspotError(
            f"{path} does not hold pictures: images {pixels.dtype} {pixels.shape}, labels {numbers.shape}",
            fix="images are uint8 (n, height, width, 3), labels are places in names",
        )
    apart = len(set(index.tolist())) == len(index)
    return LabelledImages(
        tuple(f"{int(i):05d}" if apart else str(at) for at, i in enumerate(index)),
        tuple(names[int(i)] for i in numbers),
        tuple(hashlib.sha256(image.tobytes()).hexdigest() for image in pixels),
        lambda i: np.asarray(pixels[i]),
    )


def _folder(root: Path, by_id: Mapping[str, str]) -> LabelledImages:
    table = _table(root)
    rows, skipped = [], []
    for name, path in files_in(root):
        label = table.get(name) if table else (name.split("/")[0] if "/" in name else None)
        if label is None:
            skipped.append((name, "it has no label"))
            continue
        try:
            content = read(path)
        except Unusable as error:
            skipped.append((name, error.what))
            continue
        rows.append((name, by_id.get(label, label), hashlib.sha256(content).hexdigest(), path))
    if not rows:
        raise WeakspotError(
            f"the pictures in {str(root)[:200]!r} have no labels",
            fix="put them in folders named by label, or add labels.jsonl with file and label",
        )
    names, labels, digests, paths = zip(*rows, strict=True)
    return LabelledImages(
        names, labels, digests, lambda i: decode(read(paths[i]), longest=LONGEST), tuple(skipped)
    )


def _table(root: Path) -> dict[str, str]:
    """Labels by the name of the file."""
    for path in (root / "labels.jsonl", root / "labels.csv"):
        if not path.is_file():
            continue
        broken = (OSError, ValueError, AttributeError, csv.Error)
        with explained(f"{path} cannot be read", *broken, fix="each row has file and label"):
            lines = path.read_text("utf-8").splitlines()
            rows: Iterable[Any] = (json.loads(line) for line in lines if line.strip())
            found = {}
            for row in csv.DictReader(lines) if path.suffix == ".csv" else rows:
                label = next((row[key] for key in ("label", "name", "class") if row.get(key)), None)
                if label is None or not row.get("file"):
                    raise ValueError("a row has no file, or no label")
                found[str(row["file"]).replace("\\", "/")] = str(label)
        return found
    return {}
