from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weakspot import core
from weakspot.core import (
    Case,
    Finding,
    Hypothesis,
    Output,
    Rate,
    Scores,
    Stage,
    Status,
    Tally,
    Trial,
    Usage,
    Verdict,
    WeakspotError,
    case_seed,
    nearest,
)

texts = st.text(st.characters(codec="utf-8"), max_size=60)
pairs = st.lists(st.tuples(texts, texts), max_size=3).map(tuple)
counts = st.integers(0, 10**6)
tallies = st.builds(Tally, counts, counts, counts, counts)


def test_an_id_follows_from_text_and_concepts_alone() -> None:
    words = Hypothesis("a fly.", (("rotate", "10"),), origin="caption", parent="ab")
    assert words.id == Hypothesis("a fly.", (("rotate", "10"),), origin="person").id
    assert words == Hypothesis("a fly.", (("rotate", "10"),))
    assert len({words.id, Hypothesis("a fly.").id, Hypothesis("a fly").id, Hypothesis("").id}) == 4
    assert len(words.id) == 16
    assert int(words.id, 16) >= 0


def test_ids_and_seeds_never_change() -> None:
    """Runs on disk rest on these; a new value here would orphan all of them."""
    assert Hypothesis("a realistic photograph of a fly (insect).").id == "63e477a3d9361d11"
    assert case_seed(7, Hypothesis("a fly."), 3) == 3746947939444419766


@settings(deadline=None)
@given(texts, pairs, texts, pairs)
def test_ids_tell_different_words_apart(a: str, p: tuple, b: str, q: tuple) -> None:
    assert (Hypothesis(a, p).id == Hypothesis(b, q).id) == (a == b and p == q)


def test_ids_do_not_depend_on_the_process() -> None:
    code = (
        "from weakspot.core import *\n"
        "h = Hypothesis('ä fly.', (('x', '1'),)); print(h.id, case_seed(3, h, 9))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": salt}, capture_output=True, check=True
        ).stdout
        for salt in ("1", "2")
    }
    words = Hypothesis("ä fly.", (("x", "1"),))
    assert outputs == {f"{words.id} {case_seed(3, words, 9)}\n".encode()}


def test_a_lone_surrogate_becomes_its_escape() -> None:
    words = Hypothesis("a \udcff fly")
    assert words.text == "a \\udcff fly"
    assert words.id == Hypothesis("a \\udcff fly").id


@settings(deadline=None)
@given(st.integers(), st.integers(0, 2**33))
def test_seeds_follow_from_run_seed_hypothesis_and_index(run_seed: int, index: int) -> None:
    words = Hypothesis("a fly.")
    seed = case_seed(run_seed, words, index)
    assert 0 <= seed < 2**63
    assert seed == case_seed(run_seed, Hypothesis("a fly.", origin="another"), index)
    assert seed != case_seed(run_seed + 1, words, index)
    assert seed != case_seed(run_seed, Hypothesis("a bee."), index)
    assert seed != case_seed(run_seed, words, index + 1)


def test_seeds_look_uniform() -> None:
    seeds = np.array([case_seed(0, Hypothesis("a fly."), i) for i in range(4000)]) / 2**63
    assert len(set(seeds)) == len(seeds)
    assert np.histogram(seeds, 10, (0, 1))[0].min() > 320
    assert abs(np.corrcoef(seeds[:-1], seeds[1:])[0, 1]) < 0.06


