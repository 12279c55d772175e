"""Everything a user can name: commands, their flags, keys of studies, models, sources, judges, extras.

    python benchmarks/surface.py record OLD.json --checkout /path/to/old
    python benchmarks/surface.py record NEW.json
    python benchmarks/surface.py compare OLD.json NEW.json      # what is gone, and what is new

So that nothing that could be said to an older version is lost without the CHANGELOG naming its successor.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

#: Runs inside the version that is asked.
_ASK = """
import json
try:
    from weakspot.cli.app import command_tree
except ImportError:  # an older version
    from weakspot.cli.environment import command_tree
from weakspot.core import JUDGES, MODELS, SOURCES

def commands(command, words):
    inner = getattr(command, "commands", None)
    if inner is None:
        for option in command.params:
            for flag in option.opts:
                yield " ".join((*words, flag if flag.startswith("-") else f"<{flag}>"))
        yield " ".join(words)
        return
    for name, one in inner.items():
        yield from commands(one, (*words, name))

found = {"commands": sorted(set(commands(command_tree(), ())))}
for kind, registry in (("models", MODELS), ("sources", SOURCES), ("judges", JUDGES)):
    found[kind] = sorted(entry.name for entry in registry)
print(json.dumps(found))
"""


def record(checkout: Path, out: Path) -> None:
    """Ask a checkout what it knows."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    done = subprocess.run(
        [sys.executable, "-c", _ASK], env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    project = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["project"]
    found["extras"] = sorted(project["optional-dependencies"])
    out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(", ".join(f"{len(names)} {kind}" for kind, names in found.items()))


def compare(before: Path, after: Path) -> int:
    """Print what is gone and what is new; how much is gone."""
    old, new = json.loads(before.read_text("utf-8")), json.loads(after.read_text("utf-8"))
    gone = 0
    for kind, names in old.items():
        lost, made = sorted({*names} - {*new[kind]}), sorted({*new[kind]} - {*names})
        gone += len(lost)
        print(f"{kind}: {len(names)} before, {len(new[kind])} now")
        print(
            "".join(f"  gone  {name}\n" for name in lost) + "".join(f"  new   {name}\n" for name in made),
            end="",
        )
    return gone


def main() -> None:
    """See the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    tasks = parser.add_subparsers(dest="task", required=True)
    recording = tasks.add_parser("record")
    recording.add_argument("out", type=Path)
    recording.add_argument("--checkout", type=Path, default=Path(__file__).parent.parent)
    comparing = tasks.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.task == "record":
        record(given.checkout.resolve(), given.out)
    else:
        sys.exit(1 if compare(given.before, given.after) else 0)


if __name__ == "__main__":
    main()
