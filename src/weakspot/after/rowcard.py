"""The card of a data set that is a table: what is in it, where it comes from, and what it does not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from weakspot.report import format as show
from weakspot.report.dataset import SPLIT
from weakspot.report.words import escape
from weakspot.store import RunConfig
from weakspot.study.export import Export

#: Settings that say where the data come from.
_FROM: Final = ("corpus", "benchmark", "images")
_LOADING: Final = {
    "hf": f'datasets.load_dataset("FOLDER", split="{SPLIT}")',
    "parquet": f'datasets.load_dataset("parquet", data_files={{"{SPLIT}": "FOLDER/data/*.parquet"}})',
    "csv": 'list(csv.reader(open("FOLDER/{csv}", encoding="utf-8", newline="")))[1:]',
    "jsonl": f'[json.loads(line) for line in open("FOLDER/{SPLIT}.jsonl", encoding="utf-8")]',
}


def card(
    config: RunConfig,
    export: Export,
    columns: Sequence[str],
    n: int,
    *,
    about: str,
    form: str,
    licence: str,
    front: Mapping[str, Any],
) -> str:
    """README.md of a data set of `n` rows; `front` is what a hub is to know of the files."""
    model = str(config.settings.get("target") or config.settings.get("encoder") or "")
    sizes = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
    head = {
        "pretty_name": f"weakspot {config.study}: {show.clean(model)[:80]}",
        "license": "other",
        "license_name": show.clean(licence)[:80],
        "size_categories": [next((name for most, name in sizes if n < most), "n>100K")],
        "tags": ["weakspot"],
        **front,
    }
    named = (
        ("model under test", model),
        ("data from", str(next((v for k in _FROM if (v := config.settings.get(k))), ""))),
        ("judge", str(config.settings.get("judge") or config.settings.get("validity") or "")),
        ("begun", show.date(config.created)),
        ("seed", str(config.settings.get("seed", 0))),
        ("licence", licence),
    )
    loading = _LOADING[form].replace("{csv}", export.csv.name if export.csv is not None else "")
    blocks = [
        f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---",
        f"# {export.title.format(model=escape(model, 120))}",
        f"{show.plural(n, 'row')}. {about}",
        "Columns: " + ", ".join(f"`{name}`" for name in columns) + ".",
        f"```python\n{loading}\n```",
        "## Where it comes from",
        "\n".join(f"- {name}: {escape(value, 200)}" for name, value in named if value),
        "`provenance.json` has the settings, digests and versions of the run.",
        "## Limits",
        f"- {export.limits}\n- The texts are other people's; each keeps its own licence.",
    ]
    return "\n\n".join(blocks) + "\n"
