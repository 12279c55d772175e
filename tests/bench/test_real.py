"""The benchmark on real data: tiny tables whose truth is plain, the rivals on them, one look at real data."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.sparse import csc_matrix
from scipy.stats import fisher_exact

from weakspot.bench.real import compare, learners, plantings
from weakspot.bench.real.compare import METHODS, null_tables
from weakspot.bench.real.imagenet import error_ratios, factor_order, failures_in_words
from weakspot.bench.real.methods import Said, Slices, rejected, uncovered_first, upper_tails
from weakspot.bench.real.plantings import Planting, Setting, design
from weakspot.bench.real.scoring import says, score
from weakspot.bench.real.tables import RealTable, as_marks, marks_of, slices_of, words_of
from weakspot.core import WeakspotError

#: What tests what it reports. The others, as published, report their best ten of every table.
TESTED = ("weakspot", "frequencies", "tree", "enumeration", "mixture", "keywords")
WORDS = ("dog", "cat", "water", "night", "red", "blue", "tree", "car", "child", "ball", "snow", "hat")


@pytest.fixture(autouse=True)
def _no_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder takes seconds to load; without it the mixture goes by TF-IDF."""
    monkeypatch.setattr(learners, "_encoder", lambda: None)


def toy(n: int = 800, *, seed: int = 0, wrong: bool = False) -> RealTable:
    rng = np.random.default_rng(seed)
    texts = [" ".join(w for w in WORDS if rng.random() < 0.25) or "thing" for _ in range(n)]
    marks = marks_of(
        [f"a {text.replace(' ', ' . a ')}" for text in texts], {"light": ["dusk", ""] * (n // 2)}
    )
    return RealTable("toy", texts, marks, marks, rng.random(n) < 0.1 if wrong else None)


def said(*statements: str) -> list[Said]:
    return [Said(frozenset(one.split("&"))) for one in statements]


def planted(table: RealTable, *spots: str, rate: float = 0.8) -> Planting:
    notions = tuple(frozenset(spot.split("&")) for spot in spots)
    chance = plantings._chance(table, notions, rate)
    rows = np.arange(len(table))
    failed = np.random.default_rng(1).random(len(table)) < chance
    return Planting(
        Setting("toy", 0, 1, 0, 0), notions, (0.2,) * len(spots), rate, rows, rows, chance, failed
    )


# -- methods -----------------------------------------------------------------------------------------


def test_p_values_are_fisher_s() -> None:
    n, failed = 500, 60
    a, size = np.array([9, 20, 3, 60, 12, 0, 1]), np.array([20, 40, 4, 400, 12, 9, 1])
    expected = [
        fisher_exact([[x, s - x], [failed - x, n - s - failed + x]], alternative="greater").pvalue
        for x, s in zip(a, size, strict=True)
    ]
    found = upper_tails(a.astype(float), size.astype(float), failed, n)
    more = a * n > size * failed
    np.testing.assert_allclose(found[more], np.array(expected)[more], rtol=1e-9)
    assert (found[~more] == 1).all()
    assert rejected(np.array([1e-9, 0.04, 0.9])).tolist() == [True, False, False]


def test_what_a_better_statement_covers_is_passed_over() -> None:
    table = toy()
    slices = planted(table, "text:dog").slices(table)
    dog, water = slices.names.index("text:dog"), slices.names.index("text:water")
    assert uncovered_first(slices, [[dog], [dog, water], [water]]) == [[dog]]


@pytest.mark.parametrize("method", METHODS)
def test_every_rival_finds_a_plain_weak_spot(method: str) -> None:
    table = toy()
    planting = planted(table, "text:dog", rate=0.9)
    statements = METHODS[method](planting.slices(table), seed=1)
    assert score(planting, table, method, statements, seconds=0).found == 1
    assert len(statements) <= 10
    assert statements == METHODS[method](planting.slices(table), seed=1)


@pytest.mark.parametrize("method", ["tree", "sliceline", "enumeration"])
def test_conjunctions_are_named(method: str) -> None:
    table = toy(1500)
    planting = planted(table, "text:dog&text:water")
    found = score(planting, table, method, METHODS[method](planting.slices(table), seed=1), seconds=0)
    assert (found.found, found.exact, found.false) == (1, 1, 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("failed", [np.zeros(40, bool), np.ones(40, bool), np.arange(40) == 3])
def test_no_rival_needs_failures_or_successes(method: str, failed: np.ndarray) -> None:
    table = toy(40)
    found = METHODS[method](slices_of(table, np.arange(40), failed), seed=0)
    assert found == [] or (method not in TESTED and failed.sum() == 1)


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(TESTED)))
def test_as_published_none_tests_what_it_reports(method: str) -> None:
    """Where failures have nothing to do with anything, they name some all the same, each once."""
    table = toy(600)
    failed = np.random.default_rng(2).random(600) < 0.2
    found = METHODS[method](slices_of(table, np.arange(600), failed), seed=0)
    assert 1 <= len(found) == len(set(found)) <= 10


def test_an_enumeration_misses_no_slice() -> None:
    from itertools import combinations

    from weakspot.bench.real import rivals

    rng = np.random.default_rng(3)
    rows = rng.random((300, 9)) < 0.4
    failed = rng.random(300) < np.where(rows[:, :3].all(1), 0.8, 0.05)
    search = rivals._Search(300, failed.sum(), 5, 0.95)
    every = [c for k in (1, 2, 3) for c in combinations(range(9), k)]
    counted = [(rows[:, c].all(1), c) for c in every]
    scored = sorted(
        (-float(search.score(np.array(float((inside & failed).sum())), np.array(float(inside.sum())))), c)
        for inside, c in counted
        if inside.sum() >= 5
    )
    names = tuple(f"c{i}" for i in range(9))
    slices = Slices(names, csc_matrix(rows.astype(np.uint8)), failed, [""] * 300)
    [first, *_] = rivals.enumeration(slices, seed=0)
    assert first.names == {names[i] for i in scored[0][1]}


# -- tables ------------------------------------------------------------------------------------------


def test_concepts_are_words_in_base_form_and_values() -> None:
    assert words_of("Two dogs are running on the beach.\nA dog's red ball") == {
        "two", "dog", "run", "beach", "red", "ball",
    }  # fmt: skip
    marks = marks_of(["dogs", "a dog", "cats"] * 5, {"light": ["dusk", "", "day"] * 5})
    assert marks.names == ("light=day", "light=dusk", "text:cat", "text:dog")
    assert marks.rows.sum(axis=0).tolist() == [[5, 5, 5, 10]]
    assert as_marks([["a"]] * 4).names == ()


def test_a_folder_without_the_data_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="lacks 6 of the 6 files") as error:
        compare.run(tmp_path)
    assert "imagenet-x/annotations.csv.gz" in error.value.fix
    with pytest.raises(WeakspotError, match="no method"):
        compare.run(tmp_path, methods=["forest"])
    with pytest.raises(WeakspotError, match="no part"):
        compare.run(tmp_path, parts=["plant"])


