"""The studies as functions: `weakspot.hunt(target, label="fly")`, with the options of their settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from weakspot.engine import Watch
from weakspot.store import Run
from weakspot.study.lifecycle import begin
from weakspot.study.study import Study, chosen, every_field, find_study


def function_of(name: str) -> Callable[..., Run]:
    """The function of a study; its signature and its help follow from the study's options."""
    study = find_study(name)
    signature = signature_of(study)

    def call(*args: Any, **options: Any) -> Run:
        bound = signature.bind(*args, **options).arguments
        frame = {key: bound.pop(key) for key in ("out", "blobs", "watch", "executor") if key in bound}
        taker, options = chosen(study, bound)
        return begin(taker, options, **frame)

    call.__name__ = call.__qualname__ = name
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__doc__ = documentation_of(study)
    return call


def signature_of(study: Study) -> inspect.Signature:
    """What the function takes: arguments first, then the options by keyword."""
    made, parameters = inspect.Parameter, []
    for field in every_field(study):
        kind = made.POSITIONAL_OR_KEYWORD if field.option.argument else made.KEYWORD_ONLY
        parameters.append(made(field.name, kind, default=made.empty if field.required else field.default))
    parameters.append(made("watch", made.KEYWORD_ONLY, default=None, annotation=Watch | None))
    return inspect.Signature(parameters, return_annotation=Run)


def documentation_of(study: Study) -> str:
    """The help of the function, in Google's form."""
    rows = [f"    {field.name}: {field.option.help}" for field in every_field(study)]
    rows.append("    watch: Who is told about the progress.")
    about = inspect.cleandoc(study.options.__doc__ or study.about)
    return f"{about}\n\nArgs:\n" + "\n".join(rows) + "\n\nReturns:\n    The run, open for reading.\n"
