"""The pair search against all pairs in float64, on the CPU by numpy and by torch, and what it costs."""

from __future__ import annotations

import importlib.util
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.studies.mine import pairs, shorten
from weakspot.studies.mine.pair_rule import PUBLISHED, PairRule, calibrated, random_similarities
from weakspot.studies.mine.pairs import Pairs, diverse, find_pairs

Matrix = NDArray[np.float32]


def rows(x: Any) -> Matrix:
    x = np.asarray(x, np.float64)
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), np.float32)


def captions(n: int, width: int, *, seed: int, spread: float = 0.35) -> Matrix:
    """Groups of about ten, around a common direction, most of their length in few directions."""
    rng = np.random.default_rng(seed)
    scale = 1 / np.sqrt(np.arange(width) + 2.0)
    centres = rng.normal(size=(max(1, n // 10), width)) * scale
    x = centres[rng.integers(0, len(centres), n)] + spread * rng.normal(size=(n, width)) * scale
    return rows(x @ np.linalg.qr(rng.normal(size=(width, width)))[0] + 0.02)


def brute(
    tested: Matrix, reference: Matrix, rule: PairRule = PUBLISHED
) -> list[tuple[float, int, int, float]]:
    """Every pair by itself, in float64, sorted as promised."""
    found = []
    for i in range(len(tested)):
        for j in range(i + 1, len(tested)):
            a = float(np.einsum("ij,ij->i", tested[[i]].astype(float), tested[[j]].astype(float))[0])
            b = float(np.einsum("ij,ij->i", reference[[i]].astype(float), reference[[j]].astype(float))[0])
            gap = rule.gap is None or a - b > rule.gap
            if a > rule.above and gap and (rule.below is None or b < rule.below):
                found.append((-a, i, j, b))
    return [(-a, i, j, b) for a, i, j, b in sorted(found)]


def dense(tested: Matrix, reference: Matrix, rule: PairRule = PUBLISHED) -> set[tuple[int, int]]:
    """The same set by two full products, for more rows; none may lie on a threshold."""
    a, b = (m.astype(np.float64) @ m.T.astype(np.float64) for m in (tested, reference))
    assert rule.gap is not None
    assert min(np.abs(a - rule.above).min(), np.abs(a - b - rule.gap)[a > rule.above].min()) > 1e-12
    return set(zip(*np.nonzero(np.triu((a > rule.above) & (a - b > rule.gap), 1)), strict=True))


def listed(found: Pairs) -> list[tuple[int, int]]:
    return list(zip(found.first.tolist(), found.second.tolist(), strict=True))


# A few values make ties, copies, and similarities that lie on a threshold to the last bit.
VALUES = st.sampled_from([-1.0, 0.0, 0.0, 0.5, 1.0, 2.0])
SOME = st.lists(st.lists(VALUES, min_size=6, max_size=6).filter(any), min_size=0, max_size=24)


@settings(max_examples=80, deadline=None)
@given(
    table=SOME,
    above=st.sampled_from([-1.0, 0.0, 0.5, 0.8, 0.9, 1.0]),
    gap=st.sampled_from([None, -0.5, 0.0, 0.2]),
    below=st.sampled_from([None, 0.5]),
    limit=st.sampled_from([None, 1, 2, 5, 1000]),
    tile=st.sampled_from([1, 3, 7, 64]),
)
def test_every_pair_that_is_meant_and_no_other(
    table: list[list[float]],
    above: float,
    gap: float | None,
    below: float | None,
    limit: int | None,
    tile: int,
) -> None:
    both = rows(table) if table else np.zeros((0, 6), np.float32)
    tested, reference = np.ascontiguousarray(both[:, :3]), both
    kept = tested.any(1)
    tested, reference = rows(tested[kept]) if kept.any() else tested[kept], reference[kept]
    rule = PairRule(above, gap, below)
    expected = brute(tested, reference, rule)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "TILE", tile)
        found = find_pairs(tested, reference, rule=rule, limit=limit, threads=2)
    assert listed(found) == [(i, j) for _, i, j, _ in expected[:limit]]
    np.testing.assert_array_equal(found.tested, [a for a, *_ in expected[:limit]])
    np.testing.assert_array_equal(found.reference, [b for *_, b in expected[:limit]])
    assert found.complete == (limit is None or len(expected) <= limit)
    if found.complete:
        assert found.alike == len(brute(tested, reference, PairRule(above, None)))


@pytest.mark.parametrize("above", [0.6, 0.85, 0.93])
def test_short_rows_lose_nothing(monkeypatch: pytest.MonkeyPatch, above: float) -> None:
    tested, reference = captions(1500, 96, seed=0), captions(1500, 48, seed=1)
    monkeypatch.setattr(shorten, "FEW", 100)
    monkeypatch.setattr(shorten, "_TRY", 256)
    made: list[int] = []

    def shorter(vectors: Matrix, *, above: float) -> shorten.Short:
        short = shorten.shorten(vectors, above=above, recheck=1000)
        made.append(short.rows.shape[1])
        return short

    monkeypatch.setattr(pairs, "shorten", shorter)
    rule = PairRule(above, 0.2)
    expected = dense(tested, reference, rule)
    assert len(expected) > 20
    assert set(listed(find_pairs(tested, reference, rule=rule))) == expected
    assert made[0] < 96


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("length", [16, 32, 96])
def test_the_bound_is_never_below_the_product(
    monkeypatch: pytest.MonkeyPatch, flat: bool, length: int
) -> None:
    """Whatever the rows: in float32, in any order of summation, and with rows that the basis never saw."""
    rng = np.random.default_rng(length)
    vectors = rows(rng.normal(size=(600, 96))) if flat else captions(600, 96, seed=2)
    vectors[10:20] = vectors[:10]  # copies: their product is 1, the largest there is
    monkeypatch.setattr(shorten, "FEW", 10)
    monkeypatch.setattr(shorten, "_LEARN", 40)
    monkeypatch.setattr(shorten, "_TRY", 20)
    monkeypatch.setattr(shorten, "best_length", lambda *_, **__: length)
    short = shorten.shorten(vectors, above=0.9)
    assert short.rows.shape == (600, length)
    exact = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    order = rng.permutation(length)
    for values in (short.rows @ short.rows.T, short.rows[:, order] @ short.rows[:, order].T):
        assert (values.astype(np.float64) + short.slack >= exact).all()
    assert short.slack < 1e-4


def test_lengths_are_chosen_by_what_they_cost() -> None:
    few = captions(400, 96, seed=3)
    turned = few @ shorten.directions(few)
    one, other = turned[::2], turned[1::2]
    cheap = shorten.best_length(one, other, above=0.9, recheck=100)
    dear = shorten.best_length(one, other, above=0.9, recheck=1e7)
    assert cheap <= dear <= 96
    assert cheap < 96
    assert shorten.best_length(one, other, above=-1.0) in (16, 96)  # every pair passes: nothing to gain
    assert shorten.best_length(one, other, above=0.999, recheck=1e4) <= shorten.best_length(
        one, other, above=0.5, recheck=1e4
    )


def test_the_best_pairs_are_those_of_the_whole_list() -> None:
    tested, reference = captions(2500, 32, seed=4), captions(2500, 32, seed=5)
    every = find_pairs(tested, reference)
    assert every.complete
    assert every.alike is not None
    assert every.alike >= len(every) > 600
    assert (np.diff(every.tested) <= 0).all()
    assert (every.first < every.second).all()
    for limit in (1, 10, 500, len(every), len(every) + 1):
        some = find_pairs(tested, reference, limit=limit)
        assert listed(some) == listed(every)[:limit]
        assert some.complete == (limit >= len(every))


def test_pairs_can_be_refused() -> None:
    tested, reference = captions(1500, 32, seed=6), captions(1500, 32, seed=7)
    group = np.arange(1500) % 7
    found = find_pairs(tested, reference, limit=200, accept=lambda i, j: group[i] != group[j])
    every = [(i, j) for i, j in listed(find_pairs(tested, reference)) if group[i] != group[j]]
    assert listed(found) == every[:200]


def test_progress_reaches_every_pair_and_an_error_ends_the_search() -> None:
    tested = captions(2100, 16, seed=8)
    told: list[tuple[int, int]] = []
    find_pairs(tested, tested, progress=lambda *x: told.append(x))
    assert told[-1] == (2100 * 2099 // 2, 2100 * 2099 // 2)
    assert [done for done, _ in told] == sorted({done for done, _ in told})

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_pairs(tested, tested, progress=stop)
    with pytest.raises(ZeroDivisionError):
        find_pairs(tested, tested, rule=PairRule(gap=None), accept=lambda *_: 1 / 0)  # type: ignore[arg-type]


def test_an_encoder_against_itself_has_no_gap() -> None:
    tested = captions(500, 32, seed=9)
    found = find_pairs(tested, tested)
    assert len(found) == 0
    assert found.alike


def test_memory_is_the_rows_and_the_answer() -> None:
    """Far below the matrix of all pairs (6000² numbers: 144 MB in float32)."""
    tested, reference = captions(6000, 64, seed=10), captions(6000, 64, seed=11)
    find_pairs(tested[:2000], reference[:2000])  # what is imported once does not count
    tracemalloc.start()
    find_pairs(tested, reference, rule=PairRule(0.2, None), limit=100, threads=1)  # millions are above 0.2
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


def test_a_mapped_file_is_as_good(tmp_path: Any) -> None:
    tested, reference = captions(1200, 16, seed=12), captions(1200, 16, seed=13)
    np.save(tmp_path / "a.npy", tested)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert listed(find_pairs(mapped, reference)) == listed(find_pairs(tested, reference))


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda a, b: (a[:-1], b), r"the tested encoder has 29 rows, the reference 30"),
        (lambda a, b: (a * 2, b), r"row 0 of the tested encoder is 2 long, not 1"),
        (
            lambda a, b: (a, np.where(np.arange(30)[:, None] == 7, np.float32(np.nan), b)),
            "row 7 of the ref.*nan",
        ),
        (
            lambda a, b: (a, np.where(np.arange(30)[:, None] == 9, np.float32(0), b)),
            "row 9 of the ref.* 0 long",
        ),
        (lambda a, b: (a.astype(np.float64), b), "float64"),
        (lambda a, b: (a[0], b), "shape"),
    ],
)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_rows_that_cannot_be_searched(spoil: Callable[..., Any], complaint: str, library: str) -> None:
    tested, reference = spoil(captions(30, 8, seed=14), captions(30, 8, seed=15))
    if library == "numpy":
        with pytest.raises(WeakspotError, match=complaint) as error:
            find_pairs(tested, reference)
        assert error.value.fix
        return
    pytest.importorskip("torch")
    from weakspot.studies.mine.pairs_torch import find_pairs_torch

    with pytest.raises(WeakspotError):
        find_pairs_torch(tested, reference, device="cpu")


