"""The card of a data set that is a table: what is in it, where it comes from, and what it does not say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

from weakspot.after.dataset import SPLIT
from weakspot.report import format as show
from weakspot.report.markdown import escape
from weakspot.study.rows import Rows

#: Settings that say where the data come from.
_FROM: Final = ("corpus", "benchmark", "images")
_LOADING: Final = {
    "hf": f'datasets.load_dataset("FOLDER", split="{SPLIT}")',
    "parquet": f'datasets.load_dataset("parquet", data_files={{"{SPLIT}": "FOLDER/data/*.parquet"}})',
    "csv": 'list(csv.reader(open("FOLDER/pairs.csv", encoding="utf-8", newline="")))[1:]',
    "jsonl": f'[json.loads(line) for line in open("FOLDER/{SPLIT}.jsonl", encoding="utf-8")]',
}


def card(
    rows: Rows,
    columns: Mapping[str, str],
    n: int,
    *,
    form: str,
    licence: str,
    front: Mapping[str, Any],
) -> str:
    """README.md of a data set of texts.

    Args:
        n: How many rows.
        form: "jsonl", "parquet", "hf" or "csv".
        licence: As far as the user said.
        front: What a hub is to know of the files.
    """
    config = rows.run.config
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
    blocks = [
        f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---",
        f"# {rows.title.format(model=escape(model, 120))}",
        f"{show.plural(n, 'row')}. {rows.about}",
        "Columns: " + ", ".join(f"`{name}`" for name in columns) + ".",
        f"```python\n{_LOADING[form]}\n```",
        "## Where it comes from",
        "\n".join(f"- {name}: {escape(value, 200)}" for name, value in named if value),
        "`provenance.json` has the settings, digests and versions of the run.",
        "## Limits",
        f"- {rows.limits}\n- The texts are other people's; each keeps its own licence.",
    ]
    return "\n\n".join(blocks) + "\n"
