"""Pictures without end: the world's layers are drawn once on the cores and put together anew on the GPU.

    python training/layers.py --cache pics/layers --figures 1500000

A drawn picture is a stack: place, figures, a cover, a screen, rain or snow, then air, light and the camera.
A layer kept as colour and transparency can be laid over any other, so a million figures and some ten thousand
places and screens give more different pictures than can ever be drawn. `Stack.pick` chooses the layers with
every value as likely as in balanced scenes (fences and grass in front more often: they are what makes
subjects hard to see), and `Stack.picture` lays them; up to rounding within a pixel that is what
`weakspot.world.render` paints.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from pictures import encode
from PIL import Image

from weakspot.world import render as paint
from weakspot.world.backgrounds import BACKGROUNDS
from weakspot.world.canvas import Pen
from weakspot.world.context import SCREENS, cover, rain, snowfall, sun_or_moon
from weakspot.world.nature import sample_uniform
from weakspot.world.scene import ATTRIBUTES, Scene, SceneSet

SIZE, ZOOM = 64, 3
#: Where a cover's edge lies in its layer.
EDGE = 0.05
#: How often each screen is in front: nothing, net, fence, grass, bars.
FRONT = (0.12, 0.16, 0.28, 0.28, 0.16)
NAMES = list(ATTRIBUTES)
PLACES, LIGHTS = ATTRIBUTES["background"], ATTRIBUTES["light"]
CHUNK = 250
#: Seed of the first layer of each kind.
FIRST = 700_000_000


def transparent(draw: Callable[[Pen], Any]) -> np.ndarray:
    """A layer: colour times opacity, and how much shines through; uint8 (4, SIZE, SIZE)."""
    on_black, on_white = (Image.new("RGB", (SIZE * ZOOM,) * 2, (v,) * 3) for v in (0, 255))
    draw(Pen(on_black))
    draw(Pen(on_white))
    dark, bright = (np.asarray(i.reduce(ZOOM), np.float32) for i in (on_black, on_white))
    through = (bright - dark).mean(2, keepdims=True)
    return np.concatenate([dark, through], 2).round().clip(0, 255).astype(np.uint8).transpose(2, 0, 1)


def figures(scene: Scene, seed: paint.Seed) -> tuple[np.ndarray, tuple[float, float]]:
    """The layer of subjects, what they are on and what is beside them; and from where to where they reach."""
    spots = paint.layout(scene, seed)

    def draw(pen: Pen) -> None:
        if scene.companion_at == "behind":
            paint._companion(pen, scene, seed, spots)
        if scene.on != "nothing":
            paint._support(pen, scene, seed, spots)
        if scene.subject == "fence":
            paint._fences(pen, scene, seed)
        else:
            paint._subjects(pen, scene, seed, spots)
        if scene.companion_at in ("left", "right"):
            paint._companion(pen, scene, seed, spots)

    return transparent(draw), (min(s.x - s.half for s in spots), max(s.x + s.half for s in spots))


def place(name: str, light: str, seed: paint.Seed) -> tuple[np.ndarray, tuple[float, float]]:
    """A place without figures, uint8 (3, SIZE, SIZE), and where the sun or moon is."""
    pen = BACKGROUNDS[name](SIZE * ZOOM, paint.stream(seed, "background"))
    sky = paint.stream(seed, "sky")
    x, y = sky.choice((0.1, 0.9)) + sky.uniform(-0.04, 0.04), sky.uniform(0.04, 0.13)
    if light in ("dusk", "night") and name in paint._OPEN_SKY:
        sun_or_moon(pen, sky, light, x, y)
    return np.asarray(pen.image.reduce(ZOOM)).transpose(2, 0, 1), (x, y)


class Beside(Random):
    """A stream whose first draw says that the cover comes from the right."""

    def uniform(self, a: float, b: float) -> float:
        value = super().uniform(a, b)
        return 0.0 if (a, b) == (0.4, 0.6) else value


def covering(seed: paint.Seed) -> np.ndarray:
    """A cover that begins at EDGE and reaches to the right."""
    own = paint.stream(seed, "cover")

    def draw(pen: Pen) -> None:
        rng = Beside()
        rng.setstate(own.getstate())
        cover(pen, rng, EDGE, EDGE, 0.0)

    return transparent(draw)


def falling(weather: str, seed: paint.Seed) -> np.ndarray:
    draw = rain if weather == "rain" else snowfall
    return transparent(lambda pen: draw(pen, paint.stream(seed, "weather")))


def screen(name: str, seed: paint.Seed) -> np.ndarray:
    return transparent(lambda pen: SCREENS[name](pen, paint.stream(seed, "screen")))


# -- drawn on the cores ----------------------------------------------------------------------------

#: Every store: channels of a layer, and numbers beside it.
STORES = {"figures": (4, 18), "places": (3, 4), "screens": (4, 1), "covers": (4, 1), "falls": (4, 1)}


def _paint(job: tuple[str, str, int, int, int]) -> None:
    folder, name, start, stop, first = job
    images = np.load(Path(folder) / f"{name}.npy", mmap_mode="r+")
    facts = np.load(Path(folder) / f"{name}-facts.npy", mmap_mode="r+")
    for i in range(start, stop):
        seed = first + i
        if name == "figures":
            scene = sample_uniform(SceneSet(), Random(seed))
            images[i], reach = figures(scene, seed)
            facts[i] = [*encode(scene), *reach]
        elif name == "places":
            where, light = i % len(PLACES), (i // len(PLACES)) % len(LIGHTS)
            images[i], sun = place(PLACES[where], LIGHTS[light], seed)
            facts[i] = [where, light, *sun]
        elif name == "screens":
            kind = i % len(SCREENS)
            images[i], facts[i] = screen(ATTRIBUTES["behind"][1 + kind], seed), kind
        elif name == "covers":
            images[i], facts[i] = covering(seed), 0
        else:
            images[i], facts[i] = falling(("rain", "snowfall")[i % 2], seed), i % 2


def store(folder: Path, *, count: int, others: int, workers: int = 0, first: int = FIRST) -> None:
    """Draw all layers: places, screens, covers, rain and snow first, then figures; `ready` says how many."""
    sizes = dict.fromkeys(STORES, others) | {"figures": count, "places": 2 * others, "falls": others // 4}
    folder.mkdir(parents=True, exist_ok=True)
    for name, (channels, numbers) in STORES.items():
        path, shape = folder / f"{name}.npy", (sizes[name], channels, SIZE, SIZE)
        np.lib.format.open_memmap(path, "w+", np.uint8, shape).flush()
        path = folder / f"{name}-facts.npy"
        np.lib.format.open_memmap(path, "w+", np.float32, (sizes[name], numbers)).flush()
    order = [name for name in STORES if name != "figures"] + ["figures"]
    jobs = [
        (str(folder), name, i, min(i + CHUNK, sizes[name]), first)
        for name in order
        for i in range(0, sizes[name], CHUNK)
    ]
    began, spawn = time.time(), multiprocessing.get_context("spawn")
    with spawn.Pool(workers or os.cpu_count()) as pool:
        for job, _ in zip(jobs, pool.imap(_paint, jobs), strict=True):
            if job[1] == "figures":
                (folder / "ready.part").write_text(str(job[3]))
                (folder / "ready.part").replace(folder / "ready")
    print(f"{sum(sizes.values()) / (time.time() - began):,.0f} layers a second", flush=True)


def ready(folder: Path) -> int:
    """How many figures are drawn."""
    return int((folder / "ready").read_text()) if (folder / "ready").exists() else 0


# -- put together on the GPU -----------------------------------------------------------------------


class Choice(NamedTuple):
    """What goes into n pictures: rows of the stores, values of attributes, and the camera's numbers."""

    figure: torch.Tensor
    place: torch.Tensor
    cover: torch.Tensor
    hidden: torch.Tensor
    left: torch.Tensor
    screen: torch.Tensor
    fall: torch.Tensor
    weather: torch.Tensor
    corner: torch.Tensor
    exposure: torch.Tensor


