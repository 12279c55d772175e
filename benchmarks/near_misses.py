"""What near misses are worth to a hunt: the same hunts with and without them, in one run.

    python benchmarks/near_misses.py [--budget 3000] [--seeds 3,4,5,6] [--json FILE]

The pairs of a label and a wrong answer are those of `hunt_cost.py`. A hunt learns from near misses only where
its baseline has hardly failed, so the budgets here are small.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.hunt_cost import TARGET, Pair, pairs

from weakspot import hunt
from weakspot.studies.hunt import method as hunt_method
from weakspot.studies.hunt.claims import from_near_misses


def confirmed(pair: Pair, *, budget: int, seed: int, near: bool) -> dict[str, Any]:
    """What one hunt confirms, and its images."""
    proposed = from_near_misses if near else lambda *_, **__: []
    with (
        tempfile.TemporaryDirectory(prefix="weakspot-") as folder,
        mock.patch.object(hunt_method, "from_near_misses", new=proposed),
        hunt(
            TARGET,
            label=pair.label,
            target_label=pair.answer,
            budget=f"images={budget}",
            seed=seed,
            edits=0,
            out=Path(folder) / "run",
        ) as run,
    ):
        rates = [finding.rate.value for finding in run.findings if finding.confirmed]
        return {
            "findings": len(rates),
            "best": max(rates, default=0.0),
            "images": run.ledger.spend()["images"],
        }


def main(budget: int, seeds: list[int], as_json: Path | None) -> None:
    rows: list[dict[str, Any]] = []
    print(f"{'pair':<24}{'seed':>5}   without: findings, best   with: findings, best")
    for seed in seeds:
        for pair in pairs(10):
            found = [confirmed(pair, budget=budget, seed=seed, near=near) for near in (False, True)]
            rows.append({"pair": list(pair), "seed": seed, "without": found[0], "with": found[1]})
            told = "".join(f"{one['findings']:>14} {one['best']:>9.0%}" for one in found)
            print(f"{' → '.join(pair):<24}{seed:>5}{told}", flush=True)
    for how in ("without", "with"):
        own = [row[how] for row in rows]
        print(
            f"{how:<8} {fmean(r['findings'] for r in own):.2f} findings in the mean, none in "
            f"{sum(not r['findings'] for r in own)} of {len(own)}, best rate "
            f"{fmean(r['best'] for r in own):.0%}, {fmean(r['images'] for r in own):,.0f} images"
        )
    if as_json:
        as_json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=int, default=3_000)
    parser.add_argument("--seeds", default="3,4,5,6")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    main(args.budget, [int(seed) for seed in args.seeds.split(",")], args.json)
