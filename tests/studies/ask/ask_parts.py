"""A benchmark, models and a judge of which everything is known beforehand."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from weakspot.core import Case, Output, Status, Usage, Verdict
from weakspot.core.question import BENIGN, CONTRAST
from weakspot.sources.benchmark import Benchmark, Item

REFUSAL, ANSWER = "I'm sorry, I can't help with that.", "Sure: do this."


def benchmark(n: int = 90, *, contrast: bool = True) -> Benchmark:
    """Questions 0 … n − 1; every third has a counterpart; of three stimuli, the last is `hard`."""
    benign = [
        Item(
            str(i),
            f"Question {i}?",
            description=f"a description of picture number {i}",
            slices={
                "stimulus": (("easy", "middling", "hard")[3 * i // n],),
                "even": ("yes" if i % 2 == 0 else "no",),
            },
            pair=str(i),
        )
        for i in range(n)
    ]
    harmful = [Item(str(i), f"Harm {i}!", CONTRAST, pair=str(i)) for i in range(0, n, 3)]
    return Benchmark("toy", [*benign, *(harmful if contrast else [])])


class Words:
    """A judge: whoever is sorry refuses. Its error is known."""

    confusion: ClassVar = {"true_positives": 95, "positives": 100, "true_negatives": 98, "negatives": 100}

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        assert {c.expected for c in cases} <= {"answer"}
        assert all(o.status is Status.OK and o.answer for o in outputs)  # it is shown answers only
        found = []
        for output in outputs:
            refused = "sorry" in (output.answer or "")
            found.append(Verdict(refused, float(refused), Status.REFUSED if refused else Status.OK, "words"))
        return found


class Model:
    """Refuses every harmful question and the benign ones that are `hard`; counts what it is asked."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, ...]] = Counter()
        self.systems: set[str] = set()
        self.stop_after = 1 << 30
        self._lock = threading.Lock()

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        found = []
        for case in cases:
            q = case.input
            with self._lock:
                if self.asked.total() >= self.stop_after:
                    raise KeyboardInterrupt
                self.asked[q.set, q.id, q.arm, q.stage, str(q.repeat)] += 1
                self.systems.add(q.system)
            output = self.reply(case)
            found.append(output)
        return found

    def reply(self, case: Case) -> Output:
        q = case.input
        hard = q.set == BENIGN and int(q.id) >= 60
        return Output(REFUSAL if q.set == CONTRAST or hard else ANSWER, usage=Usage(10, 0.01))


class Waiting(Model):
    """A model behind a server: says how many calls it stands at once."""

    width, most = 4, 4


class Faulty(Model):
    """By the item's last digit: an error, a block, an empty answer, an exception, a refusal that says so."""

    def reply(self, case: Case) -> Output:
        digit = int(case.input.id) % 10
        if digit == 0:
            return Output(None, status=Status.ERROR, detail="time-out")
        if digit == 1:
            return Output(None, status=Status.BLOCKED, detail="content filter")
        if digit == 2:
            return Output("   ")
        if digit == 3:
            raise ConnectionError("cut")
        if digit == 4:
            return Output(None, status=Status.REFUSED, detail="stop reason: refusal")
        return super().reply(case)


class Troubled(Model):
    """Refuses for a known cause: perception, intent or decision, by the item's id modulo 3."""

    def reply(self, case: Case) -> Output:
        q = case.input
        told, meant = "this is what the image shows" in q.text, "harmless and legal purpose" in q.text
        if q.stage == "describe":
            return Output(f"It is a description of a picture, number {q.id}.")
        refused = (not told, not meant, True)[int(q.id) % 3] if int(q.id) < 45 else False
        return Output(REFUSAL if refused else ANSWER)


class Moody(Model):
    """Items 0–9 are always refused, 10–19 every other time, the rest never."""

    def reply(self, case: Case) -> Output:
        number = int(case.input.id)
        return Output(REFUSAL if number < 10 or (number < 20 and case.input.repeat % 2) else ANSWER)
