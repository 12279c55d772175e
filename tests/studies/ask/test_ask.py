"""ask from end to end: each item once, statuses kept apart, resumable, figures known beforehand."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.studies.ask.ask_parts import Faulty, Model, Moody, Troubled, Waiting, Words, benchmark

from weakspot import ask, resume
from weakspot.core import Status, WeakspotError
from weakspot.core.question import BENIGN
from weakspot.engine import Broken
from weakspot.judges.refusal.panel import Panel
from weakspot.report import format as show
from weakspot.sources.benchmark import Benchmark, Item
from weakspot.store import Run
from weakspot.studies.ask.arms import SYSTEMS
from weakspot.studies.ask.document import AskDocument
from weakspot.studies.ask.reading import answers, share_described
from weakspot.studies.ask.result import AskResult
from weakspot.study.reports import html, markdown, summary, write
from weakspot.web.runs import sight


def figures(run: Run) -> Any:
    result = AskResult.of(run)
    return {} if result is None else result.plain()


def asked(tmp_path: Path, target: Any, questions: Benchmark | None = None, **more: Any) -> Run:
    run: Run = ask(target, benchmark=questions or benchmark(), judge=Words(), out=tmp_path / "run", **more)
    return run


def noise(seed: int) -> bytes:
    file = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (24, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(file, format="PNG")
    return file.getvalue()


class TestFigures:
    def test_benign_and_contrast(self, tmp_path: Path) -> None:
        model = Model()
        with asked(tmp_path, model, contrast=True) as run:
            found = figures(run)
            assert run.state == "finished"
        assert set(model.asked.values()) == {1}
        assert len(model.asked) == 120
        assert (found["n"], found["refused"], found["errors"]) == (90, 30, 0)
        assert found["rate"] == pytest.approx(1 / 3)
        assert found["rate_interval"][0] < 1 / 3 < found["rate_interval"][1]
        assert found["rate_corrected"] == pytest.approx((1 / 3 - 0.02) / 0.93)
        assert (found["contrast"]["n"], found["contrast"]["rate"]) == (30, 1.0)
        assert found["trade_off"]["balanced_accuracy"] == pytest.approx((2 / 3 + 1) / 2)
        pairs = found["trade_off"]["pairs"]
        assert (pairs["n"], pairs["told_apart"], pairs["both_refused"]) == (30, 20, 10)
        worse = {(c, v) for c, rows in found["slices"].items() for v, row in rows.items() if row["worse"]}
        assert worse == {("stimulus", "hard")}
        assert found["slices"]["stimulus"]["hard"]["rate"] == 1.0

    def test_statuses_are_never_mixed(self, tmp_path: Path) -> None:
        with asked(tmp_path, Faulty(), benchmark(100, contrast=False)) as run:
            found = figures(run)
            kinds = {t.status for h in run.ledger.hypotheses() for t in run.ledger.trials(h)}
        assert {k: found[k] for k in ("asked", "errors", "blocked", "empty", "undecided")} == {
            "asked": 100, "errors": 20, "blocked": 10, "empty": 10, "undecided": 0,
        }  # fmt: skip
        # Ten say themselves that they refuse; of the fifty answers, the 'hard' ones do.
        assert (found["n"], found["refused"]) == (60, 10 + 20)
        assert kinds == {Status.OK, Status.REFUSED, Status.BLOCKED, Status.EMPTY, Status.ERROR}

    def test_a_judge_that_cannot_say(self, tmp_path: Path) -> None:
        class Shy(Words):
            def judge(self, cases: Any, outputs: Any) -> Any:
                from weakspot.core import Verdict

                return [Verdict(None, reason="did not parse") for _ in cases]

        run = ask(Model(), benchmark=benchmark(30, contrast=False), judge=Shy(), out=tmp_path / "run")
        found = figures(run)
        run.close()
        assert (found["undecided"], found["n"], found["rate"], found["rate_corrected"]) == (30, 0, None, None)

    def test_a_panel_says_how_far_its_judges_agree(self, tmp_path: Path) -> None:
        class Strict(Words):
            def judge(self, cases: Any, outputs: Any) -> Any:
                return [replace(v, failed=True) for v in super().judge(cases, outputs)]

        class Doubter(Words):
            def judge(self, cases: Any, outputs: Any) -> Any:
                return [replace(v, failed=None) for v in super().judge(cases, outputs)]

        panel = Panel({"one": Words(), "two": Words(), "strict": Strict(), "shy": Doubter()})
        with ask(Model(), benchmark=benchmark(90), judge=panel, out=tmp_path / "run") as run:
            found, page = figures(run), html(run)
        assert (found["n"], found["refused"]) == (90, 30)  # the majority
        agreed = found["agreement"]
        assert agreed["n"] == 90
        assert agreed["kappa"]["one · two"] == pytest.approx(1.0)
        assert agreed["kappa"]["one · strict"] == pytest.approx(0.0)
        assert agreed["alpha"] < 1
        assert "Agreement of the judges" in page

    def test_system_prompts_are_arms_and_compared(self, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("Be brief.\n")

        class Obedient(Model):
            def reply(self, case: Any) -> Any:
                if case.input.arm == "helpful":
                    from weakspot.core import Output

                    return Output("Sure.")
                return super().reply(case)

        model = Obedient()
        with asked(tmp_path, model, system=["none", "helpful", str(tmp_path / "mine.txt")]) as run:
            found = figures(run)
        assert model.systems == {"", SYSTEMS["helpful"], "Be brief."}
        assert found["rate"] == pytest.approx(1 / 3)
        assert found["arms"]["helpful"]["rate"] == 0.0
        by_pair = {(c["first"], c["second"].partition("-")[0]): c for c in found["comparisons"]}
        assert by_pair["none", "helpful"]["only_first"] == 30
        assert by_pair["none", "helpful"]["p_adjusted"] < 1e-6
        assert by_pair["none", "mine"]["p_adjusted"] == 1.0

    def test_stages_attribute_each_refusal(self, tmp_path: Path) -> None:
        items = [i._replace(image=b"", missing="") for i in benchmark(60, contrast=False).items]
        questions = Benchmark("toy", items)
        model = Troubled()
        model.needs_images = False  # type: ignore[attr-defined]
        with asked(tmp_path, model, questions, stages=True) as run:
            found = figures(run)["stages"]
        assert {c: found[c]["count"] for c in ("perception", "intent", "decision")} == {
            "perception": 15, "intent": 15, "decision": 15
        }  # fmt: skip
        assert (found["refused"], found["unknown"]) == (45, 0)
        assert {c for i, c in found["items"].items() if int(i) % 3 == 1} == {"intent"}
        # Only what was refused is asked again.
        assert {k[1] for k in model.asked if k[3]} == {str(i) for i in range(45)}
        assert found["described"]["n"] == 45
        assert found["described"]["mean_words_found"] == pytest.approx(1.0)

    def test_repeats(self, tmp_path: Path) -> None:
        model = Moody()
        with asked(tmp_path, model, benchmark(40, contrast=False), repeats=4) as run:
            found = figures(run)
        assert len(model.asked) == 160
        assert found["n"] == 40  # the headline is about the first answers
        c = found["consistency"]
        assert (c["always_refused"], c["sometimes_refused"], c["never_refused"]) == (10, 10, 20)
        assert c["agreement"] == pytest.approx((30 + 10 * (1 - 2 * 2 * 2 / 12)) / 40)
        assert c["rate"] == pytest.approx(15 / 40)

    def test_a_limit_spreads_over_the_benchmark(self, tmp_path: Path) -> None:
        with asked(tmp_path, Model(), contrast=True, limit=12) as run:
            found = figures(run)
        assert found["n"] == 12
        assert 2 <= found["slices"]["stimulus"]["hard"]["n"] <= 6
        assert found["trade_off"]["pairs"]["n"] == found["contrast"]["n"]

    def test_the_shared_models_in_seconds(self, data: Path, tmp_path: Path) -> None:
        """With a plain judge of words: what matters here is the bookkeeping, not the judge."""
        moss = data / "data" / "mossbench"
        for model, errors, empty in (("claude-3-haiku", 14, 0), ("gemini-pro-1-5", 0, 8)):
            with ask(
                f"replay:{moss / 'responses' / model}.jsonl",
                benchmark=f"mossbench:{moss}",
                judge=Words(),
                out=tmp_path / model,
            ) as run:
                found = figures(run)
            assert (found["errors"], found["empty"], found["n"]) == (errors, empty, 300 - errors - empty)
            assert found["model"] == model
            assert len(found["images_missing"]) == 11
            assert set(found["slices"]) == {"stimulus", "harm", "human", "child", "synthetic", "ocr"}
            assert sum(row["n"] for row in found["slices"]["stimulus"].values()) == found["n"]


class TestGoingOn:
    def test_an_interrupted_run_asks_nothing_twice(self, tmp_path: Path) -> None:
        model = Waiting()
        model.stop_after = 37
        with pytest.raises(KeyboardInterrupt):
            asked(tmp_path, model, contrast=True)
        model.stop_after = 1 << 30
        with resume(tmp_path / "run", target=model, benchmark=benchmark(), judge=Words()) as run:
            found = figures(run)
            assert run.state == "finished"
        assert len(model.asked) == 120
        # Only calls that were under way may have been sent again: fewer than the model stands at once.
        assert sum(n - 1 for n in model.asked.values()) < Waiting.most
        assert (found["n"], found["refused"], found["contrast"]["n"]) == (90, 30, 30)

    def test_the_same_figures_with_and_without_waiting(self, tmp_path: Path) -> None:
        with (
            asked(tmp_path / "a", Model(), contrast=True) as one,
            asked(tmp_path / "b", Waiting(), contrast=True) as two,
        ):
            assert figures(one) == figures(two) | {"model": figures(one)["model"]}

    def test_a_budget_cuts_both_sets_and_can_be_raised(self, tmp_path: Path) -> None:
        model = Model()
        with asked(tmp_path, model, contrast=True, budget="calls=60") as run:
            found = figures(run)
            assert run.state == "stopped: the calls budget of 60 is spent"
        assert (found["n"], found["contrast"]["n"]) == (45, 15)
        assert model.asked.total() == 60
        with resume(
            tmp_path / "run", budget="calls=500", target=model, benchmark=benchmark(), judge=Words()
        ) as run:
            found = figures(run)
            assert run.state == "finished"
        assert (found["n"], found["contrast"]["n"], model.asked.total()) == (90, 30, 120)

    def test_dollars_are_capped_to_the_calls_under_way(self, tmp_path: Path) -> None:
        model = Waiting()
        asked(tmp_path, model, budget="dollars=0.2").close()
        assert model.asked.total() <= 20 + Waiting.most

    def test_stages_go_on_where_they_stopped(self, tmp_path: Path) -> None:
        model, questions = Troubled(), benchmark(60, contrast=False)
        model.stop_after = 60 + 20
        with pytest.raises(KeyboardInterrupt):
            asked(tmp_path, model, questions, stages=True)
        model.stop_after = 1 << 30
        with resume(tmp_path / "run", target=model, benchmark=questions, judge=Words()) as run:
            found = figures(run)["stages"]
        assert {c: found[c]["count"] for c in ("perception", "intent", "decision")} == {
            "perception": 15, "intent": 15, "decision": 15
        }  # fmt: skip

    def test_another_benchmark_is_refused(self, tmp_path: Path) -> None:
        asked(tmp_path, Model(), budget="calls=5").close()
        with pytest.raises(WeakspotError, match="the benchmark is not the one this run began with"):
            resume(
                tmp_path / "run", target=Model(), benchmark=benchmark(30), judge=Words(), budget="calls=50"
            )

    def test_a_broken_target_stops(self, tmp_path: Path) -> None:
        class Gone(Model):
            def reply(self, case: Any) -> Any:
                raise ConnectionError("nobody there")

        with pytest.raises(Broken, match="nobody there"):
            asked(tmp_path, Gone())
        with resume(tmp_path / "run", target=Model(), benchmark=benchmark(), judge=Words()) as run:
            assert (figures(run)["n"], figures(run)["errors"]) == (90, 0)

    def test_what_was_answered_before_it_broke_is_not_asked_again(self, tmp_path: Path) -> None:
        class Failing(Waiting):
            """Every fifth question fails; from the sixtieth call on all do."""

            works = 60

            def reply(self, case: Any) -> Any:
                if self.asked.total() > self.works or int(case.input.id) % 5 == 0:
                    raise ConnectionError("nobody there")
                return super().reply(case)

        model = Failing()
        with pytest.raises(Broken, match="nobody there"):
            asked(tmp_path, model, contrast=True)
        with Run.read(tmp_path / "run") as run:
            answered = {(one.item, one.set) for one in answers(run) if one.trial.status is not Status.ERROR}
        assert 20 < len(answered) < 60
        again = Waiting()
        with resume(tmp_path / "run", target=again, benchmark=benchmark(), judge=Words()) as run:
            found = figures(run)
        assert not {(key[1], key[0]) for key in again.asked} & answered
        assert again.asked.total() == 120 - len(answered)
        assert (found["n"], found["errors"], found["contrast"]["n"]) == (90, 0, 30)

    def test_a_budget_holds_for_calls_that_failed_and_were_made_again(self, tmp_path: Path) -> None:
        with asked(tmp_path, Faulty(), budget="calls=50", contrast=True) as run:
            errors = figures(run)["errors"] + figures(run)["contrast"]["errors"]
        assert errors > 5
        model = Model()
        with resume(
            tmp_path / "run", target=model, benchmark=benchmark(), judge=Words(), budget="calls=70"
        ) as run:
            assert run.state == "stopped: the calls budget of 70 is spent"
        assert model.asked.total() == 20  # those that failed, and a few new ones

    def test_a_recording_of_failed_calls_is_not_broken(self, tmp_path: Path) -> None:
        path = tmp_path / "nulls.jsonl"
        rows = [{"id": i, "response": None if i < 200 else "Sure."} for i in range(300)]
        path.write_text("\n".join(map(json.dumps, rows)))
        with asked(tmp_path, f"replay:{path}", benchmark(300, contrast=False)) as run:
            assert (figures(run)["n"], figures(run)["errors"], run.state) == (100, 200, "finished")

    def test_a_recording_with_gaps_is_not_broken(self, tmp_path: Path) -> None:
        path = tmp_path / "few.jsonl"
        path.write_text("\n".join(json.dumps({"id": i, "response": "Sure."}) for i in range(0, 300, 7)))
        with asked(tmp_path, f"replay:{path}", benchmark(300, contrast=False)) as run:
            assert (figures(run)["n"], figures(run)["errors"]) == (43, 257)

    def test_answers_are_judged_again_by_another_judge(self, tmp_path: Path) -> None:
        class Strict(Words):
            def judge(self, cases: Any, outputs: Any) -> Any:
                from weakspot.core import Verdict

                return [Verdict(True) for _ in cases]

        asked(tmp_path, Model(), contrast=True).close()
        again = ask(
            f"replay:{tmp_path / 'run'}",
            benchmark=benchmark(),
            judge=Strict(),
            contrast=True,
            out=tmp_path / "again",
        )
        with again:
            found = figures(again)
        assert (found["rate"], found["contrast"]["rate"], found["errors"]) == (1.0, 1.0, 0)


class TestPictures:
    def test_a_picture_that_cannot_be_sent_is_an_error_of_its_item(self, tmp_path: Path) -> None:
        (tmp_path / "bad.png").write_bytes(b"no picture")
        items = [
            Item("0", "?", image=tmp_path / "bad.png"),
            Item("1", "?", missing="1.png is not there"),
            *(Item(str(i), "?") for i in range(2, 10)),
        ]
        with asked(tmp_path, Model(), Benchmark("toy", items)) as run:
            found = figures(run)
            kinds = [what for what, _ in run.ledger.errors()]
        assert (found["n"], found["errors"], found["images_missing"]) == (8, 2, ["benign 1"])
        assert any("not a picture in a known format" in what for what in kinds)

    def test_a_long_answer(self, tmp_path: Path) -> None:
        class Long(Model):
            def reply(self, case: Any) -> Any:
                from weakspot.core import Output

                return Output("Sure. " * 170_000)

        with asked(tmp_path, Long(), benchmark(6, contrast=False)) as run:
            assert figures(run)["n"] == 6
            assert write(run).stat().st_size < 200_000


class TestReport:
    def test_pages(self, tmp_path: Path) -> None:
        with asked(tmp_path, Faulty(), contrast=True, repeats=2, stages=True) as run:
            page, text, values = html(run), markdown(run), summary(run)
        assert "It refuses more where stimulus is hard: " in page
        assert "## All kinds of questions" in text
        for key in ("rate", "rate_interval", "rate_corrected", "rate_corrected_interval", "n", "errors"):
            assert key in values
            assert key in values["slices"]["stimulus"]["hard"]
        json.dumps(values, allow_nan=False)

    def test_it_begins_with_what_a_manager_would_say_and_with_pictures(self, tmp_path: Path) -> None:
        items = [i._replace(image=noise(int(i.id)) if i.set == BENIGN else None) for i in benchmark(90).items]
        recorded = tmp_path / "a.jsonl"
        model = Model()
        rows = []
        for item in items:
            hard = item.set != BENIGN or int(item.id) >= 60
            said = "I'm sorry, I can't help with that." if hard and item.id != "3" else "Sure: do this."
            rows.append({"id": item.id, "set": item.set, "response": said})
        recorded.write_text("\n".join(map(json.dumps, rows)))
        assert model.asked.total() == 0
        questions = Benchmark("toy", items)
        with asked(tmp_path, f"replay:{recorded}", questions, contrast=True) as run:
            page, text, values = html(run), markdown(run), summary(run)
            shown = list(AskDocument(run).lines(100))
        said = "a refuses 30 of 90 harmless questions and answers 1 of 30 harmful ones."
        assert values["conclusion"] == f"{said} It refuses more where stimulus is hard: 30 of 30."
        # Recorded answers come without pictures; those of the questions are shown all the same.
        first = page.index(">all harmless questions")
        second = page.index(">where stimulus is hard")
        assert page[first:second].count('src="data:image/') >= 3
        assert page.index("How it was measured") > second
        head = page[: page.index("How it was measured")]
        for word in ("d′", "balanced accuracy", "McNemar"):
            assert word not in head.partition("</style>")[2].partition("Asked again")[0]
        assert "→ “I'm sorry, I can't help with that.”" in text.replace("\\", "")
        # One number, one interval, wherever it stands.
        rate, (low, high) = "33 %", values["rate_interval"]
        assert rate in page
        ends = show.interval(low, high)
        assert page.count(ends) >= 3
        assert any(f"{rate} {ends}" in line and "refused 30 of 90" in line for line in shown)
        seen = sight("run", tmp_path / "run").lines
        benign = next(line.rate for line in seen if dict(line.hypothesis.concepts)["set"] == BENIGN)
        assert (benign.low, benign.high) == (low, high)

    def test_hostile_words_do_nothing(self, tmp_path: Path) -> None:
        evil = "<script>alert(1)</script>\x1b[31m\u202e"
        items = [Item(str(i), evil, slices={evil: (evil,)}) for i in range(12)]
        with asked(tmp_path, Model(), Benchmark(evil, items)) as run:
            page, text = html(run), markdown(run)
        assert page.count("<script>") == 1  # the one that saves figures
        assert "<script>" not in text
        assert "\x1b" not in page + text
        assert "\u202e" not in page + text

    def test_a_run_that_has_just_begun(self, tmp_path: Path) -> None:
        model = Model()
        model.stop_after = 0
        with pytest.raises(KeyboardInterrupt):
            asked(tmp_path, model)
        with Run.read(tmp_path / "run") as run:
            assert "Nothing has been asked yet" in html(run)
            assert write(run).exists()


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"repeats": 0}, "repeats cannot be 0"),
        ({"limit": 0}, "limit cannot be 0"),
        ({"fdr": 1.5}, "makes no sense"),
        ({"system": "helpfull"}, "did you mean 'helpful'"),
        ({"system": ("helpful", "helpful")}, "given twice"),
        ({"system": ()}, "no system prompt"),
        ({"budget": "shoes=3"}, "no budget is called"),
        ({"target": "replay:nowhere.jsonl"}, "cannot be read"),
        ({"target": "repaly:x"}, "did you mean 'replay'"),
        ({"benchmark": "mosbench:x"}, "did you mean 'mossbench'"),
        ({"benchmark": "world:renderer"}, "is not a Benchmark"),
        ({"judge": "embeded-x"}, "no judge is called"),
        ({"contrast": True, "benchmark": benchmark(9, contrast=False)}, "no contrast set"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(
    tmp_path: Path, more: dict[str, Any], complaint: str
) -> None:
    given: dict[str, Any] = {"target": Model(), "benchmark": benchmark(9), "judge": Words()} | more
    with pytest.raises(WeakspotError, match=complaint):
        ask(given.pop("target"), out=tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def test_share_described() -> None:
    assert share_described("A knife on the floors", "knives? a knife, floor") == pytest.approx(1.0)
    assert share_described("a red balloon in the garden", "A garden.") == pytest.approx(1 / 2)
    assert share_described("", "anything") is None


def test_case_expectations_follow_the_set() -> None:
    assert {c.expected for c in benchmark().draw(benchmark().hypotheses()[1], range(5), seed=0)} == {
        "refusal"
    }
    assert benchmark().of(BENIGN)[0].set == BENIGN


def test_answers_that_were_cut_off_have_a_grade_of_their_own(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": i, "response": "Sure: do", "finish_reason": "length"} for i in range(4)
    ]
    rows += [{"id": i, "response": "Sure: do this.", "finish_reason": "stop"} for i in range(4, 8)]
    rows += [{"id": i, "response": "I'm sorry, but", "finish_reason": "length"} for i in range(8, 10)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with asked(tmp_path, f"replay:{tmp_path / 'a.jsonl'}", benchmark(10, contrast=False)) as run:
        found = figures(run)
    assert (found["n"], found["refused"], found["grades"]) == (10, 2, {"cut off": 4})
    again = ask(f"replay:{tmp_path / 'run'}", benchmark=benchmark(10), judge=Words(), out=tmp_path / "again")
    with again:
        assert figures(again)["grades"] == {"cut off": 4}
