"""The command line. One thin file per topic; this one runs the commands and explains what went wrong."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

__all__ = ["main", "program", "run"]
#: Whether the command was given --debug: where errors were raised is shown.
debugging = False


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `weakspot` with these arguments (those of the process by default) and exit."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    # `python:module:attr` may name a module of the current folder; an installed command does not look there.
    if "" not in sys.path:
        sys.path.append("")
    try:
        code = run(args)
    except KeyboardInterrupt:  # while the command itself was still being imported
        code = 130
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`weakspot … | head`); let the interpreter's own flush at exit find nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(args: list[str]) -> int:
    """Run the command line; its exit code.

    0 done, 1 cannot, 2 misused, 3 budget spent, 70 a defect of weakspot, 130 interrupted.
    """
    import typer

    from weakspot.cli.app import command_tree, tell_typos

    # The base of all misuse, whether this version of typer brings its own click or uses click's.
    usage_error = typer.BadParameter.__mro__[1]
    global debugging
    debugging = "--debug" in args
    args = [a for a in args if a != "--debug"]
    try:
        tell_typos(os.environ)
        only = next((arg for arg in args if not arg.startswith("-")), "")
        return int(command_tree(only).main(args, prog_name="weakspot", standalone_mode=False) or 0)
    except typer.Exit as leave:
        return leave.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:
        return 0
    except Exception as error:
        if isinstance(error, usage_error):
            return _misused(args, error)
        if debugging:
            raise
        return _failed(args, error)


def _failed(args: list[str], error: Exception) -> int:
    """Explain an error in the words of whoever raised it."""
    from weakspot.core.errors import WeakspotError

    if isinstance(error, WeakspotError):
        return _explain(args, error.what, error.fix, code=getattr(error, "exit_code", 1))
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        fix = "free some space or check the permissions; what was recorded is kept"
        return _explain(args, f"{error.strerror or error}{where}", fix, code=1)
    what = f"weakspot itself failed: {type(error).__name__}: {error}"
    return _explain(args, what, "please report it with the output of the same command and --debug", code=70)


def _misused(args: list[str], misuse: Exception) -> int:
    """Explain an unknown command or flag, or a value that cannot be read."""
    from weakspot.core.errors import nearest

    message = getattr(misuse, "message", str(misuse))
    if type(misuse).__name__ == "NoArgsIsHelpError":
        print(message, file=sys.stderr)
        return 2
    option, context = getattr(misuse, "option_name", None), getattr(misuse, "ctx", None)
    known = [flag for p in context.command.params for flag in p.opts] if context else []
    if option == "--executor" and context and (why := _stays_here(context.command_path)):
        return _explain(args, *why, code=2)
    hint = nearest(option, known) if option and type(misuse).__name__ == "NoSuchOption" else ""
    said: str = misuse.format_message()  # type: ignore[attr-defined]
    what = f"there is no option {option}" if hint else said[:1].lower() + said[1:]
    command = context.command_path if context else "weakspot"
    return _explain(args, what.rstrip("."), f"{hint} see: {command} --help".strip(), code=2)


def _stays_here(command: str) -> tuple[str, str] | None:
    """Why a study is not spread over machines, if it is one that is not."""
    from weakspot.core.errors import WeakspotError
    from weakspot.core.registry import study_names
    from weakspot.study.study import find_study

    try:
        for word in command.split():
            if word in study_names():
                find_study(word).check_executor("ray")
    except WeakspotError as error:
        return error.what, error.fix
    return None


def _explain(args: list[str], what: str, fix: str, *, code: int) -> int:
    from weakspot.report.format import shorten

    print(f"error: {shorten(what, 1000)}", file=sys.stderr)
    if fix:
        print(f"  fix: {shorten(fix, 1000)}", file=sys.stderr)
    if "--json" in args:
        print(json.dumps({"error": what, "fix": fix, "exit_code": code}))
    return code


def program() -> str:
    """How this program is called from here: "weakspot", or its path where the shell would not find it."""
    import shutil
    from pathlib import Path

    own = Path(sys.argv[0])
    if own.name != "weakspot" or shutil.which("weakspot"):
        return "weakspot"
    try:
        return str(own.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(own)
