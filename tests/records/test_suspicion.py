"""Is it the model or the label? On tables whose label errors are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from weakspot.records import Judged, Records, Roles
from weakspot.records.suspicion import label_share, remaining_failures, suspicion, why_nothing

Truth = NDArray[np.bool_]
LABELS = 20


def table(
    *, n: int = 10_000, slips: float = 0.0, several: float = 0.0, sharp: float = 1.0, seed: int = 0
) -> tuple[Judged, Truth]:
    """A model whose scores are `sharp` times too sure, and the failures that are the label's.

    A share `slips` of all labels is another one by chance; hard inputs have several good answers. Wrong
    answers are mostly the neighbour of the right one.
    """
    rng = np.random.default_rng(seed)
    logit = rng.normal(2.5, 2.0, n)
    right = expit(logit)
    acceptable = rng.random(n) < right
    answer = rng.integers(LABELS, size=n)

    def any_other() -> NDArray[np.int64]:
        return (answer + rng.integers(1, LABELS, n)) % LABELS

    def like() -> NDArray[np.int64]:
        return np.where(rng.random(n) < 0.7, answer ^ 1, any_other())

    draw = rng.random(n)
    slip = acceptable & (draw < slips)
    other = acceptable & ~slip & (draw < slips + several * np.sqrt(1 - right))
    label = np.where(acceptable, answer, like())
    label = np.where(slip, any_other(), np.where(other, like(), label))
    return judged(label, answer, expit(sharp * logit)), slip | other


def judged(label: NDArray[np.int64], answer: NDArray[np.int64], score: NDArray[np.float64]) -> Judged:
    return Judged(
        Records("a test", "list", {}, np.arange(1, len(label) + 1)),
        Roles(label="label", prediction="prediction", score="score"),
        label != answer,
        "prediction differs from label",
        [str(value) for value in label],
        [str(value) for value in answer],
        score,
    )


@pytest.mark.parametrize("sharp", [0.6, 1.0, 2.0])
@pytest.mark.parametrize("slips", [0.03, 0.1])
def test_the_share_of_label_errors_is_right_however_overconfident_the_model(
    slips: float, sharp: float
) -> None:
    shares = []
    for seed in range(3):
        given, truth = table(slips=slips, sharp=sharp, seed=seed)
        shares.append((suspicion(given)[given.failed].mean(), truth[given.failed].mean()))
    said, true = np.mean(shares, axis=0)
    assert said == pytest.approx(true, abs=0.04)


def test_a_suspicion_is_a_probability() -> None:
    given, truth = table(n=40_000, slips=0.05)
    found = suspicion(given)
    for low in np.arange(0, 1, 0.2):
        here = given.failed & (found > low) & (found <= low + 0.2)
        if here.sum() > 100:
            assert found[here].mean() == pytest.approx(truth[here].mean(), abs=0.08)
    surely = given.failed & (found > 0.5)
    assert truth[surely].mean() > 0.7


@pytest.mark.parametrize("several", [0.2, 0.4])
def test_hard_inputs_with_several_good_answers_are_found_in_large_tables(several: float) -> None:
    given, truth = table(n=40_000, several=several)
    said = suspicion(given)[given.failed].mean()
    assert said == pytest.approx(truth[given.failed].mean(), abs=0.12)


@pytest.mark.parametrize("sharp", [0.5, 1.0, 2.5])
@pytest.mark.parametrize(("n", "tables"), [(300, 40), (3000, 20), (30_000, 5)])
def test_without_label_errors_hardly_any_table_is_suspected(n: int, tables: int, sharp: float) -> None:
    shares = []
    for seed in range(tables):
        given, _ = table(n=n, sharp=sharp, seed=seed)
        shares.append(suspicion(given)[given.failed].mean())
    assert np.mean(np.array(shares) > 0) <= 0.05
    assert np.mean(shares) < 0.02


@pytest.mark.parametrize("places", [2, 3])
def test_rounded_scores_raise_no_suspicion(places: int) -> None:
    given, _ = table(n=20_000)
    rounded = replace(given, score=np.round(given.score, places))
    assert suspicion(rounded)[given.failed].mean() < 0.02


def test_rows_that_pass_are_not_suspected() -> None:
    given, _ = table(slips=0.1)
    found = suspicion(given)
    assert not found[~given.failed].any()
    assert 0 < found[given.failed].max() <= 1


def test_the_order_of_rows_and_the_names_of_labels_do_not_matter() -> None:
    given, _ = table(slips=0.05, several=0.3)
    order = np.random.default_rng(1).permutation(len(given))
    other = Judged(
        given.records.rows(order),
        given.roles,
        given.failed[order],
        given.rule,
        [f"no. {given.expected[row]}" for row in order],
        [f"no. {given.answer[row]}" for row in order],
        given.score[order],
    )
    assert suspicion(other) == pytest.approx(suspicion(given)[order], abs=1e-3)


def test_a_second_model_that_agrees_makes_a_label_more_suspect() -> None:
    given, truth = table(slips=0.05)
    rng = np.random.default_rng(1)
    agrees = rng.random(len(given)) < np.where(~given.failed | truth, 0.9, 0.2)
    label = np.array([int(value or 0) for value in given.expected])
    other = np.where(agrees, [int(value or 0) for value in given.answer], (label + 7) % LABELS)
    alone = suspicion(given)
    both = suspicion(given, [([str(value) for value in other], given.score)])
    failed = given.failed
    assert both[failed & agrees].mean() > 2 * both[failed & ~agrees].mean()
    assert both[truth & failed].mean() - both[~truth & failed].mean() > (
        alone[truth & failed].mean() - alone[~truth & failed].mean()
    )


def test_a_failing_row_without_a_score_gets_the_mean() -> None:
    given, _ = table(slips=0.1)
    row = int(np.flatnonzero(given.failed)[0])
    score = given.score.copy()
    score[row] = np.nan
    found = suspicion(replace(given, score=score))
    others = given.failed.copy()
    others[row] = False
    assert found[row] == pytest.approx(found[others].mean())


def test_why_nothing_is_suspected_is_said() -> None:
    given, _ = table(slips=0.1)
    few, _ = table(n=40)
    assert why_nothing(given) == ""
    reasons = {
        "already says": replace(given, roles=given.roles._replace(relabelled="real_labels")),
        "is not a prediction": replace(given, roles=Roles(score="score")),
        "differs from a label": replace(given, failed=~given.failed),
        "has no scores": replace(given, score=np.full(len(given), np.nan)),
        "not probabilities": replace(given, score=given.score * 100),
        "fewer than": few,
    }
    for reason, one in reasons.items():
        assert reason in why_nothing(one)
        assert not suspicion(one).any()


def test_the_share_of_a_finding_has_an_interval_that_covers() -> None:
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(400):
        chance = rng.beta(1, 2, 60)
        true = (rng.random(60) < chance).mean()
        share = label_share(np.ones(60, bool), chance, np.ones(60, bool))
        covered.append(share.low <= true <= share.high)
    assert np.mean(covered) > 0.92


def test_a_finding_keeps_the_failures_that_are_the_models() -> None:
    failed = np.array([True, True, True, False, True])
    chance = np.array([0.9, 0.1, 0.5, 0.0, 1.0])
    members = np.array([True, True, False, True, False])
    assert label_share(failed, chance, members).rate == pytest.approx(0.5)
    assert remaining_failures(failed, chance, members) == pytest.approx(1.0)
    assert label_share(failed, chance, np.zeros(5, bool)) == (0.0, 0.0, 1.0)
