"""The card of a repaired model, which lies beside its weights (ONNX or safetensors, never a pickle)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weakspot.store import write_whole


def write_card(
    folder: Path,
    *,
    was: str,
    name: str,
    spots: Sequence[str],
    settings: Mapping[str, Any],
    trained: Mapping[str, Any],
    result: Mapping[str, Any] | None = None,
) -> None:
    """Write the card of the model in a folder; the result is there once it is proved."""
    write_whole(folder / "README.md", card(was, name, folder, spots, settings, trained, result).encode())


def card(
    was: str,
    name: str,
    folder: Path,
    spots: Sequence[str],
    settings: Mapping[str, Any],
    trained: Mapping[str, Any],
    result: Mapping[str, Any] | None,
) -> str:
    """What is to be known of the model, as Markdown."""
    lines = [
        "# Repaired model",
        "",
        f"Made by weakspot repair from `{_plain(was)}`. Weights are data (ONNX or safetensors), no code.",
        "",
        "## What was to be repaired",
        "",
        *[f"- {_plain(words)}" for words in spots],
        "",
        "## How",
        "",
        f"Method {settings['method']}: {trained['parameters']:,} numbers trained on {trained['pictures']:,} "
        f"{trained.get('kind', 'pictures')}, {100 * settings['rate']:.0f} % of them as the weak spots say; "
        f"{trained['epochs']} rounds{_each(trained)}, of which round {trained['best']} was kept (0: none was "
        "better than the old weights on validation inputs).",
        *_guarded(trained),
        "",
    ]
    if result is not None:
        lines += [
            "## What was proved",
            "",
            f"Verdict: **{result['verdict']}**, on inputs that neither search nor training saw.",
            "",
        ]
        lines += [
            "| where | cases | failed before | failed after | removed | newly made |",
            "|---|---|---|---|---|---|",
        ]
        more = [row for row in [result.get("elsewhere"), *result.get("new", [])] if row is not None]
        for row in [*result["chosen"], *result["others"], result["clean"], *more]:
            lines.append(
                f"| {_plain(row['words'])} | {row['n']:,} | {_share(row['before'], row['n'])} | "
                f"{_share(row['after'], row['n'])} | {row['removed']:,} | {row['made']:,} |"
            )
        lines.append("")
    lines += ["## Files", ""]
    for path in sorted(folder.iterdir()):
        if path.name != "README.md" and path.is_file():
            lines.append(f"- `{path.name}`, SHA-256 `{hashlib.sha256(path.read_bytes()).hexdigest()}`")
    if name:
        lines += ["", f"As a target: `{_plain(name)}`"]
    return "\n".join(lines) + "\n"


def _each(trained: Mapping[str, Any]) -> str:
    return f" of {trained['round']}" if "round" in trained else ""


def _guarded(trained: Mapping[str, Any]) -> list[str]:
    """How far the weights were moved, where that was chosen."""
    places = trained.get("guard") or ()
    if not places:
        return []
    old = next(place["plain"] for place in places if place["way"] == 0)
    return [
        f"The weights lie {100 * trained['way']:.0f} % of the way from the old ones to that round's: on "
        f"{trained['guards']:,} pictures that neither training nor proof saw, plain ones failed "
        f"{100 * old:.1f} % before and {100 * places[-1]['plain']:.1f} % there."
    ]


def _plain(text: str) -> str:
    """Words of others, in one line and without marks that Markdown or HTML would read."""
    shown = "".join(c if c.isprintable() else " " for c in text[:300])
    return shown.replace("|", "/").replace("`", "'").replace("<", "‹").replace(">", "›")


def _share(failures: int, n: int) -> str:
    return f"{100 * failures / n:.1f} % ({failures:,})" if n else "0"
