"""How to see it again: a command line, a line of Python, and the failing cases drawn anew."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from weakspot.core import Finding
from weakspot.report import format as show
from weakspot.report.facts import Facts

_OPTIONS: Final = ("label", "target_label", "source", "judge", "seed", "budget", "fdr")
_DEFAULTS: Final[dict[str, Any]] = {"target_label": None, "judge": None, "fdr": 0.05}
#: A text longer than this is named by its id, not repeated.
_LONGEST: Final = 2_000
#: Cases drawn again at most.
_CASES: Final = 100


class Recipe(NamedTuple):
    """The ways back to a finding.

    Attributes:
        command: For a shell; "" if a part of the run was a Python object without a name.
        python: The same from Python.
        redraw: Draws the failing cases again; "" if the text is too long to repeat or the source has no name.
    """

    command: str
    python: str
    redraw: str


def recipe(facts: Facts, finding: Finding | None = None) -> Recipe | None:
    """How to repeat a run, or a finding of it; None for a study without such a command."""
    settings = facts.config.settings
    if facts.config.study != "hunt" or "target" not in settings:
        return None
    given = {
        key: settings[key]
        for key in _OPTIONS
        if key in settings and (key not in _DEFAULTS or settings[key] != _DEFAULTS[key])
    }
    words = ["weakspot", facts.config.study, str(settings["target"])]
    for key, value in given.items():
        words += [f"--{key.replace('_', '-')}", str(value)]
    nameless = any(str(settings.get(part)).startswith("object:") for part in ("target", "source", "judge"))
    arguments = ", ".join([_literal(settings["target"]), *(f"{k}={_literal(v)}" for k, v in given.items())])
    return Recipe(
        command="" if nameless else show.shell(words),
        python=f"import weakspot; run = weakspot.{facts.config.study}({arguments})",
        redraw="" if finding is None else _redraw(facts, finding),
    )


def resume_command(facts: Facts) -> str:
    """How to go on with a run that has not finished."""
    words = ["weakspot", "resume", str(facts.folder)]
    larger = " --budget …" if "budget" in facts.state else ""
    return show.shell(words) + larger


def _redraw(facts: Facts, finding: Finding) -> str:
    source, hypothesis = facts.setting("source"), finding.hypothesis
    if not source or source.startswith("object:") or len(hypothesis.text) > _LONGEST or not finding.failing:
        return ""
    words = _literal(hypothesis.text) + (f", {hypothesis.concepts!a}" if hypothesis.concepts else "")
    return (
        "from weakspot.core import SOURCES, Hypothesis\n"
        f"source = SOURCES.load({_literal(source)})\n"
        f"cases = source.draw(Hypothesis({words}), {list(finding.failing[:_CASES])}, "
        f"seed={_literal(facts.config.settings.get('seed', 0))})"
    )


def _literal(value: Any) -> str:
    """A Python literal in printable characters."""
    text = repr(value)
    return text if show.clean(text) == text else ascii(value)
