"""`weakspot demo`: a table, then four studies on the embedded world; minutes, and nothing to set up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import typer

from weakspot.cli import program
from weakspot.cli.flags import option

HUNTS: Final = ("fly", "cat", "crayfish")
#: What is said before a study.
WORDS: Final = {
    "table": (
        "table: what a classifier answered on 5,000 pictures, as an evaluation would save it.\n"
        "On which kinds of rows does it fail? No model is needed to ask."
    ),
    "hunt-fly": (
        "hunt: the drawn world has 16 subjects and a classifier trained on how they usually appear.\n"
        "Where does it fail, and can we prove it?"
    ),
    "mine": "mine: the world's image–text encoder. Which differences between captions does it not see?",
    "map": "map: turned, darkened and coloured pictures. In which corner does the classifier fail most?",
    "ask": "ask: a chat model that is afraid of words. Which harmless questions does it refuse?",
}


def demo(
    out: Path | None = option(None, "FOLDER", "Folder for the demo's runs; by default in runs/."),
    seed: int = option(7, "NUMBER", "The same seed gives the same demo."),
    budget: str = option("images=12000", "LIMITS", "Limits of each hunt."),
) -> int:
    """Run every study there is on the embedded world: no key, no GPU, no download."""
    from weakspot.cli.studies import run_study
    from weakspot.engine import Budget
    from weakspot.store import Run
    from weakspot.study.study import find_study

    folder = out or Path("runs") / f"demo-{datetime.now(UTC):%Y-%m-%d-%H%M%S}"
    images = int(dict(Budget.parse(budget).limits).get("images", 12_000))
    code = 0
    for name, study, options in _studies(budget, images):
        if name in WORDS:
            typer.echo(f"{WORDS[name]}\n")
        code = max(code, run_study(find_study(study), options | {"seed": seed, "out": folder / name}))
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


def _studies(budget: str, images: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The name of a run, its study and its options."""
    from weakspot.study.study import find_study

    yield "table", "table", {"target": "world:predictions"}
    for label in HUNTS:
        yield f"hunt-{label}", "hunt", {"target": "world:classifier", "label": label, "budget": budget}
    corpus = {"corpus": f"world?texts={min(1500, 150 + images)}", "budget": f"pairs={images}"}
    yield "mine", "mine", dict(find_study("mine").example) | corpus
    limits = f"images={images // 3}"
    yield "map", "map", {"target": "world:classifier", "images": "world:600", "budget": limits}
    yield "ask", "ask", {"target": "world:guide", "benchmark": "world:questions", "contrast": True}
