"""The result of `weakspot rare` on a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weakspot.store import Run


def conclude(run: Run, *, as_json: bool = False) -> int:
    """Write the report and print the result; the exit code (3 when a limit ended the run)."""
    from weakspot.cli.screen import columns, cut, program
    from weakspot.report import summary, write
    from weakspot.report.format import percent, plural, seconds, shell
    from weakspot.report.rare_figures import size
    from weakspot.report.rare_page import interval

    with run:
        path = write(run)
        code = 3 if run.state.startswith("stopped") else 0
        told = summary(run)
        if as_json:
            print(json.dumps(told | {"report": str(path), "exit_code": code}, indent=2))
            return code
        wide, result = columns(), told["result"]
        print(cut(f"drawn from: {told['text']}", wide))
        if result is not None:
            print(f"rate     {size(result['rate'])} {interval(result['low'], result['high'])}")
            bare = result["independent"]
            print(
                f"bound    at most {size(result['ceiling'])} by independent draws alone "
                f"({bare['failures']:,} of {bare['n']:,} failed)"
            )
            print(f"method   {result['method']}, {plural(result['images'], 'image')}")
            if result["note"]:
                print(cut(f"note     {result['note']}", 2 * wide))
            for answer, share in result["answers"][:3]:
                print(f"said     {cut(answer, 40) or '(nothing)'} {percent(share)}")
            for common in result["common"]:
                numbers = f"{percent(common['failing'])} of failures, {percent(common['usual'])} of all"
                print(f"common   {cut(common['words'], max(wide - len(numbers) - 12, 20))}  {numbers}")
        else:
            print(cut(told["state"], wide))
        errors, spent = told["trials"]["errors"], told["spend"]
        print(
            f"trials   {plural(told['trials']['drawn'], 'image')} · {plural(errors, 'error')} · "
            f"{seconds(float(spent.get('seconds', 0.0)))}"
        )
        print(f"report   {shell([str(path)])}")
        print(f"next     {shell([program(), *_next(run, finished=code == 0)])}")
    return code


def _next(run: Run, *, finished: bool) -> list[str]:
    """The command that takes the reader further; the number of images cannot be raised, other limits can."""
    from weakspot.engine.budget import Budget

    if finished:
        return ["report", str(run.folder), "--open"]
    limits = Budget.parse(run.ledger.fact("budget", run.config.settings["budget"])).limits
    larger = Budget(tuple((kind, limit * (1 if kind == "images" else 2)) for kind, limit in limits))
    return ["resume", str(run.folder), "--budget", str(larger)]
