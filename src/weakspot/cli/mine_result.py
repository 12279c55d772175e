"""The last lines of `weakspot mine`: the systematic failures, what was mined, what could not be had."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from weakspot.cli.screen import columns, cut, program
from weakspot.engine.budget import Budget
from weakspot.report.format import count, interval, level, percent, plural, seconds, shell, times

if TYPE_CHECKING:
    from weakspot.store import Run


def conclude(run: Run, *, as_json: bool = False) -> int:
    """Write the report and print the result; the exit code (3 when a limit ended the run)."""
    from weakspot.study.reports import summary, write

    with run:
        path = write(run)
        code = 3 if run.state.startswith("stopped") else 0
        told = summary(run)
        if as_json:
            print(json.dumps(told | {"report": str(path), "exit_code": code}, indent=2))
            return code
        for line in lines(told, columns()):
            print(line)
        print(f"report   {shell([str(path)])}")
        print(f"next     {shell([program(), *_next(run, told, finished=code == 0)])}")
    return code


def lines(told: dict[str, Any], wide: int) -> Iterator[str]:
    """The result in lines of at most `wide` columns."""
    mined, how = told["mined"], told["threshold"]
    if mined is None:
        yield cut(told["state"], wide)
        return
    alike = f"alike is above {how['value']:.3f} ({how['how']})"
    yield "mined    " + cut(
        f"{plural(len(mined['pairs']), 'pair')} of {count(mined['candidates'])} candidates among "
        f"{count(mined['texts'])} texts · {alike}",
        wide - 9,
    )
    for row in told["baselines"]:
        yield cut(f"baseline {_rate(row['rate'])}: {row['text']}", wide)
    confirmed = [row for row in told["categories"] if row["state"] == "confirmed"]
    base = told["baselines"][0]["rate"]["value"] if told["baselines"] else 0.0
    rows = [
        (
            row["name"],
            percent(row["rate"]["value"]),
            interval(row["rate"]["low"], row["rate"]["high"]),
            f"of {count(row['rate']['n'])}",
            f"{times(row['rate']['value'] / base if base else float('inf'))} baseline",
            f"{row['mined']} mined",
        )
        for row in confirmed
    ]
    yield "─" * min(wide, 80)
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(1, 6)]
    room = max(20, wide - 4 - sum(widths) - 2 * len(widths))
    names = [cut(row[0], min(room, 60)) for row in rows]
    longest = max(map(len, names), default=0)
    for rank, (name, row) in enumerate(zip(names, rows, strict=True), start=1):
        cells = "  ".join(cell.rjust(width) for cell, width in zip(row[1:], widths, strict=True))
        yield f"{rank:>2}  {name:<{longest}}  {cells}".rstrip()
    if told["note"]:
        yield cut(f"not measured on new pairs: {told['note']}", 2 * wide)
    else:
        fdr = level(float(told["settings"]["fdr"]))
        failures = plural(len(confirmed), "systematic failure")
        yield f"{failures} confirmed on fresh pairs (false-discovery rate ≤ {fdr})"
    yield from _beside(told, wide)
    if told["state"].startswith("stopped"):
        yield cut(f"{told['state']}; a larger budget may find more", wide)
    spent, errors = told["spend"], told["trials"]["errors"]
    yield f"pairs    {count(told['trials']['drawn'])} measured · {plural(errors, 'error')} · " + seconds(
        float(spent.get("seconds", 0.0)) + sum(mined["seconds"].values())
    )
    for error in told["errors"][:3]:
        yield f"error    {cut(str(error['times']) + '× ' + error['what'], wide - 9)}"


def _beside(told: dict[str, Any], wide: int) -> Iterator[str]:
    """Relevance, the language model, pictures, downstream."""
    measures, model = told["measures"] or {}, told["language_model"]
    if share := measures.get("relevance"):
        yield "topic    " + cut(
            f"{_rate(share)} of the new pairs matter for it, by {measures['by']}", wide - 9
        )
    if model is not None:
        pairs = sum(row["pairs"] for row in model["written"])
        yield f"model    named {plural(model['named'], 'failure')}, wrote {plural(pairs, 'pair')}"
        lost = ", ".join(f"{n} {k}" for k, n in model["writing"].items() if n and k not in ("calls", "read"))
        for why in (model["note"], lost and f"of {model['writing']['calls']} calls for pairs: {lost}"):
            if why:
                yield "         " + cut(why, 2 * wide)
        for error in model["errors"][:2]:
            yield "         " + cut(error, wide - 9)
    if found := told["grounded"]:
        blind = [row for row in found["rows"] if row["sight"] == "blind"]
        worst = ", ".join(f"{row['name']} {percent(row['rate'])}" for row in (blind or found["rows"])[:5])
        yield cut(f"pictures {'blind to' if blind else 'worst at'} {worst} (50 % is chance)", wide)
    if (drawn := told["downstream"]) and drawn["n"]:
        ends = interval(drawn["low"], drawn["high"])
        yield f"drawn    {percent(drawn['rate'])} {ends} of {drawn['n']} pairs fail"


def _rate(row: dict[str, Any]) -> str:
    return f"{percent(row['value'])} {interval(row['low'], row['high'])} of {count(row['n'])}"


def _next(run: Run, told: dict[str, Any], *, finished: bool) -> list[str]:
    """The command that takes the reader further."""
    if finished:
        return ["export", str(run.folder), "--format", "csv"]
    budget = Budget.parse(str(run.ledger.fact("budget", told["settings"]["budget"])))
    larger = Budget(tuple((kind, 2 * limit) for kind, limit in budget.limits))
    return ["resume", str(run.folder), "--budget", str(larger)]
