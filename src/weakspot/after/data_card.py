"""The card of a data set: what is in it, where it comes from, and what it does not say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from weakspot.after.dataset import Record
from weakspot.core import Finding
from weakspot.report import format as show
from weakspot.report.document import plain
from weakspot.report.markdown import escape
from weakspot.store import RunConfig
from weakspot.study.rows import Rows

#: Findings listed; further ones are in provenance.json.
ROWS: Final = 200
#: Settings that say where texts come from.
_FROM: Final = ("corpus", "benchmark", "images")
_SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
_TEXTS: Final[Mapping[str, Any]] = yaml.safe_load(Path(__file__).with_name("data_card.yaml").read_bytes())


class Counts(NamedTuple):
    """How the pictures came together."""

    kept: int = 0  # taken from the run's evidence
    drawn: int = 0  # drawn and misread for this data set
    tried: int = 0  # pictures drawn in all
    twice: int = 0  # left out, because the same picture is there already
    recovered: int = 0  # failed in the run but did not when drawn again, and were left out
    errors: int = 0  # draws or answers that ended in an error
    invalid: int = 0  # drawn pictures that the judge found not to show what they should
    limit: str = ""  # the budget that ended the drawing; "" if none did


def picture_card(
    config: RunConfig,
    records: Sequence[Record],
    findings: Sequence[Finding],
    counts: Counts,
    *,
    settings: Mapping[str, Any],
    files: Mapping[str, Any],
) -> str:
    """README.md of a data set of pictures; `files` is what a hub is to know of the files, besides."""
    target, source = (str(config.settings.get(name, "")) for name in ("target", "source"))
    labels = Counter(record.label for record in records)
    judge, run = (records[0].judge, records[0].run) if records else ("", "")
    origin = {
        "model under test": escape(target, 200),
        "pictures from": escape(source, 200),
        "a failure is": escape(judge, 200),
        "run": f"{escape(run, 120)}, begun {show.date(config.created)}",
        "seed": escape(str(config.settings.get("seed", 0))),
        "licence": escape(str(settings["licence"]), 200),
    }
    blocks = [
        _front(
            f"weak spots of {show.clean(target)[:80]}",
            len(records),
            str(settings["licence"]),
            {"task_categories": ["image-classification"]},
            {"tags": ["adversarial", "weakspot"], **files},
        ),
        f"# Pictures that {escape(target, 120)} misreads",
        f"{show.plural(len(records), 'picture')} of {show.plural(len(labels), 'label')} "
        f"({_listed(labels)}), drawn from captions under which a hunt found this model to fail more often "
        "than usual. Each of them was misread.",
        "## Contents",
        _findings(records, findings),
        _pictures(counts, settings),
        "Each picture comes with: " + ", ".join(f"`{name}`" for name in Record.__dataclass_fields__) + ".",
        f"```python\n{_TEXTS['loading'][settings['format']]}\n```",
        "## Where it comes from",
        "\n".join(f"- {name}: {value}" for name, value in origin.items()),
        "`provenance.json` has the settings, digests and versions of the run, the findings with their "
        "intervals, and the settings of this export. A picture can be drawn again from `source`, "
        "`run_seed`, `prompt` and `index`.",
        "## Limits",
        "\n".join(f"- {line}" for line in _limits(source, findings)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def table_card(
    rows: Rows, columns: Mapping[str, str], n: int, *, form: str, licence: str, files: Mapping[str, Any]
) -> str:
    """README.md of a data set that is a table of `n` rows; see `picture_card`."""
    config = rows.run.config
    model = str(config.settings.get("target") or config.settings.get("encoder") or "")
    origin = {
        "model under test": model,
        "data from": str(next((v for k in _FROM if (v := config.settings.get(k))), "")),
        "judge": str(config.settings.get("judge") or config.settings.get("validity") or ""),
        "begun": show.date(config.created),
        "seed": str(config.settings.get("seed", 0)),
        "licence": licence,
    }
    name = f"weakspot {config.study}: {show.clean(model)[:80]}"
    blocks = [
        _front(name, n, licence, {}, {"tags": ["weakspot"], **files}),
        f"# {rows.title.format(model=escape(model, 120))}",
        f"{show.plural(n, 'row')}. {rows.about}",
        "Columns: " + ", ".join(f"`{name}`" for name in columns) + ".",
        f"```python\n{_TEXTS['loading'][form]}\n```",
        "## Where it comes from",
        "\n".join(f"- {name}: {escape(value, 200)}" for name, value in origin.items() if value),
        "`provenance.json` has the settings, digests and versions of the run.",
        "## Limits",
        f"- {rows.limits}\n- The texts are other people's; each keeps its own licence.",
    ]
    return "\n\n".join(blocks) + "\n"


def provenance(
    config: RunConfig, findings: Sequence[Finding], counts: Counts, *, settings: Mapping[str, Any]
) -> str:
    told = {
        "format": 1,
        "run": config.model_dump(),
        "findings": [finding.to_json() for finding in findings],
        "export": dict(settings),
        "counts": counts._asdict(),
    }
    return json.dumps(plain(told), indent=2, allow_nan=False) + "\n"


def _front(name: str, n: int, licence: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What a hub of data sets reads first; with what stands before the size and after it."""
    front = {
        "pretty_name": name,
        "license": "other",
        "license_name": show.clean(licence)[:80],
        **before,
        "size_categories": [next((size for most, size in _SIZES if n < most), "n>100K")],
        **after,
    }
    return f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---"