# -- plantings ---------------------------------------------------------------------------------------


def test_a_design_is_fair_and_shares_nothing_with_the_other() -> None:
    table, seen = toy(2000, wrong=True), {}
    for name in ("tune", "test", "third"):
        own = list(design(name, lambda _: table, settings=[Setting("toy", 1000, 3, 2, 1)]))
        again = list(design(name, lambda _: table, settings=[Setting("toy", 1000, 3, 2, 1)]))
        assert [p.name for p in own] == [p.name for p in again]
        assert {p.kind for p in own} <= {"one notion", "two together", "two apart"}
        for planting in own:
            assert not set(planting.seen) & set(planting.truth)
            assert len(planting.seen) == 1000
            for spot in planting.spots:
                inside = planting.slices(table).rows[
                    :, [planting.slices(table).names.index(n) for n in sorted(spot)]
                ]
                assert (np.asarray(inside.sum(axis=1)).ravel() == len(spot)).sum() >= plantings.FEWEST
            real = table.errors[planting.truth]
            assert (planting.chance[planting.truth][real] == 1).all()
        seen[name] = {spot for planting in own for spot in planting.spots}
    assert all(seen.values())
    assert not seen["tune"] & seen["test"]
    assert not seen["third"] & (seen["tune"] | seen["test"])
    with pytest.raises(WeakspotError, match="no design"):
        list(design("tests", lambda _: table))


