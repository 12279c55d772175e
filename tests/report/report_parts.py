"""Small runs of the drawn world, with hostile words put into each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weakspot.cli import run as cli
from weakspot.core import Finding, Hypothesis, Stage, Status, Trial
from weakspot.store import Run, rate

HOSTILE = (
    "<img src=x onerror=alert(1)> =1+1 </pre></script><script>alert(2)</script> \x1b[31m\u202e {{ 7*7 }}"
)
#: As a person may see it; the rest of it is made visible.
SEEN = "<img src=x onerror=alert(1)> =1+1 </pre></script><script>alert(2)</script>"
STUDIES = {
    "hunt": ("hunt", "world:classifier", "--label", "fly", "--budget", "images=150"),
    "mine": (
        *("mine", "world:encoder", "--reference", "world:scenes"),
        *("--corpus", "world?texts=40", "--budget", "calls=150"),
    ),
    "map": ("map", "world:classifier", "--images", "world:60", "--budget", "images=100"),
    "ask": ("ask", "world:guide", "--benchmark", "world:questions", "--contrast"),
    "rare": ("rare", "world:classifier", "--label", "fly", "--budget", "images=200"),
}


def make_run(study: str, folder: Path) -> Path:
    """A run of a study; some of its words are against us."""
    code = cli([*STUDIES[study], "--seed", "7", "--out", str(folder)])
    assert code in (0, 3), (study, code)
    with Run.open(folder) as run:
        _poison(run)
    return folder


def _poison(run: Run) -> None:
    """Hostile words where a run of this study keeps words that are not ours."""
    ledger, study = run.ledger, run.config.study
    base = next((h for h in run.baselines if study != "mine"), None)
    concepts: tuple[tuple[str, str], ...] = ()
    if study == "mine":
        concepts = (("pairs", "written"), ("name", HOSTILE))
    elif study == "ask":
        concepts = (("set", "benign"), ("system", HOSTILE))
    words = Hypothesis(f"{base.text} {HOSTILE}" if base else HOSTILE, concepts, origin="caption")
    ledger.add_hypotheses([words])
    caption = f'["{HOSTILE}", "b", "c"]'.replace("\x1b", "") if study == "mine" else HOSTILE
    more: dict[str, Any] = {"caption": caption, "detail": HOSTILE}
    trials = [
        Trial(words.id, stage.start + i, Status.OK, i % 4 != 0, 0.95, "fly", HOSTILE, **more)
        for stage in (Stage.EXPLORE, Stage.CONFIRM)
        for i in range(16)
    ]
    ledger.record(trials, {})
    if study == "rare":
        told = {"words": HOSTILE, "failing": 0.5, "usual": 0.01}
        kept = ledger.fact("result")
        ledger.set_fact("result", kept | {"common": [told], "answers": [[HOSTILE, 1.0]], "found": 8})
    if study == "ask":  # what a server calls its model
        ledger.set_fact("result", ledger.fact("result") | {"model": HOSTILE, "images_missing": [HOSTILE]})
    if study in ("hunt", "map"):
        usual = ledger.tally(base, Stage.EXPLORE) if base is not None else ledger.tally(words, Stage.EXPLORE)
        own = rate(ledger.tally(words, Stage.CONFIRM))
        bad = Finding(words, HOSTILE, own, rate(usual), 9.0, True, ((HOSTILE, 1.0),))
        ledger.set_findings([bad, *run.findings])
