"""How many pictures a second one core paints, over a mixture of scenes: `python benchmarks/render.py`."""

from __future__ import annotations

import random
import time

from weakspot.world import scene as world
from weakspot.world.render import render


def mixture(rng: random.Random) -> world.Scene:
    """A scene in which each attribute is plain about as often as it is in everyday pictures."""
    odds = {
        "size": 0.6,
        "position": 0.6,
        "facing": 0.5,
        "background": 1.0,
        "color": 0.15,
        "count": 0.2,
        "light": 0.25,
    }
    values = {"subject": rng.choice(world.SUBJECTS)}
    for name, choices in world.ATTRIBUTES.items():
        if name not in ("subject", "on_color", "companion_at") and rng.random() < odds.get(name, 0.18):
            values[name] = rng.choice(choices)
    if values.get("on") in world.COLORED_SUPPORTS:
        values["on_color"] = rng.choice(world.SUPPORT_COLORS)
    if values.get("companion", "nothing") != "nothing":
        values["companion_at"] = rng.choice(("left", "right", "behind"))
    return world.Scene(**values)


def main() -> None:
    rng = random.Random(0)
    scenes = [mixture(rng) for _ in range(600)]
    for size in (64, 128, 256):
        for i in range(20):
            render(scenes[i], i, size)
        part = scenes if size == 64 else scenes[:150]
        start = time.process_time()
        for seed, scene in enumerate(part):
            render(scene, seed, size)
        spent = time.process_time() - start
        print(
            f"{size:4d} px   {len(part) / spent:6.0f} images/s per core   {1000 * spent / len(part):.2f} ms"
        )


if __name__ == "__main__":
    main()