def test_pictures_that_are_shown_twice_stay_on_one_side() -> None:
    table = toy(200, wrong=True)
    twice = RealTable("t", table.texts, table.notions, table.marks, table.wrong, np.arange(200) // 2)
    seen, truth = plantings.halves(twice, 101, Random(0))
    assert not set(seen // 2) & set(truth // 2)
    assert len(seen) + len(truth) == 200


# -- scores ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([], (0, 0, 0, 0)),
        (["text:dog"], (1, 1, 1, 0)),
        (["text:dog&text:water"], (0, 0, 0, 0)),  # a part of it, too small to be it
        (["text:dog&text:water", "text:dog"], (1, 0, 1, 0)),  # a person reads the other first
        (["text:tree", "text:dog"], (1, 1, 1, 1)),  # unrelated, and a false discovery
        (["text:unicorn"], (0, 0, 0, 1)),
        (["text:hound"], (1, 1, 1, 0)),  # marks the same rows
    ],
)
def test_statements_are_judged_by_the_truth(
    statements: list[str], expected: tuple[int, int, int, int]
) -> None:
    table = toy()
    rows = table.marks.rows.tolil()
    dog = rows[:, table.marks.names.index("text:dog")]
    tree = rows[:, table.marks.names.index("text:tree")].toarray().ravel() > 0
    chance = planted(table, "text:dog").chance
    assume = chance[tree].mean() <= chance.mean()
    both = csc_matrix(np.hstack([rows.toarray(), dog.toarray()]))
    more = RealTable(
        "toy", table.texts, table.notions, type(table.marks)((*table.marks.names, "text:hound"), both)
    )
    found = score(planted(more, "text:dog"), more, "m", said(*statements), seconds=0)
    assert assume
    assert (found.found, found.exact, found.named, found.false) == expected


def test_two_weak_spots_are_counted_apart() -> None:
    table = toy()
    planting = planted(table, "text:dog", "text:cat&text:water")
    found = score(planting, table, "m", said("text:cat&text:water", "text:dog"), seconds=0)
    assert (found.notable, found.found, found.exact) == (2, 2, 2)
    assert says(frozenset({"text:cat"}), planting.spots[1], table) is False


def test_tables_with_errors_independent_of_everything() -> None:
    table = toy(1000)
    found = null_tables(
        lambda _: table,
        {method: METHODS[method] for method in TESTED},
        n=12,
        settings=[Setting("toy", 300, 0, 0, 0), Setting("toy", 0, 0, 0, 0)],
    )
    assert set(found) == set(TESTED)
    assert all(share.low <= share.rate <= share.high for share in found.values())
    assert all(share.rate <= 0.25 for share in found.values())


# -- real failures -----------------------------------------------------------------------------------


def test_one_half_proposes_and_the_other_judges() -> None:
    table = toy(2000)
    wrong = planted(table, "text:dog", rate=0.6).failed
    real = RealTable("toy", table.texts, table.notions, table.marks, wrong)
    fixed = {"right": lambda slices, *, seed: said("text:dog"), "none": lambda slices, *, seed: []}
    right, none = failures_in_words(real, fixed, splits=1)
    assert (right.reported, right.right, right.precision) == (1, 1, 1.0)
    assert 0.4 < right.explained < 0.8
    assert 0.2 < right.rows < 0.3
    assert (none.precision, none.explained) == (None, 0.0)


def test_intervals_of_error_ratios_cover() -> None:
    rng = np.random.default_rng(0)
    marks = csc_matrix((rng.random((6000, 4)) < [0.3, 0.1, 0.05, 0.5]).astype(np.uint8))
    failed = rng.random(6000) < 0.1 + 0.2 * marks[:, [1]].toarray().ravel()
    truth, _, _ = error_ratios(marks, failed, of=6000)
    covered = []
    for _ in range(200):
        chosen = rng.permutation(6000)[:1500]
        _, low, high = error_ratios(marks[chosen], failed[chosen], of=6000)
        covered.append((low <= truth) & (truth <= high))
    assert 0.92 < np.mean(covered) < 0.98


# -- the command -------------------------------------------------------------------------------------


def test_the_command_says_what_it_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from weakspot.cli import run as cli

    assert cli(["bench", "real", str(tmp_path)]) != 0
    shown = capsys.readouterr().err
    assert "lacks 6 of the 6 files" in shown
    assert "blindtest/answers.csv.gz" in shown


