"""Planted failures that were learnt: a network's last layer is trained on labels swapped in planted scenes.

    python benchmarks/planted_trained.py --worlds 8 --seed 1 [--json FILE]

The worlds are those of `weakspot bench planted` (label, one to three planted failures of one or two
attributes, their wrong answers). Where that benchmark wraps a classifier that reads the scene, here a network
looks at the picture: the verifier's body, which sees every attribute, and a last layer trained anew on 16
labels, with the wrong label wherever a planted failure holds. What it learnt of it is measured on fresh
pictures: a planted failure *took* if its rate is at least 5 times the baseline, and only those count.

Found, exact and false are those of the benchmark, counted on pictures instead of by arithmetic: of a text
that is reported, 400 are drawn.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.verifier import Verifier

from weakspot.bench.bench import SPAN
from weakspot.bench.planted import METHODS
from weakspot.core import Case, Hypothesis, Output, Scores
from weakspot.world.grammar import base_sentence, parse
from weakspot.world.nature import sample
from weakspot.world.planted import Planted, World, plant
from weakspot.world.render import render
from weakspot.world.renderer import Renderer
from weakspot.world.scene import PARENTS, SUBJECTS, Scene, SceneSet

#: Pictures to learn from: of the label, of any label, and of each planted failure.
LEARNT: Final = (2_500, 2_000, 300)
#: Fresh pictures: of the baseline, and of each planted failure or reported text.
FRESH: Final = (2_000, 400)
#: Apart from the seeds of hunts.
TRAINING, TESTING = 7 * 10**11, 8 * 10**11


class Retrained:
    """The verifier's body with a last layer of its own."""

    labels: tuple[str, ...] = SUBJECTS
    parents = PARENTS

    def __init__(self, body: Verifier, head: LogisticRegression) -> None:
        self._body, self._head = body, head
        self._order = [list(head.classes_).index(label) for label in SUBJECTS]

    def probabilities(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float64]:
        """Of each label, in the order of `labels`."""
        said = self._head.predict_proba(self._body.features(images))
        return np.asarray(said[:, self._order])

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """See `Target`."""
        rows = self.probabilities([case.input for case in cases])
        return [Output(SUBJECTS[int(r.argmax())], scores=Scores(SUBJECTS, r)) for r in rows]


def scenes(where: SceneSet, n: int, rng: Random) -> list[Scene]:
    """Natural ones among these."""
    return [sample(where, rng) for _ in range(n)]


def train(world: World, body: Verifier) -> Retrained:
    """A network that learnt the world's planted failures."""
    rng = Random(f"train {world.seed}")
    own = SceneSet.of({"subject": [world.label]})
    drawn = scenes(own, LEARNT[0], rng) + scenes(SceneSet(), LEARNT[1], rng)
    for failure in world.failures:
        drawn += scenes(own & failure.where, LEARNT[2], rng)
    answers = [swapped(world, scene) for scene in drawn]
    features = body.features([render(s, TRAINING + world.seed * 10**5 + i) for i, s in enumerate(drawn)])
    return Retrained(body, LogisticRegression(C=1.0, max_iter=300).fit(features, answers))


def swapped(world: World, scene: Scene) -> str:
    """The label that a scene is taught with."""
    culprit = world.culprit(scene) if scene.subject == world.label else None
    return scene.subject if culprit is None else culprit.answer


class Fresh:
    """Counts a network's failures on pictures that nobody saw."""

    def __init__(self, world: World, network: Retrained) -> None:
        self.world, self.network = world, network

    def of(self, where: SceneSet, n: int) -> tuple[float, list[Scene], list[bool]]:
        """The failure rate there, the scenes, and which failed."""
        rng = Random(f"{self.world.seed} {where}")
        drawn = scenes(where, n, rng)
        first = TESTING + rng.randrange(10**10)
        said = self.network.probabilities([render(s, first + i) for i, s in enumerate(drawn)]).argmax(1)
        failed = [SUBJECTS[int(k)] != self.world.label for k in said]
        return float(np.mean(failed)), drawn, failed


def measure(seed: int, method: str, budget: int) -> dict[str, Any]:
    """One world: what was planted, what took, what the method reports, and what is true of it."""
    world = plant(seed)
    network = train(world, Verifier())
    fresh = Fresh(world, network)
    own = SceneSet.of({"subject": [world.label]})
    baseline, natural, _ = fresh.of(own, FRESH[0])
    rates = [fresh.of(own & f.where, FRESH[1])[0] for f in world.failures]
    took = [f for f, rate in zip(world.failures, rates, strict=True) if rate >= 5 * baseline]
    base = Hypothesis(base_sentence(world.label), origin="baseline")
    reported = METHODS[method](network, base=base, source=Renderer(), budget=budget, seed=seed)
    texts: list[dict[str, Any]] = []
    for text in reported.texts:
        rate, drawn, failed = fresh.of(parse(text), FRESH[1])
        wrong = [s for s, bad in zip(drawn, failed, strict=True) if bad]
        texts.append(
            {
                "text": text.removeprefix(base.text).strip(),
                "rate": rate,
                "false": rate <= baseline,
                "about": [
                    bool(wrong)
                    and share(f, wrong) > 0.5
                    and share(f, drawn) > share(f, natural)
                    and rate > baseline
                    for f in world.failures
                ],
                "same": [world.same(text, f) for f in world.failures],
            }
        )
    rows = []
    for i, failure in enumerate(world.failures):
        if failure in took:
            about = [t for t in texts if t["about"][i]]
            rows.append(
                {
                    "words": failure.words,
                    "rate": rates[i],
                    "found": bool(about),
                    "exact": bool(about) and about[0]["same"][i],
                    "named": any(t["same"][i] for t in about),
                }
            )
    return {
        "seed": seed,
        "label": world.label,
        "planted": len(world.failures),
        "baseline": baseline,
        "notable": rows,
        "texts": texts,
        "images": reported.images,
    }


def share(failure: Planted, some: Sequence[Scene]) -> float:
    """How many of these scenes are of a planted failure."""
    return sum(failure.where.matches(scene) for scene in some) / max(1, len(some))


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--worlds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", type=int, default=0, help="leave out the first so many")
    parser.add_argument("--method", default="ours", choices=[*METHODS])
    parser.add_argument("--budget", type=int, default=20_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for k in range(given.skip, given.worlds):
        rows.append(measure(given.seed * SPAN + k, given.method, given.budget))
        if given.json:
            given.json.write_text(json.dumps(rows, indent=1))
        show(rows[-1])
    notable = [one for row in rows for one in row["notable"]]
    texts = [t for row in rows for t in row["texts"]]
    print(
        f"{given.method}: of {sum(r['planted'] for r in rows)} planted {len(notable)} took; "
        f"found {sum(n['found'] for n in notable)}, exact {sum(n['exact'] for n in notable)} "
        f"(named {sum(n['named'] for n in notable)}); {sum(t['false'] for t in texts)} of {len(texts)} texts "
        f"false; {np.mean([r['images'] for r in rows]):,.0f} images"
    )


def show(row: dict[str, Any]) -> None:
    """One world, for people."""
    print(f"world {row['seed']} · {row['label']} · baseline {row['baseline']:.2%} · {row['images']:,} images")
    for one in row["notable"]:
        how = "exact" if one["exact"] else "named" if one["named"] else "found" if one["found"] else "missed"
        print(f"  {one['rate']:.0%} {one['words']}: {how}")
    for text in row["texts"]:
        print(f"      {text['rate']:.0%} {text['text']}{' FALSE' if text['false'] else ''}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
