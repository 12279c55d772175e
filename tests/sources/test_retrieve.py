"""Pictures found by text: what is drawn, what is expected, what is cached, and what a folder may hold."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from weakspot.core import MODELS, SOURCES, Entry, Hypothesis, Source, Stage, WeakspotError
from weakspot.core.ports import collected
from weakspot.sources import folder as folders
from weakspot.sources import pool as pools
from weakspot.sources.captioned import Annotation, by_folder, read_annotations
from weakspot.sources.folder import Unusable, decode, images_in
from weakspot.sources.pool import Pool, read_pool
from weakspot.sources.retrieve import Exhausted, Retrieval, _captions, load
from weakspot.testing import check_encoder, check_source

RED, BLUE = Hypothesis("a photo of a red thing."), Hypothesis("a photo of a blue thing.")
PLAIN = Hypothesis("a photo of a thing.", origin="baseline")
TINTS = {"red": (250, 5, 5), "green": (5, 250, 5), "blue": (5, 5, 250)}


class Tints:
    """An encoder that knows colours; counts the pictures it was shown."""

    def __init__(self, digest: str | None = "tints-1") -> None:
        self.shown = 0
        if digest:
            self.digest = digest

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._unit([[float(name in text) + 0.01 for name in TINTS] for text in texts])

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        self.shown += len(images)
        return self._unit([image.reshape(-1, 3).mean(0) + 1 for image in images])

    @staticmethod
    def _unit(rows: Any) -> NDArray[np.float32]:
        array = np.asarray(rows, np.float64).reshape(-1, 3)
        return np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True), np.float32)


def paint(tint: str, number: int, *, size: tuple[int, int] = (8, 8)) -> Image.Image:
    noise = np.random.default_rng(number).integers(-5, 6, (*size[::-1], 3))
    return Image.fromarray((np.array(TINTS[tint]) + noise).astype(np.uint8))


@cache
def painted(tint: str, number: int) -> bytes:
    file = io.BytesIO()
    paint(tint, number).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Forty pictures of each colour, in a folder of its name."""
    root = tmp_path / "photos"
    for tint in TINTS:
        (root / tint).mkdir(parents=True)
        for i in range(40):
            (root / tint / f"{i:02}.png").write_bytes(painted(tint, i))
    return root


