"""Make the picture of the drawn world in the README, docs/img/world.png. Pages: make_screenshots.py.

The picture follows from a fixed seed: it changes only when the world or the classifier does.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from weakspot.core import Case, Hypothesis
from weakspot.models.onnx.models import OnnxClassifier
from weakspot.world.classifier import load
from weakspot.world.grammar import base_sentence
from weakspot.world.render import render
from weakspot.world.renderer import Renderer
from weakspot.world.scene import SUBJECTS

IMAGES: Final = Path(__file__).parent / "img"
SEED: Final = 12
#: Pixels: a picture's edge, the gap between pictures, the room for the words below one.
EDGE, GAP, WORDS = 148, 12, 38
COLUMNS: Final = 8
PAPER, INK, WRONG = "#f7f6f3", "#1f2328", "#b4321c"

#: Sentences under which the classifier often fails; the first draw of each that is clearly misread is shown.
WEAK: Final = (
    ("fly", "it is on a flower.", "on a flower"),
    ("bee", "the background is a kitchen.", "in a kitchen"),
    ("cat", "the background is snow.", "in the snow"),
    ("snow leopard", "the background is a living room.", "in a room"),
    ("crayfish", "it is behind a net.", "behind a net"),
    ("dog", "it is night.", "at night"),
    ("wolf", "the background is a living room.", "in a room"),
    ("boat", "the background is a street.", "on a street"),
)


class Tile(NamedTuple):
    """One picture with the words below it."""

    case: Case
    title: str
    note: str
    wrong: bool


def usual(classifier: OnnxClassifier) -> list[Tile]:
    """Each subject as it usually appears, read rightly."""
    return [_first(classifier, subject, "", wrong=False) for subject in SUBJECTS]


def unusual(classifier: OnnxClassifier) -> list[Tile]:
    """A misread picture of each weak spot."""
    tiles = []
    for subject, sentence, short in WEAK:
        tiles.append(_first(classifier, subject, sentence, wrong=True)._replace(title=f"{subject} {short}"))
    return tiles


def _first(classifier: OnnxClassifier, subject: str, sentence: str, *, wrong: bool) -> Tile:
    hypothesis = Hypothesis(f"{base_sentence(subject)} {sentence}".strip())
    source = Renderer()
    for index in range(1_000):
        (case,) = source.draw(hypothesis, [index], seed=SEED)
        (output,) = classifier.answer([case])
        if output.answer is None or output.scores is None:
            continue
        scene, sure = source.scene(hypothesis, case.seed), output.scores.of(output.answer)
        plain = scene.count == "1" and scene.hidden == "no"
        if (output.answer != subject) is wrong and sure >= 0.6 and (plain or not wrong):
            return Tile(case, subject, f"read as {output.answer}, {100 * sure:.0f} %", wrong)
    raise SystemExit(f"no such picture of {hypothesis.text!r}")


def contact_sheet() -> Image.Image:
    """Two rows of usual pictures, one of misread ones."""
    classifier = load()
    tiles = [*usual(classifier), *unusual(classifier)]
    rows = -(-len(tiles) // COLUMNS)
    size = (GAP + COLUMNS * (EDGE + GAP), GAP + rows * (EDGE + WORDS))
    sheet = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(sheet)
    font, small = ImageFont.load_default(13), ImageFont.load_default(12)
    for place, tile in enumerate(tiles):
        x = GAP + place % COLUMNS * (EDGE + GAP)
        y = GAP + place // COLUMNS * (EDGE + WORDS)
        scene = Renderer().scene(tile.case.hypothesis, tile.case.seed)
        sheet.paste(Image.fromarray(render(scene, tile.case.seed, EDGE)), (x, y))
        if tile.wrong:
            pen.rectangle((x, y + EDGE - 3, x + EDGE - 1, y + EDGE - 1), fill=WRONG)
            pen.text((x, y + EDGE + 17), tile.note, fill=WRONG, font=small)
        pen.text((x, y + EDGE + 2), tile.title, fill=INK, font=font)
    return sheet


def save(image: Image.Image, path: Path) -> None:
    """Write a picture in 256 colours, which the eye does not miss and a repository does not mind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    few = image.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.FLOYDSTEINBERG)
    few.save(path, optimize=True)
    edges = " × ".join(map(str, np.asarray(image).shape[1::-1]))
    print(f"{path}: {edges}, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    save(contact_sheet(), IMAGES / "world.png")
