"""weakspot finds where a vision or multimodal model fails, says it in words, proves it, helps to fix it.

    import weakspot as ws

    run = ws.hunt("world:classifier", label="fly", seed=7)
    for finding in run.findings:
        print(finding.phrase, finding.rate)

Names are resolved on first use, so that importing the package stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from weakspot._version import __version__ as __version__

if TYPE_CHECKING:
    from weakspot.store import Run

#: Where the public names are, but for those of studies.
HOMES = {
    **dict.fromkeys(
        ("Case", "Finding", "Hypothesis", "Output", "Rate", "Status", "Tally", "Verdict", "WeakspotError"),
        "weakspot.core",
    ),
    **dict.fromkeys(("Axis", "ConceptSpace"), "weakspot.concepts.space"),
    "Run": "weakspot.store",
    "export": "weakspot.after.export",
    "realism": "weakspot.after.realism",
    "transfer": "weakspot.after.transfer",
    "try_words": "weakspot.after.tries",
    "write_report": "weakspot.study.reports",
    "resume": "weakspot.study.lifecycle",
}
#: What is called otherwise where it is.
CALLED = {"write_report": "write"}
#: Functions that follow from the options of the studies of the same names.
_STUDIES = ("ask", "hunt", "map", "mine", "rare", "repair", "table")

__all__ = sorted([*HOMES, *_STUDIES, "__version__", "open_run"])


def open_run(folder: str) -> Run:
    """Open a run folder for reading."""
    from pathlib import Path

    from weakspot.store import Run

    return Run.read(Path(folder))


def __getattr__(name: str) -> Any:
    if name in _STUDIES:
        from weakspot.study.calls import function_of

        globals()[name] = function_of(name)
        return globals()[name]
    if name not in HOMES:
        raise AttributeError(f"module 'weakspot' has no attribute {name!r}")
    module = import_module(HOMES[name])
    value = getattr(module, CALLED.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
