"""The result of `weakspot repair` on a terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weakspot.store import Run


def conclude(run: Run, *, as_json: bool = False) -> int:
    """Write the report and print the result; the exit code (3 when failures were not reduced, or traded)."""
    from weakspot.cli.screen import columns, cut, program
    from weakspot.report import summary, write
    from weakspot.report.format import shell
    from weakspot.report.repair_page import told_change

    with run:
        path, told = write(run), summary(run)
        result = told["result"]
        code = 3 if result is None or result["verdict"] in ("traded", "not reduced", "worse") else 0
        if as_json:
            print(json.dumps(told | {"report": str(path), "exit_code": code}, indent=2))
            return code
        wide = columns()
        print(cut(told["conclusion"], 3 * wide))
        if result is not None and result["method"] == "data":
            print(f"data     {shell([result['data']['folder']])}")
            print(f"report   {shell([str(path)])}")
            return code
        if result is not None:
            rows = [(f"mode {row['number']}", row) for row in result["chosen"]]
            rows += [(f"other {row['number'] or ''}".strip(), row) for row in result["others"]]
            rows += [("clean", result["clean"])]
            rows += [("rest", row) for row in [result.get("elsewhere")] if row is not None]
            rows += [("new", row) for row in result.get("new", [])]
            for name, row in rows:
                print(f"{name:<8} {told_change(row)}  {cut(row['words'], max(wide - 60, 20))}")
            if landscape := result["landscape"]:
                print(
                    f"landscape {landscape['removed']:,} failures removed, {landscape['made']:,} newly made "
                    f"in {landscape['n']:,} pairs · moved by W₁ = {landscape['distance']:.3f}"
                )
            if result["errors"]:
                print(f"left out {result['errors']:,} cases without a verdict")
            print(cut(f"model    {result['model'] or run.folder / 'model'}", 3 * wide))
        print(f"report   {shell([str(path)])}")
        print(f"next     {shell([program(), 'report', str(run.folder), '--open'])}")
    return code
