"""Tags by an encoder: how well they say what pictures show, and the way from pictures to the report."""

import csv
import random

import numpy as np
import pytest
from benchmarks.tags import FIRST, measured
from PIL import Image

import weakspot
from weakspot.concepts.tags import (
    MOST,
    column_of,
    cuts_of,
    directions_of,
    fitted,
    histograms,
    read_tags,
    tagged,
    unit_rows,
)
from weakspot.core import WeakspotError
from weakspot.records import Kind
from weakspot.studies.table.document import TableDocument
from weakspot.studies.table.result import TableResult
from weakspot.world.encoder import WorldEncoder
from weakspot.world.nature import sample
from weakspot.world.render import render
from weakspot.world.scene import SceneSet


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def cone(n, tags, share=0.1, size=1.0, seed=0, width=64):
    """Pictures near each other, as encoders place them; those with a tag lie a little towards its word."""
    rng = np.random.default_rng(seed)
    words = unit(rng.normal(size=(tags, width)))
    has = rng.random((n, tags)) < share
    pictures = 3 * unit(rng.normal(size=(1, width))) + 0.1 * rng.normal(size=(n, width)) + size * has @ words
    return unit(pictures), words, has


# -- calibration ------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.6])
def test_a_tag_is_found_however_common_it_is(share):
    pictures, words, has = cone(2_000, 3, share)
    found = tagged(pictures, words, ["a", "b", "c"])
    assert {one.tag for one in found} == {"a", "b", "c"}
    for one in found:
        so = has[:, "abc".index(one.tag)]
        assert so[one.rows].mean() > 0.97
        assert so[one.rows].sum() / so.sum() > 0.9


def test_scale_and_place_do_not_matter():
    """An encoder may put all pictures near to one word and far from another."""
    counts = np.array([[0, 5, 40, 5, 0, 0, 0, 2, 10, 2]] * 2, float)
    middles = np.array([np.arange(10) * 1e-3 + 0.2, np.arange(10) * 100.0 - 5_000])
    fit = fitted(counts, middles)
    np.testing.assert_allclose(fit.apart[0], fit.apart[1], rtol=1e-6)
    np.testing.assert_allclose((cuts_of(fit)[0] - 0.2) / 1e-3, (cuts_of(fit)[1] + 5_000) / 100, rtol=1e-6)
    np.testing.assert_allclose(fit.share, 14 / 64, rtol=0.02)


@pytest.mark.parametrize("n", [60, 500, 3_000])
def test_words_without_two_groups_are_dropped(n):
    rng = np.random.default_rng(n)
    said = 0
    for _ in range(3):
        cloud = unit(rng.normal(size=64) + 0.6 * rng.standard_t(5, size=(n, 64)))
        said += len(tagged(cloud, unit(rng.normal(size=(100, 64))), [str(i) for i in range(100)]))
    assert said <= 3  # of 300


@pytest.mark.parametrize("kind", ["exponential", "lognormal", "uniform", "laplace"])
def test_a_skewed_or_heavy_tail_is_no_group(kind):
    rng = np.random.default_rng(3)
    rows = getattr(rng, kind)(size=(1_000, 40)).astype(np.float32)
    assert len(tagged(rows, np.eye(40, dtype=np.float32), [str(i) for i in range(40)])) <= 1


def test_of_words_that_mark_the_same_pictures_one_is_kept():
    pictures, words, _ = cone(1_000, 2)
    twice = np.concatenate([words, words[:1] + 0.01])
    assert {one.tag for one in tagged(pictures, twice, ["car", "dog", "car park"])} in (
        {"car", "dog"},
        {"car park", "dog"},
    )


def test_few_pictures_constant_pictures_and_rare_tags_say_nothing():
    pictures, words, has = cone(1_000, 2, 0.01)
    assert tagged(pictures[:40], words, ["a", "b"]) == []
    assert tagged(np.tile(pictures[:1], (100, 1)), words, ["a", "b"]) == []
    assert tagged(pictures, words, ["a", "b"], least=int(has.sum(axis=0).max()) + 1) == []


def test_histograms_count_every_picture():
    pictures, words, _ = cone(300, 4)
    counts, middles = histograms(pictures, words)
    assert (counts.sum(axis=1) == 300).all()
    assert (np.diff(middles, axis=1) > 0).all()


def test_tags_of_pictures_are_a_column_of_lists():
    pictures, words, has = cone(500, 2)
    rows = np.arange(500) * 2
    column = column_of("picture", tagged(pictures, words, ["a", "b"]), rows, 1_000)
    assert column.kind is Kind.LIST
    assert column.values[1] is None
    assert sum("a" in value for value in column.values[::2]) == pytest.approx(has[:, 0].sum(), abs=5)


@pytest.mark.parametrize("answer", [np.zeros((2, 4)), np.full((3, 4), np.nan), np.zeros(3), "text"])
def test_an_encoder_that_answers_otherwise_is_an_error(answer):
    with pytest.raises((WeakspotError, ValueError)):
        unit_rows(answer, 3)


# -- lists of words ---------------------------------------------------------------------------------


def test_our_list_is_short_and_each_tag_fits_after_shows():
    tags = read_tags()
    assert 250 < len(tags) < 400
    assert len({tag.lower() for tag in tags}) == len(tags)
    assert all(tag.isprintable() and tag == tag.strip() for tag in tags)