def test_no_pairs_are_asked_for() -> None:
    some = captions(30, 8, seed=16)
    with pytest.raises(WeakspotError, match="0 pairs"):
        find_pairs(some, some, limit=0)


# -- torch --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tile", "limit"), [(100, None), (100, 50), (512, None), (4096, 50)])
def test_torch_finds_the_same(monkeypatch: pytest.MonkeyPatch, tile: int, limit: int | None) -> None:
    pytest.importorskip("torch")
    from weakspot.studies.mine import pairs_torch

    monkeypatch.setattr(pairs_torch, "FEW", 100)
    monkeypatch.setattr(pairs_torch, "_TRY", 64)
    monkeypatch.setattr(pairs_torch, "_GATHER", 1 << 20)
    tested, reference = captions(700, 96, seed=17), captions(700, 32, seed=18)
    told: list[tuple[int, int]] = []
    found = pairs_torch.find_pairs_torch(
        tested, reference, device="cpu", tile=tile, limit=limit, progress=lambda *x: told.append(x)
    )
    expected = find_pairs(tested, reference, limit=limit)
    assert listed(found) == listed(expected)
    np.testing.assert_allclose(found.tested, expected.tested, atol=1e-12)
    np.testing.assert_allclose(found.reference, expected.reference, atol=1e-12)
    assert (found.alike, found.complete) == (expected.alike, expected.complete)
    assert told[-1] == (700 * 699 // 2, 700 * 699 // 2)
    refused = pairs_torch.find_pairs_torch(tested, reference, device="cpu", accept=lambda i, j: i % 2 == 0)
    assert listed(refused) == [(i, j) for i, j in listed(find_pairs(tested, reference)) if i % 2 == 0]


@pytest.mark.parametrize("above", [0.5, 0.9])
def test_half_precision_is_allowed_for(monkeypatch: pytest.MonkeyPatch, above: float) -> None:
    torch = pytest.importorskip("torch")
    from weakspot.studies.mine import pairs_torch

    monkeypatch.setattr(pairs_torch, "FEW", 10)
    monkeypatch.setattr(pairs_torch, "_TRY", 64)
    vectors = captions(700, 160, seed=19)
    vectors[5] = vectors[6]
    short = pairs_torch.halve(torch.from_numpy(vectors), above=above, recheck=1e3)
    assert short.rows.dtype == torch.float16
    assert short.rows.shape[1] < 160
    product = (short.rows.float() @ short.rows.float().T).half().double().numpy()
    exact = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    assert (product + short.slack >= exact).all()
    assert short.slack < 0.005


def test_a_kernel_and_a_device_that_are_not_there() -> None:
    pytest.importorskip("torch")
    from weakspot.studies.mine.pairs_torch import find_pairs_torch

    some = captions(30, 8, seed=20)
    with pytest.raises(WeakspotError, match="no kernel 'fast'"):
        find_pairs_torch(some, some, device="cpu", kernel="fast")
    with pytest.raises(WeakspotError, match="cannot be put on 'moon'"):
        find_pairs_torch(some, some, device="moon")
    assert len(find_pairs_torch(some[:1], some[:1], device="cpu")) == 0
    assert len(find_pairs_torch(some[:0], some[:0], device="cpu")) == 0


@pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton comes with torch for CUDA alone"
)
def test_the_triton_kernel_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")  # on the CPU, slowly
    from weakspot.studies.mine.pairs_torch import find_pairs_torch

    tested, reference = captions(700, 96, seed=21), captions(700, 32, seed=22)
    for tile in (128, 300, 4096):
        found = find_pairs_torch(tested, reference, device="cpu", kernel="triton", tile=tile)
        assert listed(found) == listed(find_pairs(tested, reference))


