"""What the world's own models can do, on pictures that none of them has seen.

    python benchmarks/world.py [--scenes 10000] [--json FILE] [--picture FILE]        (make bench-world)

Every figure is measured here, on the shipped files, with seeds that no training used; only the tables of
true failure rates are read, because they take hours (training/truth.py).
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Hypothesis, WeakspotError
from weakspot.stats import wilson
from weakspot.world.classifier import FAIR, NATURAL, load, weak_spots
from weakspot.world.grammar import complete, deny, describe, parse, say
from weakspot.world.nature import sample, sample_uniform
from weakspot.world.render import render
from weakspot.world.scene import ATTRIBUTES, DEFAULTS, Scene, SceneSet

#: Of the first scene; training used seeds below 10¹¹.
SEED = 4_000_000_000_000
Picture = NDArray[np.uint8]


def scenes(n: int, choose: Callable[[SceneSet, random.Random], Scene], first: int) -> list[Scene]:
    return [choose(SceneSet(), random.Random(first + i)) for i in range(n)]


def paint(drawn: Sequence[Scene], first: int) -> list[Picture]:
    return [render(scene, first + i) for i, scene in enumerate(drawn)]


def share(right: int, n: int) -> str:
    """A share with its 95 % interval."""
    low, high = wilson(right, n)
    return f"{100 * right / n:.2f} % [{100 * low:.2f}, {100 * high:.2f}] of {n:,}"


# -- classifiers -----------------------------------------------------------------------------------


def answers(model: str, images: Sequence[Picture]) -> list[str]:
    """What a classifier of the family calls each picture."""
    classifier, nothing = load(model), Hypothesis("a picture")
    cases = [Case(nothing, i, i, image, "", "") for i, image in enumerate(images)]
    parts = (cases[i : i + 500] for i in range(0, len(cases), 500))
    return [str(output.answer) for part in parts for output in classifier.answer(part)]


def classifiers(n: int) -> dict[str, Any]:
    drawn = scenes(n, sample, SEED)
    images = paint(drawn, SEED)
    results: dict[str, Any] = {}
    print(f"Classifiers on {n:,} fresh natural pictures")
    for model in NATURAL:
        right = sum(a == s.subject for a, s in zip(answers(model, images), drawn, strict=True))
        print(f"  world:{model:<22}{share(right, n)}")
        results[model] = {"natural": right / n}
    results[FAIR] = fair(n)
    for model in NATURAL:
        spots = weak_spots(model)
        print(f"\nStrongest learned weak spots of world:{model} (400 scenes a cell)")
        for i, spot in enumerate(spots, 1):
            print(f"  {i:2d}  {spot}")
        results[model]["weak_spots"] = [str(spot) for spot in spots]
    return results


def fair(n: int) -> dict[str, float]:
    """The verifier on scenes where every attribute is uniform, and on those of them in plain view."""
    drawn = scenes(n, sample_uniform, SEED + 10**9)
    right = np.array(
        [a == s.subject for a, s in zip(answers(FAIR, paint(drawn, SEED + 10**9)), drawn, strict=True)]
    )
    plain = np.array([s.hidden == "no" and s.behind == "nothing" for s in drawn])
    print(f"  world:{FAIR:<22}{share(int(right.sum()), n)}, uniform scenes")
    print(f"  {'':<28}{share(int(right[plain].sum()), int(plain.sum()))}, of them in plain view")
    return {"uniform": float(right.mean()), "uniform_in_plain_view": float(right[plain].mean())}


# -- encoder ---------------------------------------------------------------------------------------


def encoder(n: int) -> dict[str, Any]:
    from weakspot.world.encoder import WorldEncoder

    model = WorldEncoder()
    results: dict[str, Any] = {}
    for about, choose in (("natural", sample), ("uniform", sample_uniform)):
        first = SEED + 2 * 10**9
        distinct = {describe(s): s for s in scenes(20 * n if choose is sample else 2 * n, choose, first)}
        chosen = list(islice(distinct.items(), n))
        texts = [text for text, _ in chosen]
        pictures = model.embed_images(paint([scene for _, scene in chosen], first))
        alike = pictures @ model.embed_texts(texts).T
        there_and_back = [int((alike.argmax(axis) == np.arange(n)).sum()) for axis in (1, 0)]
        print(f"\nEncoder among {n:,} distinct {about} scenes")
        print(f"  picture → text, first is right   {share(there_and_back[0], n)}")
        print(f"  text → picture, first is right   {share(there_and_back[1], n)}")
        wrong = [i for i in range(n) if alike[i].argmax() != i]
        confused = [(texts[i], texts[int(alike[i].argmax())]) for i in wrong]
        for one, other in confused[:6]:
            print(f"  confused   {differing(one, other)}\n      with   {differing(other, one)}")
        results[about] = {
            "image_to_text": there_and_back[0] / n,
            "text_to_image": there_and_back[1] / n,
            "confused": confused[:10],
        }
    results["blind_spots"] = blind_spots(model)
    return results


def differing(one: str, other: str) -> str:
    """The subject, and the sentences of one text that the other lacks."""
    base, *rest = one.split(". ")
    kept = [s.rstrip(".") for s in rest if s.rstrip(".") not in other]
    return ". ".join([base.removeprefix("a realistic photograph of "), *kept])


def blind_spots(model: Any) -> dict[str, float]:
    """How often the right one of two texts that differ in one thing is nearer to the picture."""
    kinds: dict[str, list[bool]] = {}
    for i in range(600):
        rng = random.Random(SEED + 3 * 10**9 + i)
        scene = sample_uniform(SceneSet.of({"hidden": ["no"], "behind": ["nothing"]}), rng)
        image = model.embed_images([render(scene, SEED + 3 * 10**9 + i)])[0]
        base = f"a photo of a {scene.subject}."
        name = rng.choice(("on", "background", "light", "weather", "color"))
        value = getattr(scene, name)
        absent = rng.choice([v for v in ATTRIBUTES[name][1:] if v != value])
        pairs = {
            "a denial against the claim": (f"{base} {deny(name, absent)}", f"{base} {say(name, absent)}"),
            "a value against another": (f"{base} {say(name, value)}", f"{base} {say(name, absent)}"),
            "a number against another": (
                f"{base} {say('count', scene.count)}",
                f"{base} {say('count', rng.choice([c for c in ATTRIBUTES['count'] if c != scene.count]))}",
            ),
        }
        other = scene.companion
        if other in ATTRIBUTES["subject"] and other != scene.subject and scene.companion_at != "behind":
            side = scene.companion_at
            pairs["who is beside whom"] = (
                f"a photo of a {scene.subject}. a {other} is to the {side} of it.",
                f"a photo of a {other}. a {scene.subject} is to the {side} of it.",
            )
            far = "right" if side == "left" else "left"
            pairs["left against right"] = (
                f"a photo of a {scene.subject}. a {other} is to the {side} of it.",
                f"a photo of a {scene.subject}. a {other} is to the {far} of it.",
            )
        for kind, texts in pairs.items():
            right, wrong = model.embed_texts(texts) @ image
            kinds.setdefault(kind, []).append(bool(right > wrong))
    print("\nEncoder: of two texts that differ in one thing, the true one is nearer (half would be guessing)")
    for kind, rights in sorted(kinds.items(), key=lambda item: np.mean(item[1])):
        print(f"  {kind:<28}{share(sum(rights), len(rights))}")
    return {kind: float(np.mean(rights)) for kind, rights in kinds.items()}


# -- captioner -------------------------------------------------------------------------------------


def captioner(n: int) -> dict[str, Any]:
    from weakspot.world.captioner import WorldCaptioner

    model = WorldCaptioner()
    drawn = scenes(n, sample, SEED + 5 * 10**9)
    images = paint(drawn, SEED + 5 * 10**9)
    said = [text for i in range(0, n, 100) for text in model.captions(images[i : i + 100])]
    right = dict.fromkeys(ATTRIBUTES, 0)
    for text, scene in zip(said, drawn, strict=True):
        try:
            read = complete(parse(text))
        except WeakspotError:
            continue
        for name in ATTRIBUTES:
            right[name] += getattr(read, name) == getattr(scene, name)
    print(f"\nCaptioner: attributes right in its caption, {n:,} fresh natural pictures")
    for name, k in right.items():
        print(f"  {name:<14}{share(k, n)}")
    bins = reliability(model, drawn[:300], images[:300])
    print("\nCaptioner: of the sentences it gives a probability, so many come next")
    for row in bins:
        print(f"  {row['said']:.3f} said   {row['true']:.3f} true   of {row['n']:,}")
    return {"per_attribute": {name: k / n for name, k in right.items()}, "reliability": bins}


def reliability(model: Any, drawn: Sequence[Scene], images: Sequence[Picture]) -> list[dict[str, float]]:
    """Probabilities of every sentence that could come next, against how often it does, in bins.

    What comes next is drawn as in training: one of the sentences that are true, not plain and not yet said.
    """
    slots = [name for name in DEFAULTS if name not in ("on_color", "companion_at")]
    said, true = [], []
    for i, (scene, image) in enumerate(zip(drawn, images, strict=True)):
        rng = random.Random(SEED + i)
        all_said = {name: _sentence(scene, name) for name in slots}
        names = [n for n in slots if n == "background" or getattr(scene, n) != DEFAULTS[n]]
        rng.shuffle(names)
        k = rng.randrange(len(names))
        prefix = " ".join([describe(scene).split(". ")[0] + ".", *(all_said[name] for name in names[:k])])
        left = [name for name in slots if name not in names[:k]]
        candidates = [_sentence(scene, name, value) for name in left for value in ATTRIBUTES[name]]
        candidates = list(dict.fromkeys([*candidates, *(all_said[name] for name in left)]))
        row = np.exp(model.log_probabilities([image], candidates, prefix=prefix)[0])
        said.append(row)
        true.append(np.array([c == all_said[names[k]] for c in candidates]))
    p, hit = np.concatenate(said), np.concatenate(true)
    edges = [0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 0.95, 1.01]
    rows = []
    for low, high in pairwise(edges):
        inside = (p >= low) & (p < high)
        if inside.any():
            rows.append(
                {"said": float(p[inside].mean()), "true": float(hit[inside].mean()), "n": int(inside.sum())}
            )
    return rows


def _sentence(scene: Scene, name: str, value: str | None = None) -> str:
    """What a caption says of an attribute; of the scene's own value also its colour or place."""
    if value is None:
        child = {"on": "on_color", "companion": "companion_at"}.get(name)
        return say(name, getattr(scene, name), getattr(scene, child) if child else None)
    return say(name, value)


