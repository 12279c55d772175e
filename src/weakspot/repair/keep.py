"""A repaired model in a folder: its weights (ONNX or safetensors, never a pickle) and a card."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weakspot.repair.network import Network
from weakspot.store import write_whole


def keep(
    network: Network,
    folder: Path,
    *,
    spots: Sequence[str],
    settings: Mapping[str, Any],
    trained: Mapping[str, Any],
    result: Mapping[str, Any] | None = None,
) -> str:
    """Write model and card.

    Args:
        network: As it is now.
        folder: Where to.
        spots: What was to be repaired.
        settings: Of the repair.
        trained: How the training went.
        result: What was proved, once it is.

    Returns:
        The name under which the model is a target; "" if it has none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = network.keep(network.module.to("cpu").eval(), folder)
    network.module.to(network.device)
    write_whole(
        folder / "README.md", card(network.name, name, folder, spots, settings, trained, result).encode()
    )
    return name


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
        "# Repaired classifier",
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
        f"pictures, {100 * settings['rate']:.0f} % of them transformed; {trained['epochs']} rounds, of which "
        f"round {trained['best']} was kept (0: none was better than the old weights on validation pictures).",
        "",
    ]
    if result is not None:
        lines += [
            "## What was proved",
            "",
            f"Verdict: **{result['verdict']}**, on pictures that neither search nor training saw.",
            "",
        ]
        lines += [
            "| where | cases | failed before | failed after | removed | newly made |",
            "|---|---|---|---|---|---|",
        ]
        for row in [*result["chosen"], *result["others"], result["clean"]]:
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


def _plain(text: str) -> str:
    """Words of others, in one line and without marks that Markdown or HTML would read."""
    shown = "".join(c if c.isprintable() else " " for c in text[:300])
    return shown.replace("|", "/").replace("`", "'").replace("<", "‹").replace(">", "›")


def _share(failures: int, n: int) -> str:
    return f"{100 * failures / n:.1f} % ({failures:,})" if n else "0"