# -- thresholds and diversity -------------------------------------------------------------------------


def test_random_pairs_show_the_scale() -> None:
    vectors = captions(300, 16, seed=23)
    every = random_similarities(vectors)
    exact = (vectors.astype(np.float64) @ vectors.T.astype(np.float64))[np.triu_indices(300, 1)]
    np.testing.assert_allclose(every, np.sort(exact), atol=1e-6)
    some = random_similarities(vectors, pairs=20_000, seed=1)
    assert len(some) == 20_000
    assert (some < 1 - 1e-6).all()  # never a row with itself
    np.testing.assert_array_equal(some, random_similarities(vectors, pairs=20_000, seed=1))
    np.testing.assert_allclose(
        np.quantile(some, [0.1, 0.5, 0.9]), np.quantile(exact, [0.1, 0.5, 0.9]), atol=0.02
    )


def test_a_calibrated_rule_does_not_depend_on_the_scale() -> None:
    """Squeezing all rows towards one direction changes every cosine and no order; the pairs stay the same."""
    tested, reference = captions(800, 32, seed=24), captions(800, 32, seed=25)
    squeezed = rows(np.concatenate([tested, np.full((800, 1), 2.0, np.float32)], axis=1))
    assert len(find_pairs(squeezed, reference)) > 3 * len(find_pairs(tested, reference))
    rules = [calibrated(m, reference, alike=0.999, apart=0.9) for m in (tested, squeezed)]
    assert rules[1].above > rules[0].above
    found = [
        set(listed(find_pairs(m, reference, rule=r))) for m, r in zip((tested, squeezed), rules, strict=True)
    ]
    assert len(found[0]) > 100
    assert len(found[0] ^ found[1]) <= 2
    above = np.quantile(random_similarities(tested), 0.999)
    assert rules[0] == PairRule(float(above), None, float(np.quantile(random_similarities(reference), 0.9)))


