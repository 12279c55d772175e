"""The settings of a training script as flags of its command line, and a wait that says what it waits for."""

from __future__ import annotations

import argparse
import inspect
import re
import time
from collections.abc import Callable
from dataclasses import fields
from typing import Any

#: What settings mean that most scripts have, where a script does not say more.
USUAL = {
    "seed": "Seed of initial weights and order.",
    "held_out": "Pictures held out, of the same kind.",
    "width": "Of a token.",
    "steps": "Of training.",
    "seconds": "Decay and stop early after this many seconds, whatever the steps say; 0 never.",
    "batch": "Pictures a step.",
    "rate": "Learning rate at its highest.",
    "peak_rate": "Learning rate at its highest.",
    "weight_decay": "Of AdamW.",
    "workers": "Drawing processes; 0 takes all cores.",
    "cache": 'Folder where drawn pictures are kept for other scripts; "" keeps none.',
    "smoke": "Tiny run on the CPU that only shows that everything works.",
}

#: How a value is shown in the help.
MARKS = {int: "N", float: "X", str: "TEXT"}


def settings(cls: type, doc: str | None, argv: list[str] | None = None) -> Any:
    """A dataclass of settings from the command line: every field a flag, its `#:` comment the help."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    told = USUAL | comments(inspect.getsource(cls))
    for f in fields(cls):
        flag, about = "--" + f.name.replace("_", "-"), told.get(f.name, "").replace("%", "%%")
        if isinstance(f.default, bool):
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=f.default, help=about)
        else:
            about = f"{about} (default: {f.default!r})".strip()
            parser.add_argument(
                flag, type=type(f.default), default=f.default, help=about, metavar=MARKS[type(f.default)]
            )
    return cls(**vars(parser.parse_args(argv)))


def comments(source: str) -> dict[str, str]:
    """The `#:` comment above each field of a dataclass, in one line, from the source of the class."""
    found: dict[str, str] = {}
    said: list[str] = []
    for line in source.splitlines():
        if line.strip().startswith("#:"):
            said.append(line.strip().removeprefix("#:").strip())
        elif (name := re.match(r"    (\w+): ", line)) and said:
            found[name[1]] = " ".join(said)
            said = []
        else:
            said = []
    return found


def wait(until: Callable[[], bool], what: str) -> None:
    """Wait until something is there, and say so first: nobody shall look at a silent script."""
    if not until():
        print(f"waiting for {what}", flush=True)
    while not until():
        time.sleep(1)
