"""How the embedded judge learns from labelled answers.

The shape is logistic regression with beliefs: every weight starts where its meaning puts it (`BELIEFS`),
the labelled answers pull it away as far as a Gaussian prior lets them, and none may change sign. With no
data it is a set of rules; with data of a few vendors it does not come to believe that politeness is
compliance. The wording is plain logistic regression. Both are joined, calibrated and given their band on
answers of groups (models, styles) that neither had learnt from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.judges.refusal.forms import read
from weakspot.judges.refusal.model import USUAL, Band, Blend, RefusalModel
from weakspot.judges.refusal.shape import BELIEFS, features
from weakspot.judges.refusal.speech_acts import acts_of
from weakspot.judges.refusal.wording import Wording, fit_wording, rows_of

#: Variance of the beliefs (log odds squared). On XSTest 0.1, 0.3 and 1 do alike: the least was taken.
VARIANCE: Final = 0.1
BIAS: Final = -2.5
#: Shares of what is decided that may be wrong: each has its band.
ERRORS: Final = (0.005, 0.01, USUAL, 0.02, 0.03)
#: An answer that was put together of sentences says less about models than one that a model gave.
COMPOSED: Final = 0.25

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Example(NamedTuple):
    """An answer to learn from, and who gave it. What is composed teaches the wording, and not the shape."""

    question: str | None
    answer: str
    refused: bool
    group: str
    composed: bool = False


class Opinions(NamedTuple):
    """The log odds of both opinions on examples, from models that did not learn from the examples' groups."""

    shape: Floats
    wording: Floats


def matrix(answers: Sequence[str], questions: Sequence[str | None]) -> Floats:
    """One row of features per answer, in the order of `BELIEFS`."""
    rows = []
    for answer, question in zip(answers, questions, strict=True):
        found = read(answer)
        rows.append(list(features(acts_of(found.text, found.tongue.code), question).values()))
    return np.array(rows, float).reshape(len(rows), len(BELIEFS))


def learn(
    examples: Sequence[Example], *, variance: float = VARIANCE, leave: Sequence[str] = ()
) -> RefusalModel:
    """Everything: both opinions, how they are joined, and the bands. Needs answers of two groups or more."""
    found, opinions = learn_each(examples, variance=variance, leave=leave)
    return joined(found, examples, opinions)


def learn_each(
    examples: Sequence[Example], *, variance: float = VARIANCE, leave: Sequence[str] = ()
) -> tuple[RefusalModel, Opinions]:
    """Both opinions learnt from all, and what models that lacked an example's group say of it.

    The models that lack the groups in `leave` are kept in `without`.
    """
    texts = [read(one.answer).text for one in examples]
    shapes = matrix([one.answer for one in examples], [one.question for one in examples])
    words = rows_of(texts)
    refused = np.array([one.refused for one in examples], np.bool_)
    groups = np.array([one.group for one in examples])
    if len(set(groups.tolist())) < 2:  # then halves of the one group stand for strangers
        groups = np.array([f"{one.group} {i % 2}" for i, one in enumerate(examples)])
    given = np.array([not one.composed for one in examples], np.bool_)

    def fitted(used: Bools) -> RefusalModel:
        real = used & given
        shape = fit_shape(shapes[real], refused[real], groups[real], variance=variance)
        wording = fit_wording(words[used], refused[used], weights_of(refused[used], groups[used]))
        return RefusalModel(shape.weights, shape.bias, wording)

    opinions = Opinions(np.zeros(len(examples)), np.zeros(len(examples)))
    without = {}
    for group in sorted(set(groups.tolist())):
        own = groups == group
        if len(set(refused[~own & given].tolist())) < 2:
            continue
        other = fitted(~own)
        opinions.shape[own] = shapes[own] @ np.array([*other.weights.values()]) + other.bias
        wording: Wording = other.wording  # type: ignore[assignment]
        opinions.wording[own] = [
            wording.log_odds(text) for text, mine in zip(texts, own, strict=True) if mine
        ]
        if group in leave:
            without[group] = other
    whole = fitted(np.ones(len(examples), np.bool_))
    return RefusalModel(whole.weights, whole.bias, whole.wording, without=without), opinions