def written(folder: Path) -> Path:
    """All files of the benchmark, tiny."""
    rng = np.random.default_rng(0)
    for name in ("flickr8k", "captions", "imagenet-x", "blindtest"):
        (folder / name).mkdir()
    texts = toy(300).texts
    lines = [json.dumps({"captions": [f"a {word}" for word in text.split()]}) for text in texts]
    (folder / "flickr8k/captions.jsonl").write_text("\n".join(lines))
    notes = [{"image_id": i, "caption": text} for i, text in enumerate(texts)]
    (folder / "captions/coco-val2017-captions.json").write_text(json.dumps({"annotations": notes}))
    factors = ("pose", "background")

    def packed(name: str, rows: list[str]) -> None:
        (folder / name).write_bytes(gzip.compress("\n".join(rows).encode()))

    every = [f for f in compare_factors() if f not in factors]
    head = ",".join(["image", "label", "real_labels", *factors, *every, "justification", "one_word"])
    cells = [
        ",".join([f"{i},1,", *rng.choice(["0", "1"], 2), *["0"] * 14, t, ""]) for i, t in enumerate(texts)
    ]
    packed("imagenet-x/annotations.csv.gz", [head, *cells])
    for model in ("resnet50", "dino"):
        answers = [f"{i},1,{rng.choice([1, 1, 2])},0.5" for i in range(300)]
        packed(f"imagenet-x/predictions-{model}.csv.gz", ["image,label,predicted,probability", *answers])
    asked = [
        f'T,{i},P,{model},{rng.integers(2)},"{{""count"": ""{i % 4}""}}"'
        for i in range(60)
        for model in ("gpt-4o", "claude-3-sonnet", "claude-3.5-sonnet")
    ]
    packed("blindtest/answers.csv.gz", ["task,image,prompt,model,correct,parameters", *asked])
    return folder


def compare_factors() -> tuple[str, ...]:
    from weakspot.bench.real.tables import FACTORS

    return FACTORS


def test_the_command_on_tiny_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from weakspot.cli import run as cli

    folder = written(tmp_path)
    parts = "planted,null,words,factors"
    asked = ["bench", "real", str(folder), "--quick", "--parts", parts, "--methods", "frequencies,tree"]
    assert cli([*asked, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result["null"]) == {"frequencies", "tree"}
    assert len(result["words"]) == 2
    assert [order["table"] for order in result["factors"]] == ["imagenet-x resnet50", "imagenet-x dino"]
    assert cli(asked) == 0
    shown = capsys.readouterr().out
    assert "share with any finding" in shown
    assert "decision tree" in shown


def test_the_command_with_a_language_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from weakspot.cli import run as cli

    asked = ["bench", "real", str(written(tmp_path)), "--quick", "--parts", "planted", "--tables", "2"]
    reader = "python:weakspot.bench.llms:CountingReader"
    methods = ["--methods", "weakspot,llm,both"]
    assert cli([*asked, *methods, "--llm", reader, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["details"]) <= 2
    assert result["model"] == reader
    assert cli([*asked, *methods]) == 1
    assert "--llm MODEL" in capsys.readouterr().err


def test_a_language_model_reads_a_table_of_the_benchmark() -> None:
    """What it names in words of the table is a statement; it is tested as the rules' are."""
    from weakspot.bench import llms
    from weakspot.bench.real.asked import concepts_of, proposing

    names = ("text:dog", "text:snow", "pose=1", "light=day", "light=dusk", "n=0", "n=1", "n=2")
    assert [one.phrase for one in concepts_of(names)] == [
        "“dog”", "“snow”", "pose is yes", "light is day", "light is dusk", "n is 0", "n is 1", "n is 2",
    ]  # fmt: skip
    rng = np.random.default_rng(1)
    marks = rng.random((2000, 3)) < 0.3
    texts = [" ".join(w for w, on in zip(("dog", "snow"), row, strict=False) if on) for row in marks]
    failed = rng.random(2000) < np.where(marks[:, 0] & marks[:, 2], 0.6, 0.04)
    slices = Slices(names[:3], csc_matrix(marks.astype(float)), failed, texts)
    reader = "python:weakspot.bench.llms:CountingReader"
    for rules in (True, False):
        said = proposing(slices, seed=1, llm=reader, rules=rules)
        assert Said(frozenset({"text:dog", "pose=1"})) in said
    assert llms.model(reader) is llms.model(reader)


def test_real_tables(data: Path) -> None:
    """The tables are as they were published, and counting words finds a planted notion in them."""
    from weakspot.bench.real.tables import real_tables

    read = {name: how() for name, how in real_tables(data / "data").items() if "dino" not in name}
    assert [len(table) for table in read.values()] == [2000, 5000, 48_868, 6144, 6144, 6144]
    resnet = read["imagenet-x resnet50"]
    assert 0.23 < resnet.errors.mean() < 0.25
    assert factor_order(resnet, samples=2).published[0][0] == "subcategory"
    settings = [Setting("flickr8k", 1000, 2, 1, 0), Setting("imagenet-x resnet50", 5000, 1, 0, 0)]
    tables = [(p, read[p.setting.table]) for p in design("tune", read.__getitem__, settings=settings)]
    assert len(tables) == 4
    for planting, table in tables:
        found = score(planting, table, "f", METHODS["frequencies"](planting.slices(table), seed=0), seconds=0)
        assert found.found == 1
        assert found.exact == (planting.kind == "one notion")
