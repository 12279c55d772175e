"""Words that a person tries, measured beside the pages: one try at a time, and what became of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weakspot.core import WeakspotError

#: Characters of a person's words, and images drawn for them.
LONGEST, MOST = 2_000, 4_096

#: Told failures, trials with a verdict, images drawn just now.
Update = Callable[[int, int, int], None]
#: (run folder, words, label or None, images at most, update) → what was measured, as plain values.
Measure = Callable[[Path, str, str | None, int, Update], Mapping[str, Any]]


@dataclass(slots=True)
class Job:
    """A try, under way or done."""

    run: str
    words: str
    most: int
    failures: int = 0
    n: int = 0
    drawn: int = 0
    result: Mapping[str, Any] | None = None
    error: str = ""
    fix: str = ""
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    @property
    def done(self) -> bool:
        return self.result is not None or bool(self.error)


class Trying:
    """The last try of each run; no more than one is under way."""

    def __init__(self, measure: Measure | None) -> None:
        self.measure, self._lock = measure, threading.Lock()
        self._jobs: dict[str, Job] = {}

    def job(self, run: str) -> Job | None:
        return self._jobs.get(run)

    def start(self, run: str, folder: Path, words: str, *, label: str | None, most: int) -> Job:
        words = words.strip()
        if self.measure is None:
            raise WeakspotError("nothing can be tried here", fix="start the page with: weakspot view")
        if not words or len(words) > LONGEST:
            raise WeakspotError(
                "there are no words to try" if not words else f"{len(words):,} characters are too many",
                fix="write a sentence, e.g. it is on a red flower.",
            )
        if not 1 <= most <= MOST:
            raise WeakspotError(f"{most} images cannot be drawn", fix=f"choose between 1 and {MOST:,}")
        with self._lock:
            busy = next((job for job in self._jobs.values() if not job.done), None)
            if busy is not None:
                raise WeakspotError("another try is under way", fix="wait until it is done")
            job = self._jobs[run] = Job(run, words, most)
        threading.Thread(target=self._work, args=(job, folder, label), daemon=True).start()
        return job

    def _work(self, job: Job, folder: Path, label: str | None) -> None:
        def update(failures: int, n: int, drawn: int) -> None:
            job.failures, job.n, job.drawn = failures, n, drawn
            job.seconds = time.monotonic() - job.began

        assert self.measure is not None  # noqa: S101 - `start` has looked
        try:
            result = self.measure(folder, job.words, label, job.most, update)
            job.seconds = time.monotonic() - job.began
            job.result = result
        except WeakspotError as error:
            job.fix, job.error = error.fix, error.what
        except Exception as error:  # whatever a model raises is told on the page, and ends only this try
            job.error = f"{type(error).__name__}: {error}"[:1000]
