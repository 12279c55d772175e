"""How long `weakspot hunt TABLE` takes on large tables, how much memory, and whether it finds what is there.

    python benchmarks/table_scale.py 5e4 1e6 1e7 [--columns 20] [--executor ray] [--at-once 500000]

Makes tables of mixed columns with planted weak spots, in shards of Parquet, and hunts each in a process of
its own. Prints seconds, the peak of memory (proportional set size of the process and its children, and that
of the largest process by itself) and the findings. What is written is removed afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

SHARD = 500_000
NOUNS = """dog cat horse car bus train boat plane bird tree flower child man woman street house river field
beach mountain ball table chair phone book window door bridge tower garden kitchen market""".split()  # noqa: SIM905
ADJECTIVES = "red blue green white black small large old new wet dry bright dark quiet busy empty".split()  # noqa: SIM905
PLACES = "park city forest harbour station office school farm garage museum".split()  # noqa: SIM905
WEATHER = "sun rain fog snow clouds wind".split()  # noqa: SIM905
#: What is planted, as the words that a finding of it must have, with the rate of failure.
PLANTED = {
    ("weather is fog", "speed is"): 0.5,
    ("“bridge”",): 0.3,
    ("camera is cam17",): 0.6,
}


def made(n: int, columns: int, seed: int, start: int) -> dict[str, Any]:
    """So many rows of one shard."""
    rng = np.random.default_rng([seed, start])
    weather = rng.choice(np.array(WEATHER, object), n, p=[0.45, 0.2, 0.05, 0.05, 0.15, 0.1])
    speed = rng.gamma(3.0, 15.0, n).round(1)
    camera = np.char.add("cam", rng.integers(0, 60, n).astype(str)).astype(object)
    said = [np.array(words, object)[rng.integers(0, len(words), n)] for words in (ADJECTIVES, NOUNS, NOUNS)]
    place = rng.choice(np.array(PLACES, object), n)
    text = [f"a {a} {b} and a {c} in the {d}" for a, b, c, d in zip(*said, place, strict=True)]
    rate = np.full(n, 0.06)
    rate[(weather == "fog") & (speed >= 60)] = 0.5
    rate[(said[1] == "bridge") | (said[2] == "bridge")] = 0.3
    rate[camera == "cam17"] = 0.6
    label = rng.choice(np.array([f"class {i}" for i in range(40)], object), n)
    other = np.roll(label, 1)
    wrong = np.where(other == label, "another", other)
    found: dict[str, Any] = {
        "id": np.arange(start, start + n),
        "label": label,
        "prediction": np.where(rng.random(n) < rate, wrong, label),
        "score": rng.beta(5, 2, n).round(4),
        "caption": text,
        "weather": weather,
        "speed": speed,
        "camera": camera,
        "night": rng.random(n) < 0.3,
        "taken": np.datetime64("2024-01-01") + rng.integers(0, 600 * 86400, n).astype("timedelta64[s]"),
    }
    kinds = ("number", "category", "flag", "many")
    for i in range(columns - len(found)):
        kind = kinds[i % 4]
        if kind == "number":
            found[f"number_{i}"] = rng.normal(size=n).round(3)
        elif kind == "category":
            found[f"kind_{i}"] = np.char.add("k", rng.integers(0, 8, n).astype(str)).astype(object)
        elif kind == "flag":
            found[f"flag_{i}"] = rng.random(n) < 0.5
        else:
            found[f"place_{i}"] = np.char.add("p", rng.integers(0, 5000, n).astype(str)).astype(object)
    return found


def write(folder: Path, rows: int, columns: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(parents=True)
    shards = -(-rows // SHARD)
    for i in range(shards):
        n = min(SHARD, rows - i * SHARD)
        table = pa.table(made(n, columns, 0, i * SHARD))
        path = folder / f"part-{i:05}-of-{shards:05}.parquet"
        parquet.write_table(table, path, row_group_size=SHARD // 4)


def measured(command: list[str]) -> tuple[str, float, float, float]:
    """What a command prints, its seconds, and peaks of memory in MB: of all processes, of the largest."""
    began = time.perf_counter()
    peaks = [0.0, 0.0]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.25):
                sizes = [size_of(pid) for pid in tree(process.pid)]
                peaks[0] = max(peaks[0], sum(sizes))
                peaks[1] = max(peaks[1], max(sizes, default=0.0))

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        said, _ = process.communicate()
        ended.set()
        thread.join()
        if process.returncode:
            raise SystemExit(f"it failed with {process.returncode}")
    return said, time.perf_counter() - began, peaks[0], peaks[1]


def tree(pid: int) -> list[int]:
    found, left = [], [pid]
    while left:
        one = left.pop()
        found.append(one)
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                left += [int(child) for child in task.read_text().split()]
            except OSError:
                continue
    return found


def size_of(pid: int) -> float:
    """The proportional set size in MB: memory that processes share is counted once."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


def hunted(target: Path, options: list[str]) -> None:
    out = target.parent / "run"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "weakspot", "hunt", str(target), "--out", str(out), "--json"]
    said, seconds, together, largest = measured([*command, *options])
    result = json.loads(said)["result"]
    spots = [spot["says"] for spot in result["spots"]]
    right = [
        planted
        for planted in PLANTED
        if any(
            len(says) == len(planted) and all(any(p in s for s in says) for p in planted) for says in spots
        )
    ]
    print(f"{seconds:.1f} s, {together:,.0f} MB in all, the largest process {largest:,.0f} MB")
    print(f"  exact {len(right)} of {len(PLANTED)}; findings:")
    for spot in result["spots"]:
        rate = spot["rate"]
        print(f"    {' and '.join(spot['says'])}: {rate['value']:.3f} of {rate['n']:,}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("rows", nargs="+", type=float)
    arguments.add_argument("--columns", type=int, default=20)
    arguments.add_argument("--executor", default="")
    arguments.add_argument(
        "--at-once", type=int, default=500_000, help="a table of more rows is read in pieces"
    )
    given = arguments.parse_args()
    for rows in map(int, given.rows):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "table"
            began = time.perf_counter()
            write(folder, rows, given.columns)
            size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
            print(f"{rows:,} rows × {given.columns} columns, {size:,.0f} MB of Parquet ", end="")
            print(f"(made in {time.perf_counter() - began:.0f} s), {os.cpu_count()} processors", flush=True)
            options = ["--at-once", str(given.at_once)]
            hunted(folder, [*options, *(["--executor", given.executor] if given.executor else [])])


if __name__ == "__main__":
    main()