class Stack:
    """All stores on a device."""

    def __init__(self, folder: Path, device: str) -> None:
        self.folder, self.device, self.rows = folder, device, 0
        self.images, self.facts = {}, {}
        for name in STORES:
            images = np.load(folder / f"{name}.npy", mmap_mode="r")
            facts = np.load(folder / f"{name}-facts.npy", mmap_mode="r")
            if name == "figures":
                self.drawn = images, facts
                self.images[name] = torch.zeros(images.shape, dtype=torch.uint8, device=device)
                self.facts[name] = torch.zeros(facts.shape, device=device)
                continue
            if name == "places":  # those of one kind of ground together
                order = np.argsort([_ground(int(where)) for where in facts[:, 0]], kind="stable")
                images, facts = images[order], facts[order]
            self.images[name] = torch.from_numpy(np.array(images)).to(device)
            self.facts[name] = torch.from_numpy(np.array(facts)).to(device)
        grounds = torch.tensor([_ground(i) for i in range(len(PLACES))], device=device)
        kinds = grounds[self.facts["places"][:, 0].long()]
        self.many = torch.bincount(kinds, minlength=3)
        self.first, self.grounds = self.many.cumsum(0) - self.many, grounds
        self.count = torch.zeros((), device=device)
        self.front = torch.tensor(FRONT, device=device).cumsum(0)
        self.grain = torch.from_numpy(paint._grain(SIZE).transpose(2, 0, 1).copy()).to(device)
        self.clear = torch.tensor([0.0, 0.0, 0.0, 255.0], device=device)[:, None, None]
        self.axis = (torch.arange(SIZE, device=device) + 0.5) / SIZE

    def take(self) -> None:
        """Fetch the figures that were drawn since."""
        now = ready(self.folder)
        if now > self.rows:
            for target, source in zip((self.images, self.facts), self.drawn, strict=True):
                part = torch.from_numpy(np.array(source[self.rows : now]))
                target["figures"][self.rows : now] = part.to(self.device)
            self.rows = now
            self.count.fill_(now)

    def pick(self, n: int) -> Choice:
        """n random choices."""

        def up_to(many: torch.Tensor | int) -> torch.Tensor:
            return (torch.rand(n, device=self.device) * many).long()

        figure = up_to(self.count)
        ground = self.grounds[self.facts["figures"][figure, NAMES.index("background")].long()]
        kind = torch.searchsorted(self.front, torch.rand(n, device=self.device)).clamp(max=len(FRONT) - 1)
        screens, falls = (len(self.images[name]) for name in ("screens", "falls"))
        weather = up_to(4)
        reach = self.facts["figures"][figure, 16:].mean(1)
        return Choice(
            figure,
            self.first[ground] + up_to(self.many[ground]),
            up_to(len(self.images["covers"])),
            up_to(3),
            reach < 0.4 + 0.2 * torch.rand(n, device=self.device),
            (up_to(screens // 4) * 4 + kind) * (kind > 0) - 1,
            up_to(falls // 2) * 2 + (weather == 2),
            weather,
            torch.stack([up_to(SIZE // 2), up_to(SIZE // 2)], 1),
            0.94 + 0.11 * torch.rand(n, device=self.device),
        )

    def codes(self, c: Choice) -> torch.Tensor:
        """The attributes' values of what was chosen."""
        codes = self.facts["figures"][c.figure, :16].long()
        spots, light = self.facts["places"][c.place, 0].long(), self.facts["places"][c.place, 1].long()
        front = (c.screen % 4 + 1) * (c.screen >= 0)
        new = {"background": spots, "light": light, "behind": front, "hidden": c.hidden, "weather": c.weather}
        return torch.stack([new.get(name, codes[:, i]) for i, name in enumerate(NAMES)], 1)

    def picture(self, c: Choice) -> torch.Tensor:
        """Pictures in [0, 1], float (n, 3, SIZE, SIZE)."""
        n, ar = len(c.figure), torch.arange(SIZE, device=self.device)

        def over(below: torch.Tensor, layer: torch.Tensor, where: torch.Tensor | None = None) -> torch.Tensor:
            laid = layer[:, :3] + below * (layer[:, 3:] / 255)
            return laid if where is None else torch.where(where[:, None, None, None], laid, below)

        x = self.images["places"][c.place].float()
        fog = c.weather == 3
        x = torch.where(_wide(fog), x + (_rgb(222, 227, 230, x) - x) * (110 / 255), x)
        x = over(x, self.images["figures"][c.figure].float())
        low, high = self.facts["figures"][c.figure, 16], self.facts["figures"][c.figure, 17]
        share = 0.27 + 0.21 * (c.hidden == 2)
        edge = torch.where(c.left, 1 - (low + (high - low) * share), high - (high - low) * share)
        shift = ((EDGE - edge) * SIZE).round().long()
        across = torch.where(c.left[:, None], SIZE - 1 - ar, ar) + shift[:, None]
        channels = torch.arange(4, device=self.device)
        hides = self.images["covers"][
            c.cover[:, None, None, None], channels[:, None, None], ar[:, None],
            across.clamp(0, SIZE - 1)[:, None, None, :],
        ].float()  # fmt: skip
        hides = torch.where((across < 0)[:, None, None, :], self.clear, hides)
        x = over(x, hides, c.hidden > 0)
        x = over(x, self.images["screens"][c.screen.clamp(min=0)].float(), c.screen >= 0)
        x = over(x, self.images["falls"][c.fall].float(), (c.weather == 1) | (c.weather == 2))
        light, sun = self.facts["places"][c.place, 1], self.facts["places"][c.place, 2:]
        x = torch.where(_wide(light == 3), self._flare(x, sun), x)
        x = self._air(x, c.weather)
        x = self._light(x, light, sun)
        rows, columns = c.corner[:, 1, None] + ar, c.corner[:, 0, None] + ar
        grain = self.grain[:, rows[:, :, None], columns[:, None, :]].transpose(0, 1)
        x = x * grain * _wide(c.exposure)
        assert x.shape == (n, 3, SIZE, SIZE)
        return x.clamp(0, 255).floor() / 255

    def _flare(self, x: torch.Tensor, sun: torch.Tensor) -> torch.Tensor:
        for t, r, opacity in ((0.62, 0.035, 44), (0.95, 0.075, 30), (1.3, 0.05, 40)):
            middle = sun + (0.5 - sun) * t * 1.2
            away = ((self.axis[None, None, :] - middle[:, 0, None, None]).square()
                + (self.axis[None, :, None] - middle[:, 1, None, None]).square()).sqrt()  # fmt: skip
            alpha = ((r - away) * SIZE + 0.5).clamp(0, 1)[:, None] * (opacity / 255)
            x = x + (_rgb(255, 250, 214, x) - x) * alpha
        return x

    def _air(self, x: torch.Tensor, weather: torch.Tensor) -> torch.Tensor:
        wet = (x * 0.68 + x.mean(1, keepdim=True) * 0.32) * _rgb(0.84, 0.88, 0.94, x) + 6
        veil = (0.34 - 0.2 * self.axis)[:, None]
        x = torch.where(_wide(weather == 1), wet, x)
        x = torch.where(_wide(weather == 2), x * 0.93 + _rgb(14, 15, 18, x), x)
        return torch.where(_wide(weather == 3), x * (1 - veil) + veil * _rgb(226, 230, 232, x), x)

    def _glow(self, sun: torch.Tensor, below: float, reach: float) -> torch.Tensor:
        across = ((self.axis[None] - sun[:, :1]) / reach).square()[:, None, None, :]
        down = ((self.axis[None] - sun[:, 1:] - below) / reach).square()[:, None, :, None]
        return 1 / (1 + across + down)

    def _light(self, x: torch.Tensor, light: torch.Tensor, sun: torch.Tensor) -> torch.Tensor:
        down = self.axis[:, None]
        wash = _rgb(0.68, 0.55, 0.8, x) + _rgb(0.3, 0.19, -0.14, x) * (0.2 + 0.8 * down)
        dusk = x * wash + self._glow(sun, 0.16, 0.36) * _rgb(72, 38, 8, x)
        cold = (x * 0.62 + x.mean(1, keepdim=True) * 0.38) * _rgb(0.42, 0.5, 0.66, x) + _rgb(4, 8, 22, x)
        night = cold * (0.9 + 0.5 * self._glow(sun, 0.0, 0.4))
        veil = 0.2 + 0.78 * self._glow(sun, 0.0, 0.34)
        glare = x * (1 - veil) + veil * _rgb(255, 250, 230, x) + 8
        for i, washed in enumerate((dusk, night, glare)):
            x = torch.where(_wide(light == i + 1), washed, x)
        return x


def _ground(where: int) -> int:
    """Figures cast shadows on most grounds, ripples on the sea, nothing in water."""
    name = PLACES[where]
    return 1 if name == "sea" else 2 if name in paint._FLOATING else 0


def _wide(values: torch.Tensor) -> torch.Tensor:
    return values[:, None, None, None]


def _rgb(r: float, g: float, b: float, like: torch.Tensor) -> torch.Tensor:
    return torch.stack([torch.full((1, 1), v, device=like.device) for v in (r, g, b)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", required=True, help="folder for the layers: CACHE/layers of classifier.py")
    parser.add_argument("--figures", type=int, default=1_500_000, help="how many of them")
    parser.add_argument(
        "--others", type=int, default=40_000, help="screens and covers; places are twice as many"
    )
    parser.add_argument("--workers", type=int, default=0, help="processes; 0 takes all cores")
    parser.add_argument("--first", type=int, default=FIRST, help="seed of the first layer of each kind")
    args = parser.parse_args()
    store(Path(args.cache), count=args.figures, others=args.others, workers=args.workers, first=args.first)
