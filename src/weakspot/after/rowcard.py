"""The card of a data set that is a table: what is in it, where it comes from, and what it does not say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

from weakspot.report import format as show
from weakspot.report.dataset import SPLIT
from weakspot.report.markdown import escape
from weakspot.store import RunConfig

_ABOUT: Final = {
    "mine": (
        "Pairs that {model} was asked about",
        "Pairs of texts that differ in one thing. `failed` says that the encoder takes the two for alike "
        "although they differ; `origin` is `mined` for pairs of the corpus, and how they were made for the "
        "others.",
        "Mined pairs were selected because the encoder takes them for alike: count rates over the new pairs "
        "only, and over those with `fresh` for categories that a search picked.",
    ),
    "ask": (
        "Questions to {model}, and its answers",
        "Questions of a benchmark with the model's answers and the judge's verdicts. `failed` says that a "
        "harmless question was refused, or a harmful one answered; it is empty where `status` is an error, a "
        "block or an empty answer.",
        "A judge errs: its measured error is in the report of the run. Repeats of an item are no independent "
        "evidence.",
    ),
    "map": (
        "Queries of {model}, by concepts",
        "One row per query: the cell of the concept space in words and as values, which input was changed, "
        "what was expected, what the model answered, and how far that was off (`discrepancy`). `failed` says "
        "that it was too far; it is empty where `status` is an error. `picture` is the SHA-256 of a picture "
        "that the run kept in its folder `blobs`.",
        "A search asked where it expected failures: count rates over rows with `fresh`, which it never saw, "
        "or cell by cell; rows with `baseline` are the inputs as they are.",
    ),
}
_CSV: Final = (
    "Pairs of texts of the corpus that the encoder takes for alike and the reference tells apart, the most "
    "alike first, as the published script writes them."
)
#: Settings that say where the data come from.
_FROM: Final = ("corpus", "benchmark", "images")
_LOADING: Final = {
    "hf": f'datasets.load_dataset("FOLDER", split="{SPLIT}")',
    "parquet": f'datasets.load_dataset("parquet", data_files={{"{SPLIT}": "FOLDER/data/*.parquet"}})',
    "csv": 'list(csv.reader(open("FOLDER/pairs.csv", encoding="utf-8", newline="")))[1:]',
    "jsonl": f'[json.loads(line) for line in open("FOLDER/{SPLIT}.jsonl", encoding="utf-8")]',
}


def card(
    config: RunConfig,
    columns: Mapping[str, str],
    n: int,
    *,
    form: str,
    licence: str,
    front: Mapping[str, Any],
) -> str:
    """README.md of a data set of texts.

    Args:
        config: Of the run, of mine, ask or map.
        columns: What each holds.
        n: Rows.
        form: "jsonl", "parquet", "hf" or "csv".
        licence: As far as the user said.
        front: What a hub is to know of the files.
    """
    title, about, limits = _ABOUT[config.study]
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
        f"# {title.format(model=escape(model, 120))}",
        f"{show.plural(n, 'row')}. {_CSV if form == 'csv' else about}",
        "Columns: " + ", ".join(f"`{name}`" for name in columns) + ".",
        f"```python\n{_LOADING[form]}\n```",
        "## Where it comes from",
        "\n".join(f"- {name}: {escape(value, 200)}" for name, value in named if value),
        "`provenance.json` has the settings, digests and versions of the run.",
        "## Limits",
        f"- {limits}\n- The texts are other people's; each keeps its own licence.",
    ]
    return "\n\n".join(blocks) + "\n"
