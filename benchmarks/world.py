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
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Hypothesis, WeakspotError
from weakspot.stats import wilson
from weakspot.world.classifier import FAIR, NATURAL, load, weak_spots
from weakspot.world.grammar import base_sentence, complete, deny, describe, parse, say
from weakspot.world.nature import sample, sample_uniform
from weakspot.world.render import render
from weakspot.world.scene import ATTRIBUTES, COLORED_SUPPORTS, DEFAULTS, Scene, SceneSet

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
    results["blind_spots"] = blind_spots(model, min(n, 600))
    return results


def differing(one: str, other: str) -> str:
    """The subject, and the sentences of one text that the other lacks."""
    base, *rest = one.split(". ")
    kept = [s.rstrip(".") for s in rest if s.rstrip(".") not in other]
    return ". ".join([base.removeprefix("a realistic photograph of "), *kept])


def blind_spots(model: Any, n: int) -> dict[str, float]:
    """How often the right one of two texts that differ in one thing is nearer to the picture."""
    kinds: dict[str, list[bool]] = {}
    for i in range(n):
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
    return {"per_attribute": {name: k / n for name, k in right.items()}, **trusted(model, min(n, TOLD))}


#: Places in captions at which the captioner's probabilities are held against what comes next.
TOLD = 1_200
#: What is told of a thing in the same sentence.
DETAILS = {"on": "on_color", "companion": "companion_at"}
#: What a caption can say in a sentence of its own.
SLOTS = tuple(name for name in DEFAULTS if name not in DETAILS.values())
#: The end of a caption, among the sentences that can come next.
END = ""


def trusted(model: Any, n: int) -> dict[str, Any]:
    """Whether what gets a probability comes next as often as that says."""
    p, came = next_sentences(model, n)
    rows = reliability(p, came)
    print(
        f"\nCaptioner: of the sentences it gives a probability, so many come next; {n:,} places in captions"
    )
    for row in rows:
        print(f"  {row['said']:.3f} said   {row['true']:.3f} true   of {row['n']:,}")
    heard = [row for row in rows if row["said"] >= 0.01]
    error = sum(row["n"] * abs(row["said"] - row["true"]) for row in heard) / sum(row["n"] for row in heard)
    print(f"  expected calibration error {error:.3f}, over those from 1 % on")
    return {"reliability": rows, "calibration_error": error, "places": n}


def next_sentences(model: Any, n: int, first: int = SEED + 6 * 10**9) -> tuple[NDArray[Any], NDArray[Any]]:
    """Probabilities of all that could come next at n places, each in another caption; and whether it came.

    Natural pictures. Captions are drawn as in training: all that is not plain, in one of four captions also
    each plain thing with a chance of 0.3, in random order, then the end. Every place of every caption is as
    likely as any other: a long caption has more of them.
    """
    said: list[NDArray[Any]] = []
    came: list[NDArray[Any]] = []
    while len(said) < n:
        rng = random.Random(first)
        scene = sample(SceneSet(), rng)
        chatty = rng.random() < 0.25
        names = [
            name
            for name in SLOTS
            if name == "background"
            or getattr(scene, name) != DEFAULTS[name]
            or (chatty and rng.random() < 0.3)
        ]
        rng.shuffle(names)
        k = rng.randrange(len(SLOTS) + 1)
        if k <= len(names):
            left = [name for name in SLOTS if name not in names[:k]]
            sentences = [sentence for name in left for sentence in _sentences(name)]
            told = {a: _sentence(a, getattr(scene, a), getattr(scene, DETAILS.get(a, a))) for a in names}
            before = " ".join([base_sentence(scene.subject), *(told[name] for name in names[:k])])
            follows = told[names[k]] if k < len(names) else END
            said.append(chances(model, render(scene, first), sentences, before))
            came.append(np.array([sentence == follows for sentence in [*sentences, END]]))
        first += 1
    return np.concatenate(said), np.concatenate(came)


def chances(model: Any, image: Picture, sentences: Sequence[str], before: str) -> NDArray[Any]:
    """The probability of each sentence and, last, of the end. Below 0.0001 it is taken for 0.

    Sentences are scored only where their first three words are likely enough: few are.
    """

    def begin(sentence: str) -> str:
        return " ".join(sentence.split()[:3])

    begins = list(dict.fromkeys(map(begin, sentences)))
    scores = model.log_probabilities([image], begins, prefix=before)[0]
    likely = {words for words, score in zip(begins, scores, strict=True) if score > np.log(1e-4)}
    found = np.zeros(len(sentences) + 1)
    places = [i for i, sentence in enumerate(sentences) if begin(sentence) in likely]
    if places:
        scores = model.log_probabilities([image], [sentences[i] for i in places], prefix=before)
        found[places] = np.exp(scores[0])
    found[-1] = np.exp(model.log_probabilities([image], [END], prefix=before, end=True)[0, 0])
    return found


def reliability(p: NDArray[Any], came: NDArray[Any]) -> list[dict[str, float]]:
    """Probabilities against how often what they are of comes next, in bins."""
    edges = [0, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 0.95, 1.01]
    rows = []
    for low, high in pairwise(edges):
        inside = (p >= low) & (p < high)
        if inside.any():
            rows.append(
                {"said": float(p[inside].mean()), "true": float(came[inside].mean()), "n": int(inside.sum())}
            )
    return rows


@cache
def _sentences(name: str) -> tuple[str, ...]:
    """All that can be said of an attribute."""
    details = ATTRIBUTES[DETAILS[name]] if name in DETAILS else ("none",)
    return tuple(dict.fromkeys(_sentence(name, v, d) for v in ATTRIBUTES[name] for d in details))


def _sentence(name: str, value: str, detail: str) -> str:
    """What a caption says of a value, with its colour or place where it has one."""
    bears = value in COLORED_SUPPORTS if name == "on" else name == "companion" and value != "nothing"
    return say(name, value, detail if bears and detail != "none" else None)


def reliability_picture(rows: Sequence[dict[str, float]]) -> str:
    """Said against true, as SVG: on the line is calibrated; the bars are 95 % intervals."""
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
