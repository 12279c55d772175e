"""`weakspot demo`: all four studies on the embedded world, within minutes, with nothing to set up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import typer

from weakspot.cli.flags import option

HUNTS: Final = ("fly", "cat", "crayfish")


def demo(
    out: Path | None = option(None, "FOLDER", "Folder for the demo's runs; by default below runs/."),
    seed: int = option(7, "NUMBER", "The same seed gives the same demo."),
    budget: str = option("images=12000", "LIMITS", "Limits of each hunt."),
) -> int:
    """Run every study there is on the embedded world: no key, no GPU, no download."""
    from weakspot.cli.screen import program
    from weakspot.engine import Budget
    from weakspot.store import Run

    folder = out or Path("runs") / f"demo-{datetime.now(UTC):%Y-%m-%d-%H%M%S}"
    images = int(dict(Budget.parse(budget).limits).get("images", 12_000))
    code = 0
    for words, name, study in _studies(budget, images, seed):
        if words:
            typer.echo(f"{words}\n")
        code = max(code, study(folder / name))
        typer.echo("")
    found, reports = 0, sorted(folder.glob("*/report.html"))
    for report in reports:
        with Run.read(report.parent) as run:
            found += sum(finding.confirmed for finding in run.findings)
    typer.echo(f"{found} findings confirmed in {len(reports)} runs. Open the reports:")
    for report in reports:
        typer.echo(f"  {report}")
    typer.echo(f"next     {program()} hunt world:classifier --label wolf     (or your own: see README.md)")
    return code


def _studies(budget: str, images: int, seed: int) -> list[tuple[str, str, Callable[[Path], int]]]:
    """What is said first, the run's name, and the study, which is handed the run's folder."""
    from weakspot.cli.studies import run_study
    from weakspot.study.study import find_study

    def hunted(label: str) -> Callable[[Path], int]:
        return lambda out: _hunt(label, budget=budget, seed=seed, out=out)

    def mined(out: Path) -> int:
        study = find_study("mine")
        given = {"corpus": f"world?texts={min(1500, 150 + images)}", "budget": f"pairs={images}"}
        return run_study(study, dict(study.example) | given | {"seed": seed, "out": out})

    def mapped(out: Path) -> int:
        limits = f"images={images // 3}"
        given = {"target": "world:classifier", "images": "world:600", "budget": limits, "seed": seed}
        return run_study(find_study("map"), given | {"out": out})

    def asked(out: Path) -> int:
        options = {"target": "world:guide", "benchmark": "world:questions", "contrast": True, "seed": seed}
        return run_study(find_study("ask"), options | {"out": out})

    told = {
        "hunt": "hunt: the drawn world has 16 subjects and a classifier trained on how they usually appear.\n"
        "Where does it fail, and can we prove it?",
        "mine": "mine: the world's image–text encoder. Which differences between captions does it not see?",
        "map": "map: turned, darkened and coloured pictures. In which corner does the classifier fail most?",
        "ask": "ask: a chat model that is afraid of words. Which harmless questions does it refuse?",
    }
    hunts = [("" if i else told["hunt"], f"hunt-{label}", hunted(label)) for i, label in enumerate(HUNTS)]
    return [*hunts, (told["mine"], "mine", mined), (told["map"], "map", mapped), (told["ask"], "ask", asked)]


def _hunt(label: str, *, budget: str, seed: int, out: Path) -> int:
    from weakspot.cli.studies import run_study
    from weakspot.study.study import find_study

    options = {"target": "world:classifier", "label": label, "budget": budget, "seed": seed, "out": out}
    return run_study(find_study("hunt"), options)
