"""Rules of the house that no other tool checks."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "weakspot"

#: Attributes of objects of Python and of other libraries, which have them or not. None of ours.
_FOREIGN = (
    # errors, of Python, click, yaml, ray, transport libraries and providers
    "strerror lineno msg reason message option_name ctx exit_code problem problem_mark cause body code type "
    "status_code headers response retry_after kind stop_details category explanation "
    # click, rich, onnxruntime, Pillow
    "app commands opts renderables _model_bytes _model_path is_animated "
    # torch, transformers, diffusers, timm, torchvision, inspect-ai
    "logits reset_parameters out_features out_channels max_position_embeddings n_positions projection_dim "
    "pooler_output chat_template image_token vocab_files_names get_embedding_dimension unet vae_scale_factor "
    "prepare_latents nsfw_content_detected hf_hub_id tag url client base_url"
)
FOREIGN = set(_FOREIGN.split())


def guesses(path: Path) -> list[str]:
    """Calls `getattr(x, "name", default)`, which find out by guessing what an object can do."""
    return [
        f"{path.relative_to(SOURCES)}:{node.lineno}: {ast.unparse(node)[:80]}"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "getattr"
        and len(node.args) == 3
        and isinstance(node.args[1], ast.Constant)
        and node.args[1].value not in FOREIGN
        and not str(node.args[1].value).startswith("__")
    ]


def test_what_a_part_can_do_is_declared() -> None:
    """See `weakspot.core.ports`: ask isinstance of a protocol there, or add one."""
    found = [line for path in sorted(SOURCES.rglob("*.py")) for line in guesses(path)]
    assert not found, "\n".join(found)


def test_no_module_is_long() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in SOURCES.rglob("*.py")}
    assert [f"{path.relative_to(SOURCES)}: {n}" for path, n in lengths.items() if n > 400] == []