def test_a_list_of_ones_own(tmp_path):
    file = tmp_path / "tags.txt"
    file.write_text("# mine\ndog\n\n  a red   car \nsnow\ndog\nriding a bicycle\nnight\n", "utf-8-sig")
    assert read_tags(file) == ("a dog", "a red car", "snow", "riding a bicycle", "night")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "empty"),
        (b"# nothing\n", "empty"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"x" * 100, "100 characters"),
        (b"\n".join(b"%d" % i for i in range(MOST + 1)), "5,001 tags"),
    ],
)
def test_lists_that_cannot_be_used(tmp_path, content, what):
    file = tmp_path / "tags.txt"
    file.write_bytes(content)
    with pytest.raises(WeakspotError, match=what):
        read_tags(file)
    with pytest.raises(WeakspotError, match="cannot be read"):
        read_tags(tmp_path / "none.txt")


# -- on the drawn world -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoder():
    return WorldEncoder()


def test_tags_of_the_world_are_right(encoder):
    """Of 328 words, the encoder knows a few dozen; `benchmarks/tags.py` has more pictures."""
    scenes = [sample(SceneSet(), random.Random(FIRST + i)) for i in range(700)]
    found = measured(scenes, encoder, FIRST)
    assert len(found["said"]) >= 8
    assert found["precision"] >= 0.9
    assert found["recall"] >= 0.5
    assert len(found["others"]) <= 2


def test_one_word_alone_is_compared_with_everyday_words(encoder):
    assert np.linalg.norm(directions_of(encoder, ["night"])) > 0.1


# -- from a table to its report ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def photographed(tmp_path_factory):
    """A table of drawn pictures whose model fails at dusk; every 20th picture cannot be read."""
    folder = tmp_path_factory.mktemp("table")
    (folder / "pictures").mkdir()
    rng = random.Random(5)
    rows = []
    for i in range(400):
        scene = sample(SceneSet(), random.Random(FIRST + 50_000 + i))
        name = f"pictures/{i}.png"
        if i % 20:
            Image.fromarray(render(scene, FIRST + 50_000 + i)).save(folder / name)
        elif i % 40:
            (folder / name).write_bytes(b"no picture")
        fails = rng.random() < (0.8 if scene.light == "dusk" else 0.05)
        rows.append((name, scene.subject, "something else" if fails else scene.subject))
    with (folder / "answers.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("image", "label", "prediction"), *rows])
    return folder / "answers.csv"


def test_what_pictures_show_is_a_weak_spot(photographed, tmp_path):
    run = weakspot.hunt(photographed, encoder="world:encoder", out=tmp_path / "run")
    result = TableResult.of(run)
    assert result is not None
    assert result.spots[0].says == ("shows dusk",)
    assert any("20 of 400 pictures cannot be read" in note for note in result.notes)
    assert set(run.config.digests) == {"encoder", "table", "tags"}
    assert "the picture shows dusk" in TableDocument(run).conclusion


def test_a_run_over_kept_vectors_says_the_same(photographed, tmp_path, encoder):
    """As a resumed run does, which does not look again."""
    from weakspot.engine import Watch
    from weakspot.records.verdicts import read_judged
    from weakspot.studies.table.parts import TableParts

    class Blind:
        embed_texts = encoder.embed_texts

        def embed_images(self, images):
            raise AssertionError("it looked again")

    parts = TableParts(read_judged(photographed), encoder=encoder, tags=read_tags())
    first = parts.looked_at(tmp_path / "pictures", Watch())
    again = TableParts(parts.judged, encoder=Blind(), tags=read_tags()).looked_at(
        tmp_path / "pictures", Watch()
    )
    assert first.concepts.concepts == again.concepts.concepts
    assert (first.concepts.rows != again.concepts.rows).nnz == 0


def test_progress_is_told(photographed, tmp_path, encoder):
    from weakspot.engine import Watch

    told = []

    class Told(Watch):
        def progress(self, words, done, total):
            told.append((words, done, total))

    weakspot.hunt(photographed, encoder=encoder, tags=None, out=tmp_path / "run", watch=Told())
    assert told[0] == ("looking at pictures", 0, 400)
    assert told[-1] == ("looking at pictures", 400, 400)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"tags": "tags.txt"}, "tags need an encoder"),
        ({"encoder": "world:classifier"}, "not a Encoder|not an Encoder"),
        ({"encoder": "world:encoder", "tags": "none.txt"}, "none.txt"),
        ({"encoder": "world:encodr"}, "encodr"),
    ],
)
def test_what_cannot_be_meant_is_refused(photographed, tmp_path, options, what):
    with pytest.raises(WeakspotError, match=what):
        weakspot.hunt(photographed, out=tmp_path / "run", **options)


def test_a_table_without_pictures_is_refused(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("label,prediction,weather\n" + "a,b,rain\na,a,fog\n" * 30)
    with pytest.raises(WeakspotError, match="names no pictures"):
        weakspot.hunt(file, encoder="world:encoder", out=tmp_path / "run")
    file.write_text("image,label,prediction\n" + "x.png,a,b\n/etc/passwd,a,a\n" * 30)
    with pytest.raises(WeakspotError, match="none of the pictures"):
        weakspot.hunt(file, encoder="world:encoder", out=tmp_path / "run2")
