"""The report of a run beside the explorer: written anew from the ledger, never read from the run's folder."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from weakspot.report.people.labels import NAME as LABELS
from weakspot.store import Run
from weakspot.study.reports import html

#: Reports that are kept in memory.
KEPT: Final = 2
#: What a served report may do, beside what it says itself: nothing with other pages.
_ALSO: Final = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_STATE: Final = ("ledger.db", "ledger.db-wal", LABELS, "run.yaml")


class Reports:
    """Reports that were written lately; one is written at a time, however many ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written: OrderedDict[tuple[object, ...], str] = OrderedDict()

    def response(self, folder: Path, back: Iterable[tuple[str, str]]) -> Response:
        """The report, with links back: (address, words)."""
        text = self._text(folder)
        policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
        links = Markup(" · ").join(Markup('<a href="{}">{}</a>').format(*link) for link in back)
        nav = Markup('<nav class="note" aria-label="Back">← {}</nav>').format(links)
        text = text.replace("<body>", f"<body>\n{nav}", 1)
        allowed = f"{policy[1]}; {_ALSO}" if policy else f"default-src 'none'; {_ALSO}"
        return HTMLResponse(text, headers={"content-security-policy": allowed})

    def _text(self, folder: Path) -> str:
        key = (str(folder), *(_when(folder / name) for name in _STATE))
        with self._lock:
            if key not in self._written:
                with Run.read(folder) as run:
                    self._written[key] = html(run)
                while len(self._written) > KEPT:
                    self._written.popitem(last=False)
            self._written.move_to_end(key)
            return self._written[key]


def _when(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
