"""`weakspot repair`: train weak spots away, and prove what moved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weakspot.cli.flags import AsJson

if TYPE_CHECKING:
    from weakspot.store import Run


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a map, a hunt or a mine.")],
    modes: Annotated[
        str,
        typer.Option(metavar="NUMBERS", help="Its modes (of hunt, mine: findings), e.g. 1,3; or preferred."),
    ] = "preferred",
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="METHOD",
            help="full, last-layer, lora; data writes only the data set to train on.",
        ),
    ] = "full",
    target: Annotated[
        str, typer.Option(metavar="MODEL", help="The model, if it is not to be the one of the run.")
    ] = "",
    layer: Annotated[
        str, typer.Option(metavar="NAME", help="The last layer, where it cannot be found.")
    ] = "",
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Inputs that are as the weak spots say in training (0.5; last-layer 0.35); the others stay.",
        ),
    ] = None,
    epochs: Annotated[
        int, typer.Option(metavar="NUMBER", help="Rounds at most; 0 takes the method's own number.")
    ] = 0,
    learning_rate: Annotated[float, typer.Option(metavar="NUMBER", help="0 takes the method's own.")] = 0.0,
    distil: Annotated[
        float, typer.Option(metavar="SHARE", help="How much of the wanted answer is the model's former one.")
    ] = 1.0,
    mirror: Annotated[bool, typer.Option(help="Whether a mirrored picture means the same.")] = True,
    reset_head: Annotated[bool, typer.Option("--reset-head", help="The last layer begins anew.")] = False,
    draws: Annotated[
        int, typer.Option(metavar="NUMBER", help="Pairs over the whole landscape; 0 leaves it out.")
    ] = 10_000,
    most: Annotated[
        int,
        typer.Option(
            metavar="NUMBER", help="Cases of each mode in the proof at most (generators: 200, slow on a CPU)."
        ),
    ] = 2_000,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="auto, cpu, cuda.")] = "auto",
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="The same seed gives the same repair.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="The new run's folder, new or empty; by default one below runs/."
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Train a model where it fails, and prove on untouched inputs what moved.

    Learns from the repair part of the inputs, and shows the same cases of the verification part to the
    model before and after: failures removed, failures newly made, the inputs as they are, the whole
    landscape. A repair that trades one failure for another is called so. Classifiers, summarisers
    (hf:FOLDER), generators (diffusers:FOLDER, --method lora) and the text tower of world:encoder can be
    trained. The model is kept as ONNX or safetensors, with a card. Ctrl-C loses no round: go on with
    weakspot resume. Exit codes: 0 reduced, 1 cannot, 2 misused, 3 not reduced or traded, 130 interrupted.
    """
    import sys

    from weakspot.cli.progress import Progress
    from weakspot.cli.screen import program
    from weakspot.report.format import shell
    from weakspot.studies.repair.method import repair

    folder: list[Path] = []
    with Progress(f"repairing modes {modes} of {run} · {method} · seed {seed}") as progress:
        try:
            done = repair(
                run,
                modes=modes,
                method=method,
                target=target or None,
                layer=layer,
                rate=rate,
                epochs=epochs,
                learning_rate=learning_rate,
                distil=distil,
                mirror=mirror,
                reset_head=reset_head,
                draws=draws,
                most=most,
                device=device,
                seed=seed,
                out=out,
                progress=progress,
                began=folder.append,
            )
        except KeyboardInterrupt:
            if folder:
                again = shell([program(), "resume", str(folder[0])])
                print(f"\nstopped; all rounds so far are kept. go on with:\n  {again}", file=sys.stderr)
            raise
    return conclude(done, as_json=as_json)


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
