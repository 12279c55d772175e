"""Runs of every study with fixed seeds, so that two versions of weakspot can be compared trial by trial.

    python benchmarks/golden.py record OLD.json --checkout /path/to/old    # its .venv/bin/weakspot is used
    python benchmarks/golden.py record NEW.json
    python benchmarks/golden.py compare OLD.json NEW.json

Ledgers are read with SQL alone, so that nothing of either version stands between the trials and the file.
What is kept of a run: for every hypothesis a digest of its trials (without seconds and dollars, which differ
from one time to the next), the findings, and what `--json` printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

DATA: Final = Path(os.environ.get("WEAKSPOT_DATA", "../shared")).resolve()
_HUNT = "hunt world:classifier --label fly --budget images=4000"
_CIFAR: Final = "airplane automobile bird cat deer dog frog horse ship truck"
#: By name, the arguments; {NAME} is the folder of an earlier run, {data} the test material,
#: {labels} a file of CIFAR's labels.
RUNS: Final[dict[str, str]] = {
    "hunt": f"{_HUNT} --seed 1",
    "hunt-labels": "hunt world:classifier --labels cat,fly,dog --budget images=4000 --seed 2 --edits 2",
    "hunt-target-label": "hunt world:classifier --label fly --target-label bee --budget images=3000 --seed 3",
    "hunt-judge": "hunt world:classifier --label fly --judge label?top=2 --sentences 2 --budget images=3000",
    "hunt-verified": "hunt world:classifier --label fly --verify world:classifier-fair --budget images=900",
    "hunt-looking": (
        "hunt world:classifier --label fly --captioner world:captioner --encoder world:encoder "
        "--budget images=1200 --seed 4"
    ),
    "hunt-constant": "hunt world:classifier --label fly --fdr 0.2 --budget images=300 --seed 5",
    "rare": "rare world:classifier --label boat --words 'it is red.' --budget images=3000 --seed 1",
    "rare-target-label": "rare world:classifier --label cat --target-label dog --budget images=4000",
    "rare-plain": "rare world:classifier --label fly --budget images=600 --seed 2",
    "mine": "mine world:encoder --reference world:scenes --corpus world?texts=1500 --budget pairs=6000",
    "mine-threshold": (
        "mine world:encoder --reference world:scenes --corpus world?texts=600 --threshold 0.9 --gap 0.1 "
        "--pairs 40 --steer colours --budget pairs=2000 --seed 3"
    ),
    "map-world": "map world:classifier --space world --budget images=1500 --seed 1",
    "map-images": "map world:classifier --images world:400 --budget images=1500 --seed 2",
    "map-gp": "map world:classifier --images world:300 --search gp --budget images=400 --above 0.3",
    "map-random": "map world:classifier --images world:300 --search random --budget images=400 --seed 3",
    "map-text": (
        "map extract:2 --space text-16 --judge summary?measure=rougeL&epsilon=0.5 --budget images=400 "
        "--seed 1"
    ),
    "map-agent": "map world:classifier --images world:300 --search dqn --budget images=2400 --seed 1",
    "ask": (
        "ask world:guide --benchmark world:questions --contrast --stages --system none --system safety "
        "--repeats 2 --seed 1"
    ),
    "ask-limit": "ask world:guide --benchmark world:questions --limit 12 --budget calls=20",
    "repair-map": "repair {map-images} --method last-layer --epochs 2 --draws 300 --most 60 --seed 1",
    "repair-hunt": "repair {hunt} --method last-layer --epochs 1 --draws 200 --most 60 --seed 1",
    "repair-data": "repair {map-images} --method data",
    "real-map": (
        "map onnx:{data}/models/resnet-cifar10/resnet20.onnx?labels={labels} "
        "--images {data}/data/cifar10/cifar10-test-6000.npz "
        "--budget images=1200 --seed 1"
    ),
    "real-mine": (
        "mine onnx:{data}/models/lit-flickr8k --reference ngrams "
        "--corpus coco:{data}/data/captions/coco-val2017-captions.json "
        "--texts 1500 --pairs 60 --budget pairs=2000"
    ),
    "real-ask": (
        "ask replay:{data}/data/mossbench/responses/claude-3-haiku.jsonl "
        "--benchmark mossbench:{data}/data/mossbench"
    ),
}
#: What differs from one time to the next and from one place to another, wherever it stands in `--json`.
_FLEETING: Final = frozenset(
    {"folder", "report", "created", "seconds", "versions", "dollars", "path", "here", "run", "elapsed"}
)


def record(checkout: Path, out: Path, only: list[str]) -> None:
    """Run everything with one version and keep what came of it."""
    kept: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    program = checkout / ".venv/bin/weakspot"
    with tempfile.TemporaryDirectory() as there:
        folders = {name: f"{there}/{name}" for name in RUNS} | {"labels": f"{there}/labels.txt"}
        Path(there, "labels.txt").write_text("\n".join(_CIFAR.split()))
        for name, arguments in RUNS.items():
            if only and name not in only:
                continue
            words = [word.format(data=DATA, **folders) for word in shlex.split(arguments)]
            done = subprocess.run(
                [program, *words, "--out", folders[name], "--json"],
                capture_output=True,
                text=True,
                cwd=there,
                check=False,
            )
            row: dict[str, Any] = {"exit": done.returncode}
            if done.returncode in (0, 3):
                row |= {"json": _lasting(json.loads(done.stdout), there), **_ledger(Path(folders[name]))}
            else:
                row["error"] = done.stderr[-2000:]
            kept[name] = row
            print(f"{name:<20} exit {done.returncode}  {row.get('n', 0):>6} trials", flush=True)
            if "error" in row:
                print(row["error"], file=sys.stderr)
            out.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def _ledger(folder: Path) -> dict[str, Any]:
    db = sqlite3.connect(f"{(folder / 'ledger.db').as_uri()}?mode=ro", uri=True)
    columns = "idx, status, failed, score, expected, answer, top, caption, detail, blob, tokens"
    digests, n = {}, 0
    for key, text, concepts, origin in db.execute("SELECT key, text, concepts, origin FROM hypotheses"):
        trials = f"SELECT {columns} FROM trials WHERE hypothesis = ? ORDER BY idx"
        rows = db.execute(trials, (key,)).fetchall()
        n += len(rows)
        content = json.dumps(rows, separators=(",", ":"))
        name = f"{text} {concepts if concepts != '[]' else ''} ({origin})"
        digests[name] = [len(rows), hashlib.sha256(content.encode()).hexdigest()[:16]]
    findings = [json.loads(row[0]) for row in db.execute("SELECT data FROM findings ORDER BY rank")]
    return {"n": n, "trials": digests, "findings": findings}


def _lasting(value: Any, there: str) -> Any:
    if isinstance(value, dict):
        return {k: _lasting(v, there) for k, v in value.items() if k not in _FLEETING}
    if isinstance(value, list):
        return [_lasting(v, there) for v in value]
    return value.replace(there, "…").replace(str(DATA), "DATA") if isinstance(value, str) else value


def compare(before: Path, after: Path) -> int:
    """Say run by run what is equal; the number of runs whose trials or findings differ."""
    old, new = json.loads(before.read_text()), json.loads(after.read_text())
    worse = 0
    for name, was in old.items():
        now = new.get(name)
        if now is None:
            print(f"{name:<20} not run")
            worse += 1
            continue
        trials, findings = was.get("trials") == now.get("trials"), was.get("findings") == now.get("findings")
        keys = sorted(_differences(was.get("json"), now.get("json"), ""))
        worse += not (trials and findings and was["exit"] == now["exit"])
        print(
            f"{name:<20} {was.get('n', 0):>6} trials {'equal' if trials else 'DIFFER'} · "
            f"findings {'equal' if findings else 'DIFFER'} · exit {was['exit']} → {now['exit']} · "
            f"--json {'equal' if not keys else 'differs: ' + ', '.join(keys[:12])}"
        )
    print(f"{len(old) - worse} of {len(old)} runs are equal trial by trial")
    return worse


def _differences(was: Any, now: Any, at: str) -> set[str]:
    if isinstance(was, dict) and isinstance(now, dict):
        inner = (_differences(was.get(k), now.get(k), f"{at}.{k}".lstrip(".")) for k in {*was, *now})
        return set().union(*inner)
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        return set().union(*(_differences(a, b, f"{at}[]") for a, b in zip(was, now, strict=True)))
    return set() if was == now else {at}


def main() -> None:
    """See the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("out", type=Path)
    recording.add_argument("--checkout", type=Path, default=Path(__file__).parent.parent)
    recording.add_argument("--only", nargs="*", default=[])
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "record":
        record(given.checkout.resolve(), given.out.resolve(), given.only)
    else:
        sys.exit(1 if compare(given.before, given.after) else 0)


if __name__ == "__main__":
    main()