@pytest.fixture(name="cache")
def cache_folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`test:tints` names the encoder, and the user's cache is in the test's own folder."""
    monkeypatch.setitem(MODELS._entries, "test:tints", Entry("test:tints", f"{__name__}:Tints"))
    monkeypatch.setattr("weakspot.core.registry._attribute", lambda entry: _factory(entry))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))


def _factory(entry: Entry) -> Any:
    from weakspot.core.registry import _resolve

    return (lambda: Tints()) if entry.name == "test:tints" else _resolve(entry.target)


def retrieval(photos: Path, *, expected: str | None = "thing", **options: Any) -> Retrieval:
    encoder = Tints()
    return Retrieval(read_pool(photos, encoder), encoder, expected=expected, **options)


def tints(source: Retrieval, hypothesis: Hypothesis, seed: int = 0) -> list[str]:
    return [n.split("/")[0] for stage in Stage for n in source.names(hypothesis, seed=seed, stage=stage)]


# -- what is drawn ---------------------------------------------------------------------------------


def test_it_keeps_the_contract_of_a_source(photos: Path) -> None:
    check_encoder(Tints(), ["red", "a blue one"], [np.asarray(paint("red", 1)), np.asarray(paint("blue", 1))])
    source = retrieval(photos, top=12)
    assert isinstance(source, Source)
    assert not source.cpu_bound
    cases = check_source(source, RED, seed=3)
    assert {(c.expected, c.caption) for c in cases} == {("thing", "")}
    assert all(c.input.shape == (8, 8, 3) and c.input.mean(axis=(0, 1))[0] > 240 for c in cases)
    assert source.draw(RED, [], seed=3) == []


def test_the_best_matches_come_each_once_in_a_random_order(photos: Path) -> None:
    source = retrieval(photos, top=12)
    assert tints(source, RED) == ["red"] * 24
    assert tints(source, BLUE) == ["blue"] * 24
    names = source.names(RED, seed=0)
    assert len(set(names)) == 12
    assert names != sorted(names)
    assert names != source.names(RED, seed=1)
    again = retrieval(photos, top=12)
    again.names(BLUE, seed=5)
    assert names == again.names(RED, seed=0)
    drawn = source.draw(RED, range(12), seed=0)
    files = [np.asarray(Image.open(photos / name)) for name in names]
    assert all(np.array_equal(c.input, f) for c, f in zip(drawn, files, strict=True))


def test_confirmation_sees_no_picture_that_exploration_may_see(photos: Path) -> None:
    source = retrieval(photos, top=10_000)
    for seed in (0, 1):
        seen = {s: set(source.names(RED, seed=seed, stage=s)) for s in Stage}
        other = {s: set(source.names(BLUE, seed=seed, stage=s)) for s in Stage}
        assert seen == other  # all pictures match both: the stage depends on the picture alone
        assert not seen[Stage.EXPLORE] & seen[Stage.CONFIRM]
        assert len(seen[Stage.EXPLORE] | seen[Stage.CONFIRM]) == 120
        assert 35 < len(seen[Stage.EXPLORE]) < 85
    assert seen != {s: set(source.names(RED, seed=0, stage=s)) for s in Stage}


def test_after_the_last_match_it_is_exhausted(photos: Path) -> None:
    source = retrieval(photos, top=7)
    assert source.available(RED, seed=0) == source.available(RED, seed=0, stage=Stage.CONFIRM) == 7
    assert len(source.draw(RED, [6, Stage.CONFIRM.start + 6], seed=0)) == 2
    for index in (7, 10_000, Stage.CONFIRM.start + 7):
        with pytest.raises(Exhausted, match="all 7 pictures") as caught:
            source.draw(RED, [0, index], seed=0)
        assert caught.value.fix


def test_what_is_not_similar_enough_is_not_drawn(photos: Path) -> None:
    assert set(tints(retrieval(photos, top=60), RED)) == {"red", "green", "blue"}
    assert set(tints(retrieval(photos, top=60, least=0.8), RED)) == {"red"}
    none = retrieval(photos, top=60, least=1.0)
    assert none.available(RED, seed=0) == 0
    with pytest.raises(Exhausted, match="no picture matches"):
        none.draw(RED, [0], seed=0)


def test_adding_a_picture_changes_no_other_pictures_stage(photos: Path) -> None:
    before = {s: set(retrieval(photos, top=999).names(RED, seed=0, stage=s)) for s in Stage}
    paint("red", 99).save(photos / "aaa.png")
    after = {s: set(retrieval(photos, top=999).names(RED, seed=0, stage=s)) for s in Stage}
    assert all(before[s] <= after[s] for s in Stage)


def test_many_pictures_are_compared_in_parts(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = retrieval(photos, top=100).names(RED, seed=0)
    monkeypatch.setattr("weakspot.sources.retrieve._CHUNK", 7)
    monkeypatch.setattr("weakspot.sources.retrieve._REMEMBERED", 1)
    source = retrieval(photos, top=100)
    source.names(BLUE, seed=0)
    assert source.names(RED, seed=0) == whole


def test_a_file_that_changes_under_way_is_an_error_of_its_case(photos: Path) -> None:
    source = retrieval(photos)
    gone, changed, *_ = source.names(RED, seed=0)
    (photos / gone).unlink()
    paint("blue", 77).save(photos / changed)
    for index, what in ((0, "not there"), (1, "was changed")):
        with pytest.raises(WeakspotError, match=what):
            source.draw(RED, [index], seed=0)
    assert source.draw(RED, [2], seed=0)


def test_the_engine_goes_on_where_a_folder_ends(photos: Path, tmp_path: Path) -> None:
    """Draws beyond the end are errors outside the denominator, and no reason to stop."""
    from weakspot.core import Output
    from weakspot.engine import Engine, stop
    from weakspot.judges import LabelJudge
    from weakspot.store import Run, RunConfig

    class Blind:
        def answer(self, cases: Any) -> list[Output]:
            return [Output("stuff" if c.index % 2 else "thing") for c in cases]

    config = RunConfig(study="hunt", subject="thing", settings={}, digests={})
    with (
        Run.create(config, folder=tmp_path / "run") as run,
        Engine(run, source=retrieval(photos, top=20), target=Blind(), judge=LabelJudge(), seed=0) as engine,
    ):
        tally = engine.test(RED, until=stop.drawn(200))
        assert (tally.n, tally.failures, tally.errors) == (20, 10, 0)
        assert engine.reach(RED) == 20  # asked before, so nothing is drawn that is not there


# -- what is expected ------------------------------------------------------------------------------


def test_labels_by_folder(photos: Path) -> None:
    paint("red", 98).save(photos / "loose.png")
    encoder = Tints()
    pool = read_pool(photos, encoder)
    known = by_folder(pool.names)
    every = Retrieval(pool, encoder, known=known, top=9)
    cases = every.draw(BLUE, range(5), seed=0)
    assert {c.expected for c in cases} == {"blue"}
    assert [tuple(s) for s in every.skipped] == [("loose.png", "it has no label")]
    one = Retrieval(pool, encoder, known=known, expected="green", top=9)
    assert set(tints(one, RED)) == {"green"}  # whatever the words: P(failure | words, label)
    assert one.digest != every.digest
    with pytest.raises(WeakspotError, match="no picture has the label 'gren'") as caught:
        Retrieval(pool, encoder, known=known, expected="gren")
    assert "'green'" in caught.value.fix
    with pytest.raises(WeakspotError, match="it is not known what the pictures show"):
        Retrieval(pool, encoder)


ROWS = {
    "a.csv": "file,label,caption\nred/00.png,rose,a rose\nblue/01.png,sky,\n",
    "b.csv": "red/00.png,rose\nblue/01.png,sky\n",
    "c.tsv": "label\tPath\nrose\tred/00.png\nsky\tblue/01.png\n",
    "d.json": json.dumps({"red/00.png": "rose", "blue/01.png": {"label": "sky", "captions": ["a.", "b"]}}),
    "e.json": json.dumps(
        [{"image": "./red/00.png", "label": "rose"}, {"image": "blue/01.png", "label": "sky"}]
    ),
    "f.jsonl": '{"file": "x/red/00.png", "label": "rose"}\n\n{"file": "x/blue/01.png", "label": "sky"}\n',
}


@pytest.mark.parametrize("name", ROWS)
def test_labels_from_a_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(ROWS[name], "utf-8-sig")
    found = read_annotations(tmp_path / name, ["red/00.png", "blue/01.png", "green/02.png"])
    assert {file: known.label for file, known in found.items()} == {
        "red/00.png": "rose",
        "blue/01.png": "sky",
    }
    captions = {known.caption for known in found.values()}
    assert captions == {"a.csv": {"a rose.", ""}, "d.json": {"", "a. b."}}.get(name, {""})


def test_labels_in_another_column_and_captions_alone(tmp_path: Path, photos: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"file": "images/00.png", "name": "hen", "index": 8}\n')
    with pytest.raises(WeakspotError, match="no column 'label'") as caught:
        read_annotations(file, ["00.png"])
    assert "name" in caught.value.fix
    assert read_annotations(file, ["00.png"], column="name") == {"00.png": Annotation("hen")}
    assert read_annotations(file, ["00.png"], column="index") == {"00.png": Annotation("8")}
    file.write_text('{"file": "red/00.png", "captions": ["A rose .", "Red\\u0000\\n thing"]}')
    pool = read_pool(photos, Tints())
    known = read_annotations(file, pool.names)
    source = Retrieval(pool, Tints(), expected="thing", known=known, top=999)
    every = [s.start + i for s in Stage for i in range(source.available(RED, seed=0, stage=s))]
    captions = {c.caption for c in source.draw(RED, every, seed=0)}
    assert captions == {"", "A rose. Red thing."}


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("x.json", "{", "cannot be read"),
        ("x.json", "[1]", "is not a JSON object"),
        ("x.json", "3", "is not a JSON object"),
        ("x.json", '[{"label": "a"}]', "names no file"),
        ("x.json", "{}", "no column"),
        ("x.csv", "", "no column"),
        ("x.csv", "file,label\nnowhere.png,a\n", "mentions none"),
        ("x.csv", "file,label\nx/1.png,a\ny/1.png,b\n", "mentions none"),  # which of the two?
        ("x.csv", "file,label\n2.png,a\n", "mentions none"),  # which of the two?
        ("x.csv", 'file,label\n"' + "x" * 200_000, "cannot be read"),
        ("x.json", "[" * 100_000, "cannot be read"),
    ],
)
@pytest.mark.usefixtures("csv_limit")
def test_labels_that_cannot_be_meant(tmp_path: Path, name: str, content: str, what: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(WeakspotError, match=what) as caught:
        read_annotations(tmp_path / name, ["1.png", "p/2.png", "q/2.png"])
    assert caught.value.fix


def test_labels_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "x.csv", tmp_path / "none.csv", tmp_path):
        with pytest.raises(WeakspotError, match="cannot be read"):
            read_annotations(path, ["1.png"])


# -- the name --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("registered")
def test_it_has_a_name_with_options(photos: Path, tmp_path: Path) -> None:
    source = SOURCES.load(
        f"retrieve:{photos}?encoder=test:tints&top=5&labels=folder&least=0.1&size=4", label="red"
    )
    assert isinstance(source, Retrieval)
    assert (source.top, source.least, source.longest) == (5, 0.1, 4)
    [case] = source.draw(RED, [0], seed=0)
    assert (case.expected, case.input.shape) == ("red", (4, 4, 3))
    assert len(list((tmp_path / "xdg" / "weakspot" / "retrieve").glob("*.npy"))) == 1
    (photos / "labels.csv").write_text("file,label\nred/00.png,rose\n")
    one = load(str(photos), encoder="test:tints", labels="labels.csv", cache="no")
    assert [item.name for item in one.items(PLAIN, seed=0)] == ["red/00.png"]
    load(str(photos), encoder="test:tints", label="red", cache=str(tmp_path / "mine"))
    assert len(list((tmp_path / "mine").glob("*.npy"))) == 1


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("name", "what", "fix"),
    [
        ("retrieve:{}?encoder=test:tints", "does not know what its pictures show", "?label=fly"),
        ("retrieve:{}?label=red", "cannot be built", "retrieve:photos?encoder="),
        ("retrieve:{}?encoder=world:classifier&label=red", "is not an encoder", "world:encoder"),
        ("retrieve:{}?encoder=test:tins&label=red", "no model is called", "test:tints"),
        ("retrieve:{}?encoder=test:tints&label=red&top=0", "top cannot be '0'", "whole number"),
        ("retrieve:{}?encoder=test:tints&label=red&tpo=3", "no option 'tpo'", "'top'"),
        ("retrieve:{}?encoder=test:tints&label=red&labels=none.csv", "cannot be read", "CSV"),
        ("retrieve:{}/none?encoder=test:tints&label=red", "there is no folder", "name a folder"),
        ("retrieve?encoder=test:tints&label=red", "cannot be built", "retrieve:photos"),
    ],
)
def test_wrong_names(photos: Path, name: str, what: str, fix: str) -> None:
    with pytest.raises(WeakspotError) as caught:
        SOURCES.load(name.format(photos))
    assert what in caught.value.what
    assert fix in caught.value.fix


# -- the cache -------------------------------------------------------------------------------------


def shown(photos: Path, cache: Path | None, **options: Any) -> tuple[int, Pool]:
    """How many pictures had to be embedded, and the pool."""
    encoder = Tints(**options)
    pool = read_pool(photos, encoder, cache=cache)
    assert np.allclose(pool.vectors, Tints().embed_images([pool.picture(i) for i in range(len(pool.names))]))
    return encoder.shown, pool


def test_every_picture_is_embedded_once(photos: Path, cache: Path) -> None:
    n, first = shown(photos, cache)
    assert n == 120
    [file] = cache.iterdir()
    written = file.stat().st_mtime_ns
    again, second = shown(photos, cache)
    assert (again, second.digest, second.names) == (0, first.digest, first.names)
    assert isinstance(second.vectors.base, np.memmap)
    assert file.stat().st_mtime_ns == written
    assert shown(photos, cache, digest="tints-2")[0] == 120  # another encoder
    assert read_pool(photos, Tints(), cache=cache, longest=4).vectors.shape == (120, 3)  # another size
    assert len(list(cache.iterdir())) == 3
    assert shown(photos, cache, digest=None)[0] == shown(photos, None)[0] == 120


def test_only_what_is_new_is_embedded(photos: Path, cache: Path) -> None:
    _, first = shown(photos, cache)
    paint("red", 99).save(photos / "red" / "new.png")
    (photos / "blue" / "00.png").unlink()
    (photos / "blue" / "01.png").rename(photos / "blue" / "moved.png")
    os.utime(photos / "blue" / "02.png", ns=(1, 1))
    n, pool = shown(photos, cache)
    assert (n, len(pool.names)) == (1, 120)
    assert pool.digest != first.digest
    paint("blue", 98).save(photos / "red" / "new.png")
    n, changed = shown(photos, cache)
    assert n == 1
    assert changed.digest not in (pool.digest, first.digest)


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", b"junk" * 100, None])
def test_a_damaged_cache_is_made_anew(photos: Path, cache: Path, damage: bytes | None) -> None:
    shown(photos, cache)
    [file] = cache.iterdir()
    if damage is None:
        np.save(file, np.zeros(4))
    else:
        file.write_bytes(damage)
    assert shown(photos, cache)[0] == 120
    assert shown(photos, cache)[0] == 0
    file.write_bytes(file.read_bytes()[:-100])
    assert shown(photos, cache)[0] == 120


def test_a_cache_that_cannot_be_written_is_not_needed(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert shown(photos, tmp_path / "file")[0] == 120
    assert shown(photos, tmp_path / "file" / "below")[0] == 120


def test_what_was_embedded_before_an_interruption_is_kept(
    photos: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Tints):
        def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
            if self.shown >= 2 * pools.BATCH:
                raise KeyboardInterrupt
            return super().embed_images(images)

    monkeypatch.setattr(pools, "BATCH", 10)
    for name in ("aa.png", "zz.png"):
        with pytest.raises(KeyboardInterrupt):
            read_pool(photos, Interrupted(), cache=cache)
        paint("red", ord(name[0])).save(photos / name)
    n, pool = shown(photos, cache)
    assert (n, len(pool.names)) == (122 - 2 * 20, 122)
    assert not [p for p in cache.iterdir() if p.name.startswith(".part-")]
    monkeypatch.setattr(pools, "KEEP_EVERY", 16)
    assert shown(photos, cache / "other")[0] == 122


def test_progress_is_told(photos: Path) -> None:
    told: list[tuple[int, int]] = []
    read_pool(photos, Tints(), progress=lambda done, of: told.append((done, of)))
    assert told == [(i, 120) for i in range(1, 121)]


# -- what a folder may hold ------------------------------------------------------------------------


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def gradient(mode: str, *, size: tuple[int, int] = (16, 8)) -> Image.Image:
    return Image.linear_gradient("L").resize(size).convert(mode)


def clear() -> Image.Image:
    image = Image.new("P", (16, 8), 1)
    image.putpalette([255, 0, 0, 0, 0, 0])
    return image


def sixteen() -> Image.Image:
    return Image.fromarray((np.arange(128, dtype=np.uint16) * 516).reshape(8, 16))


def turned(orientation: int) -> bytes:
    """Lies on its side: the left half is red as stored, and EXIF says how to hold it."""
    image = Image.new("RGB", (16, 8), "blue")
    image.paste((255, 0, 0), (0, 0, 8, 8))
    exif = Image.Exif()
    exif[0x0112] = orientation
    return saved(image, "PNG", exif=exif)


def animated(kind: str) -> bytes:
    frames = [Image.new("RGB", (16, 8), colour) for colour in ("red", "blue")]
    return saved(frames[0], kind, save_all=True, append_images=frames[1:], duration=50)


GOOD: dict[str, bytes] = {
    "rgb.png": saved(gradient("RGB"), "PNG"),
    "grey.jpg": saved(gradient("L"), "JPEG"),
    "cmyk.jpg": saved(gradient("CMYK"), "JPEG"),
    "palette.gif": saved(gradient("P"), "GIF"),
    "palette-clear.png": saved(clear(), "PNG", transparency=1),
    "alpha.png": saved(gradient("RGBA"), "PNG"),
    "grey-alpha.png": saved(gradient("LA"), "PNG"),
    "bits.png": saved(gradient("1"), "PNG"),
    "sixteen.png": saved(sixteen(), "PNG"),
    "sixteen.tif": saved(sixteen(), "TIFF"),
    "whole.tif": saved(gradient("I"), "TIFF"),
    "bitmap.bmp": saved(gradient("RGB"), "BMP"),
    "web.webp": saved(gradient("RGB"), "WEBP"),
    "raw.ppm": saved(gradient("RGB"), "PPM"),
    "animated.gif": animated("GIF"),
    "animated.png": animated("PNG"),
    "animated.webp": animated("WEBP"),
    "pages.tiff": animated("TIFF"),
    "png-inside.jpg": saved(gradient("RGB"), "PNG"),
    "broken-exif.jpg": saved(gradient("RGB"), "JPEG", exif=b"Exif\x00\x00MM\x00*\xff\xff\xff\xff\x00"),
}
BAD: dict[str, tuple[bytes, str]] = {
    "empty.png": (b"", "not a picture in a known format"),
    "text.jpg": (b"hello", "not a picture in a known format"),
    "cut.png": (GOOD["rgb.png"][:-40], "cannot be decoded"),
    "cut.jpg": (saved(gradient("RGB", size=(200, 200)), "JPEG")[:-400], "cannot be decoded"),
    "float.tif": (saved(gradient("F"), "TIFF"), "floating-point"),
    "script.png": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture in a known format"),
    "beyond.tif": (saved(Image.fromarray(np.full((4, 4), 1 << 20, np.int32)), "TIFF"), "beyond 16 bits"),
}


@pytest.mark.parametrize("name", GOOD)
def test_all_kinds_of_pictures_become_rgb(name: str) -> None:
    pixels = decode(GOOD[name])
    assert (str(pixels.dtype), pixels.shape) == ("uint8", (8, 16, 3))
    assert pixels.flags.writeable
    if name.startswith(("animated", "pages")):
        assert pixels.reshape(-1, 3).mean(0).round().tolist() == pytest.approx([255, 0, 0], abs=3)
    if name.startswith("sixteen"):
        assert (pixels[0, 0, 0], pixels[-1, -1, 0]) == (0, 255)
    if name == "palette-clear.png":
        assert pixels.min() == 255  # what is transparent is white


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_picture_says_why(name: str) -> None:
    content, why = BAD[name]
    with pytest.raises(Unusable, match=why):
        decode(content)


@pytest.mark.parametrize(
    ("orientation", "shape", "red"),
    [(1, (8, 16, 3), (0, 0)), (3, (8, 16, 3), (-1, -1)), (6, (16, 8, 3), (0, 0)), (8, (16, 8, 3), (-1, 0))],
)
def test_photographs_are_held_as_their_camera_was(orientation: int, shape: Any, red: Any) -> None:
    pixels = decode(turned(orientation))
    assert pixels.shape == shape
    assert pixels[red].tolist() == [255, 0, 0]


def test_large_pictures_are_made_smaller_and_bombs_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    large = gradient("RGB", size=(900, 300))
    for kind in ("PNG", "JPEG"):
        assert decode(saved(large, kind), longest=90).shape == (30, 90, 3)
    assert decode(saved(gradient("RGB", size=(3, 4000)), "PNG"), longest=64).shape[:2] == (64, 1)
    for limit in (200_000, 1000):  # where Pillow would warn, and where it refuses by itself
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        with pytest.raises(Unusable, match=r"limit|exceeds"):
            decode(saved(large, "PNG"))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert decode(saved(large, "PNG")).shape == (300, 900, 3)


@pytest.fixture
def mess(tmp_path: Path) -> Path:
    """A folder with everything in it."""
    root = tmp_path / "mess"
    (root / "deep" / "er").mkdir(parents=True)
    (root / ".hidden").mkdir()
    (root / "folder.png").mkdir()
    for name, content in GOOD.items():
        (root / "deep" / name).write_bytes(content + name.encode() * name.startswith("png-inside"))
    for name, (content, _) in BAD.items():
        (root / name).write_bytes(content)
    for name in ("deep/.thumb.png", ".hidden/a.png", "deep/er/COPY.PNG"):
        (root / name).write_bytes(GOOD["rgb.png"])
    (root / "readme.txt").write_text("hello")
    (root / "nowhere.png").symlink_to(root / "missing.png")
    os.mkfifo(root / "pipe.png")
    (root / os.fsdecode(b"odd-\xff.png")).write_bytes(turned(3))
    return root


def test_images_in_a_folder(mess: Path) -> None:
    found = list(images_in(mess))
    assert [p.name for p in found] == sorted(p.name for p in found)
    bad = {p.name: p.reason for p in found if p.pixels is None}
    assert set(bad) == {*BAD, "nowhere.png", "pipe.png"}
    assert all(bad.values())
    good = {p.name for p in found if p.pixels is not None and not p.reason}
    assert good == {*(f"deep/{name}" for name in GOOD), "deep/er/COPY.PNG", "odd-\\udcff.png"}
    assert all(p.path.exists() for p in found if p.pixels is not None)


def test_a_pool_leaves_out_what_cannot_be_used_and_says_so(mess: Path, cache: Path) -> None:
    for _ in range(2):
        pool = read_pool(mess, Tints(), cache=cache)
        why = dict(pool.skipped)
        assert set(why) == {*BAD, "nowhere.png", "pipe.png", "deep/rgb.png"}
        assert why["deep/rgb.png"] == "it is the same as deep/er/COPY.PNG"
        assert len(pool.names) == len(GOOD) + 1
        source = Retrieval(pool, Tints(), expected="thing")
        assert set(source.skipped) == set(pool.skipped)
        assert len(source.draw(PLAIN, range(source.available(PLAIN, seed=0)), seed=0)) > 3


def test_files_that_are_too_large_are_not_read(mess: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "LARGEST", 10)
    assert {p.reason for p in images_in(mess / "deep")} == {"it has more than 0 MiB"}
    with pytest.raises(WeakspotError, match=r"can be used: .*it has more than 0 MiB"):
        read_pool(mess, Tints())


def test_a_picture_that_cannot_be_embedded_is_left_out(photos: Path, cache: Path) -> None:
    class Picky(Tints):
        def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> Any:
            if any(i.shape != (8, 8, 3) for i in images):
                raise RuntimeError("odd shape")
            return super().embed_images(images)

    paint("red", 1, size=(3, 5)).save(photos / "odd.png")
    pool = read_pool(photos, Picky(), cache=cache)
    assert [tuple(s) for s in pool.skipped] == [("odd.png", "it cannot be embedded: odd shape")]
    assert len(pool.names) == 120

    class Broken(Tints):
        def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> Any:
            return np.full((len(images), 3), np.nan)

    with pytest.raises(WeakspotError, match=r"can be used: .*no vector of finite numbers"):
        read_pool(photos, Broken())


def test_folders_without_pictures(tmp_path: Path) -> None:
    for folder, what in ((tmp_path / "none", "there is no folder"), (tmp_path, "there are no pictures")):
        with pytest.raises(WeakspotError, match=what) as caught:
            list(images_in(folder))
        assert caught.value.fix
        with pytest.raises(WeakspotError, match=what):
            read_pool(folder, Tints())


# -- a folder as a collection ----------------------------------------------------------------------


def captioned(photos: Path, **options: Any) -> Retrieval:
    names = [f"{tint}/{i:02}.png" for tint in TINTS for i in range(40)]
    said = {n: (f"Two {n.split('/')[0]} things.", "Snowy hills" if n[-5] in "05" else "hills") for n in names}
    return retrieval(photos, captions=said, **options)


def test_a_baseline_has_every_picture_once_in_a_random_order(photos: Path) -> None:
    source = retrieval(photos)
    assert collected(source) is source
    assert collected(retrieval(photos, top=20)) is None
    names = source.names(PLAIN, seed=0)
    assert len(names) == len(set(names)) == source.available(PLAIN, seed=0) == 120
    assert names != sorted(names)
    assert names != source.names(PLAIN, seed=1)
    assert [item.name for item in source.items(PLAIN, seed=0)] == names
    assert source.available(PLAIN, seed=0, stage=Stage.CONFIRM) == 0  # nothing is left that was not asked
    vectors = source.embedded(PLAIN, seed=0).vectors
    assert np.allclose(vectors[3], source.pool.vectors[source.pool.names.index(names[3])])
    check_source(source, PLAIN, n=5)


def test_other_words_have_the_pictures_whose_captions_say_them(photos: Path) -> None:
    source = captioned(photos)
    assert tints(source, Hypothesis("a photo of a thing. it is a red thing.")) == ["red"] * 40
    snow = source.names(Hypothesis("a photo of a thing. snowy hill."), seed=0)
    assert len(snow) == 24  # in other forms, too
    assert not source.names(Hypothesis("a photo of a thing. a violet thing."), seed=0)
    case = source.draw(PLAIN, [0], seed=0)[0]
    assert "things." in case.caption
    assert "hills" in case.caption.lower()


def test_what_tested_a_finding_is_the_baselines_picture(photos: Path) -> None:
    source, found = captioned(photos), Hypothesis("a photo of a thing. red.")
    [plain], [copy] = (
        source.draw(h, [at], seed=0) for h, at in ((PLAIN, 7), (found, Stage.CONFIRM.start + 7))
    )
    assert np.array_equal(plain.input, copy.input)


def test_captions_beside_the_pictures_are_read(photos: Path) -> None:
    rows = [{"file": f"red/{i:02}.png", "captions": [f"thing {i}", "a thing"]} for i in range(40)]
    file = photos.parent / "captions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    how = {"encoder": "world:encoder", "label": "thing"}
    names = [f"{tint}/{i:02}.png" for tint in TINTS for i in range(40)]
    found = _captions(str(photos), "", names, {}) or {}
    assert sorted(found) == [f"red/{i:02}.png" for i in range(40)]
    assert _captions(str(photos), "no", names, {}) == {}
    assert _captions(str(photos), "", names, {"red/00.png": Annotation("red", "told")}) is None
    file.write_text('{"file": "elsewhere.png", "caption": "another folder"}\n')
    assert _captions(str(photos), "", names, {}) == {}
    with pytest.raises(WeakspotError, match="has no caption of a picture"):
        _captions(str(photos), str(file), names, {})
    with pytest.raises(WeakspotError, match="least=… is for pictures that are drawn"):
        load(str(photos), least="0.1", **how)


# -- the world's own encoder -----------------------------------------------------------------------


def test_pictures_of_the_world_are_found_by_its_encoder(tmp_path: Path) -> None:
    from weakspot.world.render import render
    from weakspot.world.scene import Scene

    for subject in ("cat", "boat"):
        for light in ("day", "night"):
            (tmp_path / "pool" / subject).mkdir(parents=True, exist_ok=True)
            for i in range(12):
                pixels = render(Scene(subject=subject, light=light), i, 64)
                Image.fromarray(pixels).save(tmp_path / "pool" / subject / f"{light}-{i}.png")
    name = (
        f"retrieve:{tmp_path / 'pool'}?encoder=world:encoder&labels=folder&top=4&cache={tmp_path / 'cache'}"
    )
    source = SOURCES.load(name, label="cat")
    night = Hypothesis("a realistic photograph of a cat (feline). it is night.")
    check_source(source, night, n=4)
    found = [n for stage in Stage for n in source.names(night, seed=0, stage=stage)]
    assert all(n.startswith("cat/") for n in found)
    assert sum("night" in n for n in found) >= 0.8 * len(found)