def reliability_picture(rows: Sequence[dict[str, float]]) -> str:
    """Said against true, as SVG: on the line is calibrated; a dot's area follows from its number."""
    edge, left, top = 360, 60, 20
    ink, soft, mark = "#57606a", "#d0d7de", "#1f6f4a"

    def at(row: dict[str, float]) -> tuple[float, float]:
        return left + edge * row["said"], top + edge * (1 - row["true"])

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {edge + 90} {edge + 70}" '
        f'font-family="sans-serif" font-size="12" fill="{ink}">',
        f'<rect x="{left}" y="{top}" width="{edge}" height="{edge}" fill="none" stroke="{soft}"/>',
        f'<line x1="{left}" y1="{top + edge}" x2="{left + edge}" y2="{top}" stroke="{soft}"/>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = at({"said": share, "true": share})
        parts.append(f'<text x="{x}" y="{top + edge + 16}" text-anchor="middle">{share:.0%}</text>')
        parts.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{share:.0%}</text>')
    for row in rows:
        x, y = at(row)
        low, high = (
            at({"said": 0, "true": v})[1] for v in wilson(round(row["true"] * row["n"]), int(row["n"]))
        )
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{mark}"/>')
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{mark}"><title>{row["n"]:,}</title></circle>'
        )
    middle = left + edge / 2
    parts.append(f'<text x="{middle}" y="{top + edge + 38}" text-anchor="middle">probability it gives</text>')
    parts.append(
        f'<text x="14" y="{top + edge / 2}" text-anchor="middle" '
        f'transform="rotate(-90 14 {top + edge / 2})">how often it comes next (95 %)</text></svg>'
    )
    return "\n".join(parts) + "\n"


# -- all -------------------------------------------------------------------------------------------


def main(n: int, as_json: Path | None, picture: Path | None) -> None:
    results: dict[str, Any] = {"classifiers": classifiers(n), "encoder": encoder(min(n, 1000))}
    results["captioner"] = captioner(min(n, 2000))
    if picture:
        picture.write_text(reliability_picture(results["captioner"]["reliability"]))
    if as_json:
        as_json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--picture", type=Path, help="how far the captioner's probabilities can be trusted, as SVG"
    )
    args = parser.parse_args()
    main(args.scenes, args.json, args.picture)