def test_a_scale_needs_pairs_and_shares() -> None:
    some = captions(5, 4, seed=26)
    with pytest.raises(WeakspotError, match="1 rows have no pairs"):
        random_similarities(some[:1])
    with pytest.raises(WeakspotError, match="alike cannot be 1"):
        calibrated(some, some, alike=1.0)


def test_near_copies_do_not_fill_the_list() -> None:
    """One caption in forty near-copies, each alike to forty of another; and twenty other pairs below them."""
    rng = np.random.default_rng(27)
    centres = rng.normal(size=(42, 64))
    left = centres[0] + 0.01 * rng.normal(size=(40, 64))
    right = centres[1] + 0.01 * rng.normal(size=(40, 64))
    reference = rows(np.concatenate([left, right, centres[2:]]))
    first = [i for i in range(40) for _ in range(40)] + list(range(80, 120, 2))
    second = [j for _ in range(40) for j in range(40, 80)] + list(range(81, 120, 2))
    n = len(first)
    every = Pairs(np.array(first), np.array(second), np.linspace(1, 0.9, n), np.zeros(n))
    one = diverse(every, reference, wanted=10)
    assert listed(one.pairs) == [(0, 40), *((i, i + 1) for i in range(80, 98, 2))]
    assert one.for_text == 1599
    few = diverse(every, reference, wanted=1000, per_text=2)
    assert len(few.pairs) == 22  # and not 1000: the rest would say the same again
    many = diverse(every, reference, wanted=1000, per_text=1000, per_topic=5)
    assert (len(many.pairs), many.for_topic) == (25, 1595)
    assert len(diverse(every, reference, wanted=9999, per_text=2000, per_topic=2000).pairs) == n
    assert len(diverse(every.some(slice(0)), reference, wanted=10).pairs) == 0


def test_a_text_is_in_few_pairs() -> None:
    tested, reference = captions(2500, 32, seed=4), captions(2500, 32, seed=5)
    every = find_pairs(tested, reference)
    some = diverse(every, reference, wanted=100, per_text=1, copy=0.99, topic=0.99)
    used = some.pairs.first.tolist() + some.pairs.second.tolist()
    assert len(used) == len(set(used)) == 200
    assert (np.diff(some.pairs.tested) <= 0).all()