def joined(model: RefusalModel, examples: Sequence[Example], opinions: Opinions) -> RefusalModel:
    """The model with its blend and bands; those that lack a group get them without that group's examples."""
    refused = np.array([one.refused for one in examples], np.bool_)
    groups = np.array([one.group for one in examples])
    given = np.array([not one.composed for one in examples], np.bool_)

    def settled(one: RefusalModel, used: Bools) -> RefusalModel:
        blend = fit_blend(opinions, refused, np.where(used, np.where(given, 1.0, COMPOSED), 0.0))
        odds = blend.bias + blend.shape * opinions.shape + blend.wording * opinions.wording
        real = used & given
        probabilities = 1 / (1 + np.exp(-odds[real]))
        bands = tuple(fit_band(probabilities, refused[real], error) for error in ERRORS)
        return replace(one, blend=blend, bands=bands)

    without = {group: settled(other, groups != group) for group, other in model.without.items()}
    return replace(settled(model, np.ones(len(examples), np.bool_)), without=without)


def fit_blend(opinions: Opinions, refused: Bools, weight: Floats) -> Blend:
    """Logistic regression of people's labels on both opinions, neither of which may speak against itself."""
    from scipy.optimize import minimize

    x = np.column_stack([np.ones(len(refused)), opinions.shape, opinions.wording])
    y = refused.astype(float)

    def loss(theta: Floats) -> tuple[float, Floats]:
        z = x @ theta
        slope = x.T @ (weight * (1 / (1 + np.exp(-z)) - y))
        return float((weight * (np.logaddexp(0, z) - y * z)).sum()), slope

    start = np.array([0.0, 1.0, 1.0])
    found = minimize(loss, start, jac=True, bounds=[(None, None), (0, 3), (0, 3)], method="L-BFGS-B").x
    return Blend(*(round(float(value), 4) for value in found))


def fit_band(probabilities: Floats, refused: Bools, error: float) -> Band:
    """The narrowest band around one half outside of which at most so many are wrong."""
    sure = np.maximum(probabilities, 1 - probabilities)
    wrong = (probabilities >= 0.5) != refused
    order = np.argsort(-sure, kind="stable")
    share = np.cumsum(wrong[order]) / np.arange(1, len(order) + 1)
    fine = np.flatnonzero(share <= error)
    least = float(sure[order][fine[-1]]) if len(fine) else 1.0
    least = round(max(0.5, least), 4)
    return Band(round(1 - least, 4), least, error)


def weights_of(refused: Bools, groups: NDArray[np.str_]) -> Floats:
    """An author's answers of one kind weigh as the root of their number.

    So two hundred copies of one canned sentence do not outvote everybody else.
    """
    weight = np.ones(len(refused))
    for group in sorted(set(groups.tolist())):
        for kind in (False, True):
            same = (groups == group) & (refused == kind)
            weight[same] = 1 / np.sqrt(max(1, same.sum()))
    found: Floats = weight / weight.mean() if len(weight) else weight
    return found


def fit_shape(
    rows: Floats, refused: Bools, groups: NDArray[np.str_], *, variance: float = VARIANCE
) -> RefusalModel:
    """The weights of greatest posterior probability, with no sign against its belief.

    Answers that people call partial refusals should be left out. The larger the variance of the beliefs,
    the more the data say.
    """
    from scipy.optimize import minimize

    y, weight = refused.astype(float), weights_of(refused, groups)
    prior = np.array([*BELIEFS.values(), BIAS])
    x = np.column_stack([rows, np.ones(len(rows))])

    def loss(theta: Floats) -> tuple[float, Floats]:
        z = x @ theta
        apart = theta - prior
        value = (weight * (np.logaddexp(0, z) - y * z)).sum() + (apart**2).sum() / (2 * variance)
        slope = x.T @ (weight * (1 / (1 + np.exp(-z)) - y)) + apart / variance
        return float(value), slope

    bounds = [(0, None) if belief > 0 else (None, 0) for belief in BELIEFS.values()]
    found = minimize(loss, prior, jac=True, bounds=[*bounds, (None, None)], method="L-BFGS-B").x
    rounded = [round(float(w), 4) for w in found]
    return RefusalModel(dict(zip(BELIEFS, rounded[:-1], strict=True)), rounded[-1])
