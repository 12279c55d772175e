"""Flags that several commands share.

Here and in the commands, a flag that is called like its metavar is spelt out (`"--label"`): typer 0.27 takes
the metavar's capitals for the flag's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Out = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="The run's folder, new or empty; by default one below runs/."),
]
BlobsAt = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Keep inputs elsewhere, e.g. s3://bucket/folder; by default in the run's folder."
    ),
]
Executor = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="EXECUTOR",
        help="Where it is done: local, or on Ray, e.g. 'ray?source=4' or 'ray:auto?source_gpus=1'.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be sent where and what it may cost; send nothing.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON; progress goes to stderr.")]
