"""Pages of trials: together they are all, in order, forwards and backwards, however few are let through."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.web.web_parts import BASE, FLOWER, HOSTILE, caller, make_hunt, trial

from weakspot.core import Hypothesis, Stage, Status, Trial
from weakspot.store import Blobs, Run, RunConfig
from weakspot.study.views import Places
from weakspot.web import trials
from weakspot.web.explorer import Explorer
from weakspot.web.trials import reading
from weakspot.web.wanted import PageMark, Wanted

ALL = 40 + 1 + 30 + 30 + 1
WANTED = [
    Wanted(),
    Wanted(verdict="failed"),
    Wanted(verdict="error"),
    Wanted(answer="bee"),
    Wanted(kept=True),
    Wanted(stage="confirm"),
    Wanted(hypothesis=FLOWER.id),
    Wanted(slice="where=flower"),
    Wanted(slice=f"where={HOSTILE}"),
    Wanted(order="verdict"),
    Wanted(order="rate", verdict="passed"),
    Wanted(order="answer"),
    Wanted(order="answer", kept=True, stage="explore"),
    Wanted(hypothesis="no such"),
    Wanted(order="drawn"),
    Wanted(search="CAPTION 1"),
    Wanted(search="bee caption", order="drawn", kept=True),
    Wanted(search="alert title"),
    Wanted(slice="every third, of those on a flower", order="drawn"),
    Wanted(slice="every third, of those on a flower", verdict="passed", search="caption"),
]
SLICES = {"every third, of those on a flower": {FLOWER.id: Places(3, (0,))}}


def told(found: Trial) -> str:
    return f"{found.answer} {found.caption} {found.expected}".lower()


def expected(folder: Path, wanted: Wanted) -> list[tuple[str, int]]:
    """The same by plain Python over the whole ledger."""
    with Run.read(folder) as run:
        known = run.ledger.hypotheses()
        rows = [(h, t) for h in known for t in run.ledger.trials(h)]
        rates = {h.id: run.ledger.tallies()[h.id].rate for h in known}
    verdicts = {True: "failed", False: "passed", None: "error"}
    if wanted.verdict:
        rows = [row for row in rows if verdicts[row[1].failed] == wanted.verdict]
    if wanted.answer:
        rows = [row for row in rows if row[1].answer == wanted.answer]
    if wanted.kept:
        rows = [row for row in rows if row[1].blob]
    if wanted.stage:
        rows = [row for row in rows if Stage.of(row[1].index).name.lower() == wanted.stage]
    if wanted.hypothesis:
        rows = [row for row in rows if row[0].id == wanted.hypothesis]
    if wanted.search:
        rows = [row for row in rows if all(word in told(row[1]) for word in wanted.search.lower().split())]
    if wanted.slice in SLICES:
        rows = [row for row in rows if row[0] == FLOWER and row[1].index % 3 == 0]
    elif wanted.slice:
        rows = [row for row in rows if tuple(wanted.slice.split("=", 1)) in row[0].concepts]
    if wanted.order == "verdict":
        rows.sort(key=lambda row: ["failed", "passed", "error"].index(verdicts[row[1].failed]))
    if wanted.order == "rate":
        rows.sort(key=lambda row: -rates[row[0].id])
    if wanted.order == "answer":
        rows.sort(key=lambda row: (row[1].answer is None, row[1].answer or ""))
    return [(t.hypothesis, t.index) for _, t in rows]


@pytest.mark.parametrize("wanted", WANTED, ids=lambda w: "-".join(w.query().values())[:40] or "all")
@pytest.mark.parametrize("patient", [True, False])
def test_pages_are_all_trials_both_ways(
    wanted: Wanted, patient: bool, hunt_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not patient:  # every look ends after two rows, as one over a million rows would
        monkeypatch.setattr(trials, "CHUNK", 2)
        monkeypatch.setattr(trials, "PATIENCE", -1.0)
    with reading(hunt_folder, slices=SLICES) as ledger:
        page = ledger.page(wanted, most=7)
        found, steps = list(page.rows), 0
        assert page.before == ""
        while page.after:
            page, steps = ledger.page(wanted, after=page.after, most=7), steps + 1
            found += page.rows
            assert len(page.rows) <= 7
            assert steps < 500
        back = list(page.rows)
        while page.before:
            page, steps = ledger.page(wanted, before=page.before, most=7), steps + 1
            back = page.rows + back
            assert steps < 1000
    whole = expected(hunt_folder, wanted)
    assert [(row.hypothesis, row.index) for row in found] == whole
    assert [(row.hypothesis, row.index) for row in back] == whole
    with reading(hunt_folder, slices=SLICES) as ledger:  # every row's place is where it is found again
        for row in found[::9]:
            assert str(ledger.place(wanted, row.hypothesis, row.index)) == row.place
        assert ledger.place(Wanted(verdict="error"), FLOWER.id, 0) is None


def test_kept_texts_are_searched(tmp_path: Path) -> None:
    words = Hypothesis("texts", origin="baseline")
    config = RunConfig(study="map", subject="s", settings={"target": "t", "seed": 0})
    with Run.create(config, folder=tmp_path / "run") as run:
        run.ledger.add_hypotheses([words])
        texts = ["A long Ärgernis about rain.", "Sun and wind.", "x" * 3000 + " needle"]
        kept = [run.blobs.put(text.encode()) for text in texts]
        rows = [
            Trial(words.id, i, Status.OK, i == 1, 0.5, "", f"answer {i}", caption="", blob=blob)
            for i, blob in enumerate(kept)
        ]
        run.ledger.record(rows, {"calls": 3})
    wanted = {"ärgernis": [0], "rain answer": [0], "needle": [2], "wind 1": [1], "zz": []}
    for search, found in wanted.items():
        with reading(tmp_path / "run", texts=Blobs(tmp_path / "run" / "blobs")) as ledger:
            page = ledger.page(Wanted(search=search, order="drawn"))
        assert [row.index for row in page.rows] == found, search


def test_what_is_no_key_is_the_beginning(hunt_folder: Path) -> None:
    with reading(hunt_folder) as ledger:
        first = ledger.page(Wanted(), most=3).rows
        for key in (
            "x",
            "1.2",
            "1.2.3.4",
            "-1.0.0",
            "0.1.99999999999999999999",
            "0.1.1; DROP TABLE trials",
            "٣.٣.٣",
        ):
            assert PageMark.of(key) is None
            assert ledger.page(Wanted(), after=key, most=3).rows == first
    assert Wanted.of({"verdict": "1 OR 1", "order": "x", "stage": "y", "kept": "yes"}) == Wanted()
    for wanted in WANTED:
        assert Wanted.of(wanted.query()) == wanted


def test_a_writer_is_not_disturbed(tmp_path: Path) -> None:
    """While pages are read without a pause, a writer writes, checkpoints, and waits for nobody."""
    folder = make_hunt(tmp_path / "run", state="running")
    stop, seen, errors = threading.Event(), [0], list[BaseException]()

    def read() -> None:
        try:
            while not stop.is_set():
                with reading(folder) as ledger:
                    seen[0] = max(seen[0], sum(t.drawn for t in ledger.tallies().values()))
                    ledger.page(Wanted(order="verdict"))
        except BaseException as error:
            errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    with Run.open(folder) as run:
        for batch in range(60):
            rows = [trial(run, BASE, 100 + 10 * batch + i, failed=False, keep=False) for i in range(10)]
            run.ledger.record(rows, {"images": 10})
    stop.set()
    reader.join()
    assert not errors
    with reading(folder) as ledger:
        assert sum(t.drawn for t in ledger.tallies().values()) == ALL + 600
    assert seen[0] >= ALL


def test_long_answers_are_offered_whole_and_found(hunt_folder: Path) -> None:
    """Forms send another newline than they were given, and the browser shows long answers shortened."""
    long = "a sentence that is much longer than sixty characters, and\nhas a second line"
    with Run.open(hunt_folder) as run:
        run.ledger.record(
            [
                trial(run, BASE, 500, failed=True, answer=long),
                trial(run, BASE, 501, failed=True, answer=long.replace("\n", "\r\n")),
            ],
            {},
        )
    with reading(hunt_folder) as ledger:
        assert dict(ledger.facets(Wanted()))[long] == 2
        sent = Wanted.of({"answer": long.replace("\n", "\r\n")})
        assert sent.answer == long
        assert [row.index for row in ledger.page(sent).rows] == [500, 501]
    text = caller(Explorer(hunt_folder.parent).app()).open()("/run/hunt-fly/trials").text
    assert f'<option value="{long}" >a sentence that is much' in text
