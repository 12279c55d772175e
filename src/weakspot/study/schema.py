"""A JSON Schema of a study's YAML file, so that an editor completes and checks it."""

from __future__ import annotations

from typing import Any

from weakspot.study.options import Field, fields_of
from weakspot.study.study import Study

_TYPES = {bool: "boolean", int: "integer", float: "number"}


def schema_of(study: Study) -> dict[str, Any]:
    """The schema of one study's file."""
    fields = list(fields_of(study))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"weakspot {study.name}",
        "description": study.about,
        "type": "object",
        "properties": {"study": {"const": study.name}} | {field.name: _property(field) for field in fields},
        "required": ["study", *(field.name for field in fields if field.required)],
        "additionalProperties": False,
    }


def _property(field: Field) -> dict[str, Any]:
    one: dict[str, Any] = {"type": _TYPES.get(field.kind, "string")}
    value = {"anyOf": [one, {"type": "array", "items": one}]} if field.many else one
    if not field.required:
        value = {"anyOf": [value, {"type": "null"}]}
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    return value | {"description": field.option.help} | ({} if field.required else {"default": default})
