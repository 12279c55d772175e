"""The command line. One file per command, thin; this one runs them and explains what went wrong."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `weakspot` with these arguments (those of the process by default) and exit."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    code = run(args)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`weakspot … | head`); let the interpreter's own flush at exit find nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(args: list[str]) -> int:
    """Run the command line; its exit code. 0 done, 1 cannot, 2 misused, 3 budget spent, 130 interrupted."""
    import click

    from weakspot.cli.app import app
    from weakspot.core.errors import WeakspotError

    debug = "--debug" in args
    args = [a for a in args if a != "--debug"]
    try:
        return int(app(args, prog_name="weakspot", standalone_mode=False) or 0)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as misuse:
        return _explain(args, misuse.format_message(), "see: weakspot --help", code=2)
    except (KeyboardInterrupt, click.Abort):
        print("\ninterrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0
    except WeakspotError as error:
        if debug:
            raise
        return _explain(args, error.what, error.fix, code=1)
    except OSError as error:
        if debug:
            raise
        where = f" ({error.filename})" if error.filename else ""
        fix = "free some space or check the permissions; what was recorded is kept"
        return _explain(args, f"{error.strerror or error}{where}", fix, code=1)
    except Exception as error:
        if debug:
            raise
        what = f"weakspot itself failed: {type(error).__name__}: {error}"
        return _explain(
            args, what, "please report it with the output of the same command and --debug", code=70
        )


def _explain(args: list[str], what: str, fix: str, *, code: int) -> int:
    from weakspot.cli.screen import plain

    print(f"error: {plain(what, 1000)}", file=sys.stderr)
    if fix:
        print(f"  fix: {plain(fix, 1000)}", file=sys.stderr)
    if "--json" in args:
        print(json.dumps({"error": what, "fix": fix, "exit_code": code}))
    return code