def _findings(records: Sequence[Record], findings: Sequence[Finding]) -> str:
    lines = [
        "| # | caption | pictures | failure rate in the hunt | baseline | confirmed | read as |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for rank, finding in enumerate(findings[:ROWS], start=1):
        own = [record for record in records if record.finding == rank]
        said = Counter(record.predicted or "(nothing)" for record in own)
        cells = (
            str(rank),
            escape(finding.phrase, 200),
            str(len(own)),
            escape(show.rate(finding.rate)),
            escape(show.rate(finding.baseline)),
            "yes" if finding.confirmed else "no",
            _listed(said),
        )
        lines.append(f"| {' | '.join(cells)} |")
    if len(findings) > ROWS:
        lines += ["", f"{show.count(len(findings) - ROWS)} more are in `provenance.json`."]
    return "\n".join(lines)


def _pictures(counts: Counts, settings: Mapping[str, Any]) -> str:
    told = [
        f"At most {show.count(settings['per_caption'])} pictures per caption.",
        f"{show.count(counts.kept)} were kept by the run as evidence.",
    ]
    if counts.tried:
        told.append(
            f"{show.count(counts.drawn)} were found among {show.plural(counts.tried, 'picture')} drawn for "
            "this data set."
        )
    for number, what in (
        (counts.twice, "left out as copies of others"),
        (counts.recovered, "failed in the run but not when drawn again, and were left out"),
        (counts.errors, "ended in an error, which does not count as a failure"),
        (counts.invalid, "did not show what they should, and were left out"),
    ):
        if number:
            told.append(f"{show.count(number)} {what}.")
    if counts.limit:
        told.append(f"Drawing ended because the {escape(counts.limit)}.")
    return " ".join(told)


def _limits(source: str, findings: Sequence[Finding]) -> Iterator[str]:
    unsaid = {
        "unconfirmed": all(finding.confirmed for finding in findings),
        "retrieved": not source.startswith("retrieve"),
    }
    return (text for name, text in _TEXTS["limits"].items() if not unsaid.get(name))


def _listed(counts: Counter[str]) -> str:
    shown = ", ".join(f"{escape(name, 60)} {show.count(n)}" for name, n in counts.most_common(5))
    return shown + (f" and {len(counts) - 5} more" if len(counts) > 5 else "")
