"""Write the table `world:predictions`: what the world's classifier answered on natural pictures.

    python training/predictions.py --rows 5000 --out predictions.csv.gz

In each picture one thing is chosen: as many are small as large, as many at night as by day. A row is what an
evaluation leaves behind: an id, the right answer, the classifier's, how sure it was, a caption, and a few
columns that say how the picture was taken. The same numbers are written anywhere.
"""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass
from pathlib import Path

from flags import settings

from weakspot.core import Hypothesis, case_seed
from weakspot.world import classifier
from weakspot.world.grammar import base_sentence, say, sentences
from weakspot.world.renderer import Renderer
from weakspot.world.scene import ATTRIBUTES, SUBJECTS

COLUMNS = ("id", "label", "prediction", "confidence", "caption", "size", "light", "weather")


@dataclass
class Settings:
    """What the table depends on."""

    #: Pictures; the subjects take turns.
    rows: int = 5000
    #: The file, compressed.
    out: str = "predictions.csv.gz"
    #: Of the pictures.
    seed: int = 31


#: What may be chosen.
CHOSEN = ("size", "position", "facing", "pose", "behind", "background", "light", "weather", "color")


def one_thing(i: int) -> str:
    """Something that is said of a picture: each attribute and each value in its turn."""
    turn = i // len(SUBJECTS)
    name = CHOSEN[turn % len(CHOSEN)]
    values = ATTRIBUTES[name]
    return say(name, values[turn // len(CHOSEN) % len(values)], None)


def main() -> None:
    """Draw, ask, write."""
    given = settings(Settings, __doc__)
    source, model = Renderer(), classifier.load()
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for start in range(0, given.rows, 200):
        indices = range(start, min(start + 200, given.rows))
        cases, scenes = [], []
        for i in indices:
            base = Hypothesis(f"{base_sentence(SUBJECTS[i % len(SUBJECTS)])} {one_thing(i)}".strip())
            cases += source.draw(base, [i], seed=given.seed)
            scenes.append(source.scene(base, case_seed(given.seed, base, i)))
        for i, case, scene, output in zip(indices, cases, scenes, model.answer(cases), strict=True):
            (answer, sure) = output.scores.top(1)[0]
            said = " ".join([f"a {case.expected}.", *sentences(scene)])
            columns = (scene.size, scene.light, scene.weather)
            table.writerow([f"w{i:05}", case.expected, answer, f"{sure:.4f}", said, *columns])
    Path(given.out).write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


if __name__ == "__main__":
    main()
