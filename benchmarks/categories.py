"""How well the categories of pairs are told without a language model: a confusion matrix on VALSE.

    python benchmarks/categories.py [--half dev|test] [--mistakes 5]

The rules were written with one random half of VALSE in view (`dev`); the other half is `test`, the default.
Only pairs that VALSE's annotators found valid count. VALSE's "existence" pairs differ in the word "no", which
is our "negation" (presence is a thing that one text names and the other does not). Noun phrases and
coreference (a "yes" or "no" after a question) are shown too, below: they are not among the phenomena that the
project promises, but map onto `subject` and `negation`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections import Counter, defaultdict
from pathlib import Path

from weakspot.text.differences import Category, Difference, categorise

PROMISED = {
    "existence": Category.NEGATION,
    "plurals": Category.NUMBER,
    "counting": Category.NUMBER,
    "relations": Category.SPATIAL,
    "actant-swap": Category.ROLE,
    "action-replacement": Category.ACTION,
}
OTHERS = {"noun phrases": Category.SUBJECT, "coreference": Category.NEGATION}
#: The head of a column: the beginning of the category's name.
SHORT = {category: category.value.split()[0].split("/")[0][:8] for category in Category}


def halves(n: int) -> tuple[set[int], set[int]]:
    """Indices of the half that was looked at, and of the other."""
    order = list(range(n))
    random.Random(5).shuffle(order)
    return set(order[: n // 2]), set(order[n // 2 :])


def main() -> None:
    """Print the matrix, the share in the right category, and the time."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=("dev", "test"), default="test")
    parser.add_argument(
        "--mistakes", type=int, default=0, help="print so many of each phenomenon (of dev only)"
    )
    args = parser.parse_args()
    shared = Path(os.environ.get("WEAKSPOT_DATA", Path(__file__).resolve().parents[2] / "shared"))
    rows = [json.loads(line) for line in (shared / "data/pairs/valse.jsonl").read_text("utf-8").splitlines()]
    wanted = halves(len(rows))[args.half == "test"]
    matrix: dict[str, Counter[Category]] = defaultdict(Counter)
    wrong: dict[str, list[tuple[str, str, Difference]]] = defaultdict(list)
    start, n = time.process_time(), 0
    for i, row in enumerate(rows):
        if i in wanted and row["valid"]:
            name = row["type"] if row["phenomenon"] == "actions" else row["phenomenon"]
            found = categorise(row["caption"], row["foil"])
            n += 1
            matrix[name][found.category] += 1
            if found.category is not (PROMISED | OTHERS)[name]:
                wrong[name].append((row["caption"], row["foil"], found))
    seconds = time.process_time() - start
    print(f"VALSE, {args.half} half, {n:,} valid pairs\n")
    print(f"{'':<19}{'n':>6}{'right':>8}  " + "".join(f"{SHORT[c]:>9}" for c in Category))
    for group in (PROMISED, OTHERS):
        for name, right in group.items():
            counts = matrix[name]
            share = counts[right] / counts.total()
            cells = "".join(f"{counts[c] or '·':>9}" for c in Category)
            print(f"{name:<19}{counts.total():>6}{100 * share:>6.1f} %  {cells}")
        total = sum(matrix[name].total() for name in group)
        hits = sum(matrix[name][right] for name, right in group.items())
        print(f"{'together':<19}{total:>6}{100 * hits / total:>6.1f} %\n")
    print(f"{1e6 * seconds / n:.0f} µs of CPU a pair")
    for name, mistakes in wrong.items() if args.half == "dev" else ():
        for first, second, found in mistakes[: args.mistakes]:
            print(f"{name}: {first} | {second}\n    {found.category.value}: {found.reason}")


if __name__ == "__main__":
    main()
