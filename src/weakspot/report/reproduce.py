"""How to see it again: a command line, a line of Python, and the failing cases drawn anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from weakspot.core import Finding
from weakspot.report import format as show
from weakspot.report.facts import Facts
from weakspot.study.registry import find_study

#: These are said even so: the drawing depends on them.
_ALWAYS: Final = ("source", "seed", "budget")
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
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
    if facts.budget is not None:
        plain["budget"] = facts.budget
    options = [field for field in find_study("hunt").fields.values() if not field.option.argument]
    given = {
        field.name: plain[field.name]
        for field in options
        if field.name in plain
        and (field.name in _ALWAYS or plain[field.name] not in (field.default, None, "", ()))
    }
    arguments = ", ".join([_literal(settings["target"]), *(f"{k}={_literal(v)}" for k, v in given.items())])
    return Recipe(
        command=_command(facts.config.study, settings["target"], given),
        python=f"import weakspot; run = weakspot.{facts.config.study}({arguments})",
        redraw="" if finding is None else _redraw(facts, finding),
    )


def _command(study: str, target: Any, given: Mapping[str, Any]) -> str:
    """The command line; "" where a shell cannot say it."""
    words = ["weakspot", study, str(target)]
    for key, value in given.items():
        values = [str(one) for one in (value if isinstance(value, tuple) else (value,))]
        if key == "labels":
            if values == ["all"] or any("," in label or label != label.strip() for label in values):
                return ""
            values = [",".join(values)]
        for one in values:
            words += [f"--{key.replace('_', '-')}", one]
    parts = [target, *(given.get(part) for part in ("source", "judge", "captioner", "encoder", "llm"))]
    nameless = any(str(part).startswith("object:") for part in (*parts, *given.get("verify", ())))
    return "" if nameless else show.shell(words)


def resume_command(facts: Facts) -> str:
    """How to go on with a run that has not finished."""
    words = ["weakspot", "resume", str(facts.folder)]
    larger = " --budget …" if "budget" in facts.state else ""
    return show.shell(words) + larger


def _redraw(facts: Facts, finding: Finding) -> str:
    source, hypothesis = facts.setting("source"), finding.hypothesis
    if not source or source.startswith("object:") or len(hypothesis.text) > _LONGEST or not finding.failing:
        return ""
    label = facts.label_of(finding) or facts.setting("label")
    told = "" if source.startswith("world:") else f", label={_literal(label)}"
    words = _literal(hypothesis.text) + (f", {hypothesis.concepts!a}" if hypothesis.concepts else "")
    return (
        "from weakspot.core import SOURCES, Hypothesis\n"
        f"source = SOURCES.load({_literal(source)}{told})\n"
        f"cases = source.draw(Hypothesis({words}), {list(finding.failing[:_CASES])}, "
        f"seed={_literal(facts.config.settings.get('seed', 0))})"
    )


def _literal(value: Any) -> str:
    """A Python literal in printable characters."""
    text = repr(value)
    return text if show.clean(text) == text else ascii(value)
