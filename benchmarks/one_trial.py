"""The modules that one trial of a hunt crosses, from the command to the finished report.

    python benchmarks/one_trial.py             # the rooms in the order in which they are entered
    python benchmarks/one_trial.py --modules   # with their modules

A hunt for one picture is run through the command line, with a source and a classifier that are the user's
own Python, so that only weakspot's code is counted. A module counts if one of its functions is executed; what
runs while a module is imported does not. The way in is the stack of calls from the command to the user's
classifier: on it no room may stand twice.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import weakspot

HOUSE: Final = Path(weakspot.__file__).parent
#: The most that one trial may cross.
MOST: Final = 45
#: The modules that the user brings.
_PARTS: Final = """
import numpy as np

from weakspot.core import Case

PICTURE = np.eye(32, dtype=np.uint8)[..., None].repeat(3, axis=2)


class Source:
    def draw(self, hypothesis, indices, *, seed):
        return [Case(hypothesis, i, i, PICTURE, "fly") for i in indices]


def predict(images):
    return [[0.9, 0.1]] * len(images)
"""
_COMMAND: Final = (
    "hunt python:one_trial_parts:predict?labels=labels.txt --label fly "
    "--source python:one_trial_parts:Source --budget images=1 --out run"
)


class Watcher:
    """Notes each module whose functions are called, and the rooms on the way to the user's classifier."""

    def __init__(self) -> None:
        self.modules: dict[str, None] = {}
        self.way_in: list[str] = []
        self._known: dict[CodeType, str] = {}
        self._stacks: dict[int, list[str]] = {}
        self._importing = 0  # how many modules are being imported, one inside another

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """The profile function of Python."""
        stack = self._stacks.setdefault(threading.get_ident(), [])
        if event == "call":
            self._importing += frame.f_code.co_name == "<module>"
            module = "" if self._importing else self._module(frame.f_code)
            if module:
                self.modules.setdefault(module)
            elif frame.f_code.co_name == "predict" and "one_trial_parts" in frame.f_code.co_filename:
                self.way_in = self._rooms(threading.get_ident())
            stack.append(module)
        elif event == "return" and stack:
            self._importing -= frame.f_code.co_name == "<module>"
            stack.pop()

    def _rooms(self, thread: int) -> list[str]:
        """The rooms of a stack; a worker's thread goes on from where the main thread waits for it."""
        main = threading.main_thread().ident or 0
        stack = self._stacks[main] + (self._stacks[thread] if thread != main else [])
        rooms = [room_of(module) for module in stack if module]
        return [room for i, room in enumerate(rooms) if i == 0 or room != rooms[i - 1]]

    def _module(self, code: CodeType) -> str:
        """The path of a module of ours; "" for others, and for what runs while a module is imported."""
        if code not in self._known:
            path = Path(code.co_filename)
            in_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
            ours = in_function and path.suffix == ".py" and path.is_relative_to(HOUSE)
            self._known[code] = str(path.relative_to(HOUSE)) if ours else ""
        return self._known[code]


def room_of(module: str) -> str:
    """The folder of a module; the studies have one each."""
    room, *rest = module.split("/")
    return f"studies/{rest[0]}" if room == "studies" and len(rest) > 1 else room


@contextlib.contextmanager
def _parts() -> Iterator[None]:
    """A folder with the user's modules, and we are in it."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("one_trial_parts.py").write_text(_PARTS)
        Path("labels.txt").write_text("fly\nbee\n")
        sys.path.insert(0, folder)
        try:
            yield
        finally:
            sys.path.remove(folder)


def follow() -> Watcher:
    """Run the hunt, and say what it crossed."""
    from weakspot.cli import run

    watcher = Watcher()
    with (
        _parts(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as said,
    ):
        threading.setprofile(watcher)
        sys.setprofile(watcher)
        try:
            run(_COMMAND.split())
        except SystemExit as ended:
            if ended.code not in (0, 3, None):
                sys.setprofile(None)
                raise RuntimeError(said.getvalue()) from ended
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        if not Path("run/report.html").is_file():
            raise RuntimeError(f"the hunt wrote no report: {said.getvalue()}")
    return watcher


def main() -> int:
    """See the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--modules", action="store_true", help="name the modules of each room")
    given = parser.parse_args()
    os.environ.setdefault("NO_COLOR", "1")
    watcher = follow()
    rooms: dict[str, list[str]] = {}
    for module in watcher.modules:
        rooms.setdefault(room_of(module), []).append(module)
    for room, modules in rooms.items():
        names = " ".join(module.removeprefix(f"{room}/") for module in modules) if given.modules else ""
        print(f"{room:<16} {len(modules):>3}  {names}")
    twice = {room for room in watcher.way_in if watcher.way_in.count(room) > 1}
    print(f"{len(watcher.modules)} modules in {len(rooms)} rooms; at most {MOST} modules wanted")
    print(f"the way in: {' → '.join(watcher.way_in)}")
    if twice:
        print(f"entered twice: {', '.join(sorted(twice))}")
    return int(len(watcher.modules) > MOST or bool(twice))


if __name__ == "__main__":
    sys.exit(main())