@pytest.mark.parametrize(
    "value",
    [
        Hypothesis("x"),
        Case(Hypothesis("x"), 0, 1, None, "fly"),
        Output("fly"),
        Verdict(True),
        Trial("id", 0, Status.OK, True, None, "fly", "bee"),
        Tally(1),
        Rate(0.5, 0, 1, 2, 1),
        Usage(1, 2.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_all_values_are_frozen(value: object) -> None:
    name = (
        dataclasses.fields(value)[0].name
        if dataclasses.is_dataclass(value)
        else type(value).__annotations__.popitem()[0]
    )
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
        setattr(value, name, "changed")


@pytest.mark.parametrize("name", core.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    thing = getattr(core, name)
    if isinstance(thing, type) or callable(thing):
        assert thing.__doc__
        assert not thing.__doc__.startswith(f"{name}(")  # the text a dataclass makes for itself


def test_stages_own_separate_blocks_of_indices() -> None:
    assert Stage.EXPLORE.start == 0
    for stage in Stage:
        assert Stage.of(stage.start) is stage
        assert Stage.of(stage.start + 2**32 - 1) is stage
    assert {Stage.of(i) for i in range(1000)} == {Stage.EXPLORE}


@settings(deadline=None)
@given(tallies, tallies)
def test_tallies_add_up(a: Tally, b: Tally) -> None:
    both = a.plus(b)
    assert both == b.plus(a)
    assert both.drawn == a.drawn + b.drawn
    assert both.errors == a.errors + b.errors
    assert a.plus(Tally()) == a


def test_errors_leave_the_denominator() -> None:
    tally = Tally(n=10, failures=4, errors=90, undecided=5)
    assert tally.rate == 0.4
    assert tally.drawn == 105
    assert math.isnan(Tally(errors=3).rate)


def test_scores_rank_labels_and_break_ties_by_order() -> None:
    scores = Scores(("ant", "bee", "fly"), np.array([0.25, 0.5, 0.25], np.float32))
    assert scores.top(3) == [("bee", 0.5), ("ant", 0.25), ("fly", 0.25)]
    assert scores.top(9) == scores.top(3)
    assert scores.of("fly") == 0.25


rates = st.builds(
    lambda n, part, low, high: Rate(round(part * n) / n, low, high, n, round(part * n)),
    st.integers(1, 1000),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 1),
)
found = st.builds(
    Finding,
    hypothesis=st.builds(Hypothesis, texts, pairs, origin=texts, parent=st.none() | texts),
    phrase=texts,
    rate=rates,
    baseline=rates,
    log_evidence=st.floats(-100, 1000),
    confirmed=st.booleans(),
    confusions=st.lists(st.tuples(texts, st.floats(0, 1)), max_size=3).map(tuple),
    failing=st.lists(st.integers(0, 2**33), max_size=3).map(tuple),
    passing=st.lists(st.integers(0, 2**33), max_size=3).map(tuple),
)


@settings(deadline=None)
@given(found)
def test_a_finding_comes_back_from_json(finding: Finding) -> None:
    data = json.loads(json.dumps(finding.to_json(), allow_nan=False))
    back = Finding.from_json(data)
    assert back == finding
    assert back.hypothesis.origin == finding.hypothesis.origin
    assert back.hypothesis.parent == finding.hypothesis.parent
    assert data["hypothesis"]["id"] == finding.hypothesis.id


def test_lift_says_how_many_times_the_baseline() -> None:
    some, none = Rate(0.5, 0.4, 0.6, 100, 50), Rate(0.0, 0.0, 0.1, 100, 0)
    finding = Finding(Hypothesis("x"), "x", some, some._replace(value=0.1), 9.0, True)
    assert finding.lift == 5
    never = dataclasses.replace(finding, baseline=none)
    assert never.lift == math.inf
    assert never.to_json()["lift"] is None


def test_errors_say_cause_and_fix() -> None:
    error = WeakspotError("it broke", fix="mend it")
    assert (error.what, error.fix, str(error)) == ("it broke", "mend it", "it broke\nmend it")
    assert str(WeakspotError("it broke")) == "it broke"


def test_the_nearest_name_is_suggested_or_nothing() -> None:
    assert nearest("imges", ["images", "calls"]) == "did you mean 'images'?"
    assert nearest("zzz", ["images", "calls"]) == ""
    assert nearest("x", []) == ""
