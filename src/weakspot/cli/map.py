"""The result of `weakspot map` on a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weakspot.store import Run


def conclude(run: Run, *, as_json: bool = False) -> int:
    """Write the report and print the result; the exit code (3 when a limit ended the run)."""
    from weakspot.cli.screen import columns, cut, program
    from weakspot.core import Rate
    from weakspot.report.format import interval, percent, plural, rate, seconds, shell
    from weakspot.report.map_tables import believed, missed
    from weakspot.store import unjudged
    from weakspot.study.reports import summary, write

    with run:
        path = write(run)
        code = 3 if run.state.startswith("stopped") else 0
        told = summary(run)
        if as_json:
            print(json.dumps(told | {"report": str(path), "exit_code": code}, indent=2))
            return code
        wide, result = columns(), told["result"]
        print(cut(told["conclusion"], 3 * wide))
        if result is not None:
            for number, mode in enumerate(result["modes"], start=1):
                ends = f"{believed(mode)} in the worst cell"
                print(f"mode {number:<2}  {cut(mode['words'], max(wide - len(ends) - 12, 20))}  {ends}")
            for finding in run.findings:
                mark = "●" if finding.confirmed else "·"
                print(f"{mark} {cut(finding.phrase, max(wide - 40, 20))}  {rate(finding.rate)}")
            print(f"known    {percent(result['coverage']['known'])} of the cells to ± 5 points; "
                  f"chance of something clearly worse: {missed(result)}")  # fmt: skip
            if compared := result["compared"]:
                arms = {who: rate(Rate(**one)) for who, one in compared["rates"].items()}
                print(
                    f"agent    {compared['agent']} failures per query {arms['trained']}, "
                    f"untrained {arms['untrained']}, random {arms['random']}"
                    + ("" if compared["won"] else " (no win beyond chance)")
                )
            for row in (told.get("bias") or {"rows": []})["rows"][:1]:
                print(
                    f"bias     {percent(row['apart'])} {interval(row['low'], row['high'])} from the wanted "
                    f"shares, over {plural(row['n'], 'picture')}"
                )
            if result["note"]:
                print(f"note     {cut(result['note'], 3 * wide)}")
        else:
            print(cut(told["state"], wide))
        if causes := unjudged(run):
            none = plural(sum(c.times for c in causes), "query").replace("querys", "queries")
            print(f"verdict  {cut(f'none for {none}, most often: {causes[0]}', 2 * wide)}")
        errors, spent = told["trials"]["errors"], told["spend"]
        print(
            f"trials   {plural(told['trials']['drawn'], 'query').replace('querys', 'queries')} · "
            f"{plural(errors, 'error')} · {seconds(float(spent.get('seconds', 0.0)))}"
        )
        print(f"report   {shell([str(path)])}")
        print(f"next     {shell([program(), *_next(run, finished=code == 0)])}")
    return code


def _next(run: Run, *, finished: bool) -> list[str]:
    """The command that takes the reader further; the number of images cannot be raised, other limits can."""
    from weakspot.engine.budget import Budget
    from weakspot.study.preferences import listed_modes

    if finished and listed_modes(run):
        return ["prefer", str(run.folder), "--modes", "1"]
    if finished:
        return ["report", str(run.folder), "--open"]
    limits = Budget.parse(run.ledger.fact("budget", run.config.settings["budget"])).limits
    larger = Budget(tuple((kind, limit * (1 if kind == "images" else 2)) for kind, limit in limits))
    return ["resume", str(run.folder), "--budget", str(larger)]
