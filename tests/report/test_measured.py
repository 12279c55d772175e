"""What stands beside the race in a report: one wrong answer, second opinions, edits, labels, tries."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import fields
from html.parser import HTMLParser
from typing import Any

import pytest

from weakspot.core import Hypothesis, Stage, Status, Trial
from weakspot.report.format import interval
from weakspot.stats import confidence_sequence, wilson
from weakspot.store import Run
from weakspot.studies.hunt.listing import Listing
from weakspot.study import reports as report

Build = Callable[..., Any]
HOSTILE = "<img src=x onerror=alert(1)> | `x` \x1b[2J\u202e {{ 7*7 }}"


class Words(HTMLParser):
    """What a reader of the page reads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.said = ""
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.said += data

    @property
    def text(self) -> str:
        return " ".join(self.said.replace("\u00a0", " ").split())


def read(run: Run) -> tuple[str, str, dict[str, Any], str]:
    """Page, Markdown, JSON and the last lines of the terminal."""
    data = report.summary(run)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    lines = "\n".join(report.document_of(run).lines(120))
    assert all(len(line) <= 120 for line in lines.splitlines())
    return Words(report.html(run)).text, report.markdown(run), data, lines


# -- one wrong answer -----------------------------------------------------------------------------------


def test_a_claim_about_one_wrong_answer_says_so_everywhere(build: Build) -> None:
    builder = build()
    builder.baseline()
    builder.finding("it is on a flower.", 63, 100, answer="bee")
    page, text, data, lines = read(builder.finish())
    assert "63 % [46, 78] of 100 fresh fly pictures are taken for ‘bee’ → bee only" in page
    assert "This is about one wrong answer" in page
    assert "| → bee only |" in text
    assert "“Only” means that both rates" in text
    assert "when it is on a flower, 63 % of fly pictures are taken for ‘bee’" in data["conclusion"]
    assert "→ bee only" in lines


def test_two_claims_about_one_caption_are_both_linked_from_the_race(build: Build) -> None:
    builder = build()
    builder.baseline()
    found = builder.finding("it is on a flower.", 63, 100, answer="bee")
    builder.found.append(
        type(found)(**{f.name: getattr(found, f.name) for f in fields(found)} | {"answer": "cat"})
    )
    page, *_ = read(builder.finish())
    assert "confirmed #1, confirmed #2" in page


# -- second opinions ------------------------------------------------------------------------------------


@pytest.fixture
def verified(build: Build) -> Run:
    """The verifier doubts 50 of 1,050 plain pictures, and 20 of 120 of the finding (15 of them failures)."""
    builder = build(verify=["world:verifier"])
    builder.baseline(invalid=50, doubted=9)
    builder.finding("it is on a flower.", 60, 100, invalid=20, doubted=15)
    run: Run = builder.finish()
    return run


def test_rates_with_and_without_the_second_opinion(verified: Run) -> None:
    page, text, data, lines = read(verified)
    low, high = wilson(50, 1050)
    assert data["validity"] == {
        "verify": ["world:verifier"],
        "invalid": 50,
        "n": 1050,
        "value": 50 / 1050,
        "low": low,
        "high": high,
    }
    assert data["baselines"][0]["unchecked"]["failures"] == 11 + 9
    assert data["findings"][0]["unchecked"] | {"low": 0, "high": 0} == {
        "value": 75 / 120,
        "low": 0,
        "high": 0,
        "n": 120,
        "failures": 75,
    }
    assert "itself drew 4.8 % [3.6, 6.2] of 1,050 plain fly pictures wrongly" in page
    ends = interval(*confidence_sequence(75, 120))
    assert f"Without the second opinion 62 % {ends} of 120: 20 pictures are left out" in page
    assert "wrongly drawn4.8 %" in page
    assert "## Second opinion" in text
    assert "| baseline | 1.1 % \\[" in text
    assert "without the second opinion 62 %" in text
    assert "checked  4.8 % [3.6, 6.2] of 1,050 plain images do not show the label" in lines
    assert "without the check: baseline 1.9 % [0.7, 3.9] of 1,050; findings 62 % [47, 76] of 120" in lines


def test_nothing_is_said_of_second_opinions_where_there_were_none(build: Build) -> None:
    builder = build()
    builder.baseline()
    page, text, data, lines = read(builder.finish())
    assert data["validity"] is None
    assert "econd opinion" not in page + text + lines


def test_without_the_check_a_claim_about_one_answer_counts_that_answer(build: Build) -> None:
    builder = build(verify=["world:verifier"])
    builder.baseline()
    found = builder.finding("it is on a flower.", 60, 100, answer="bee", invalid=20, doubted=15)
    other = [
        Trial(found.hypothesis.id, Stage.CONFIRM.start + 120 + i, Status.INVALID, True, None, "fly", "cat")
        for i in range(3)
    ]
    builder.run.ledger.record(other, {"images": 3})
    assert read(builder.finish())[2]["findings"][0]["unchecked"]["failures"] == 60 + 15


# -- edits ----------------------------------------------------------------------------------------------


def test_edits_are_a_ladder_from_the_finding_to_the_baseline(build: Build) -> None:
    builder = build()
    builder.baseline()
    found = builder.finding("it is on a yellow flower.", 63, 100)
    denied = "it is not on a yellow flower."
    builder.edit(found, "negate", "it is on a yellow flower.", denied, denied, 1)
    builder.edit(found, "colour", "yellow", "blue", "it is on a blue flower.", 30)
    run = builder.finish()
    page, text, data, _ = read(run)
    assert [(e["kind"], e["after"], e["rate"]["failures"]) for e in data["findings"][0]["edits"]] == [
        ("colour", "blue", 30),
        ("negate", "it is not on a yellow flower.", 1),
    ]
    places = [
        page.index(words)
        for words in (
            "What it depends on",
            "as found it is on a yellow flower 63 % [",
            "yellow → blue 62 % [",
            "denied it is not on a yellow flower 2.1 % [",
            "baseline without these words 1.1 % [",
        )
    ]
    assert places == sorted(places)
    assert "| colour | yellow → blue | 62 % \\[" in text
    assert [lane["phrase"] for lane in data["race"]] == ["it is on a yellow flower."]
    assert report.document_of(run).ending().next == ("try", str(run.folder), "it is on a blue flower.")


def test_edits_of_a_claim_about_one_answer_count_that_answer(build: Build) -> None:
    builder = build()
    builder.baseline()
    found = builder.finding("it is on a flower.", 63, 100, answer="cat", wrong="cat")
    builder.edit(found, "place", "a flower", "a leaf", "it is on a leaf.", 12)  # all of them bees
    assert read(builder.finish())[2]["findings"][0]["edits"][0]["rate"]["failures"] == 0


# -- several labels -------------------------------------------------------------------------------------


@pytest.fixture
def several(build: Build) -> Run:
    """Two labels with usual rates of 1.1 % and 5 %; one finding of the second."""
    builder = build(label="", labels=["fly", "fly agaric"])
    builder.baseline()
    builder.base = Hypothesis("a realistic photograph of a fly agaric (fungus).", origin="baseline")
    builder.draw(builder.base, 20, 400)
    builder.finding("the background is snow.", 60, 100)
    run: Run = builder.finish()
    return run


def test_each_finding_names_its_label_and_has_its_own_baseline(several: Run) -> None:
    page, text, data, lines = read(several)
    [found] = data["findings"]
    assert (found["label"], found["baseline"]["failures"], found["phrase"]) == (
        *("fly agaric", 20),
        "the background is snow.",
    )
    assert data["baseline"] is None
    assert [(b["label"], b["n"]) for b in data["baselines"]] == [("fly", 1000), ("fly agaric", 400)]
    assert data["conclusion"] == (
        "1 weak spot confirmed, in 1 of 2 labels: when the background is snow, 60 % of fly agaric pictures "
        "are misread, 12 times the usual rate."
    )
    assert page.startswith("world:classifier · 2 labels")
    assert "fly agaric: when the background is snow" in page
    assert "labels2 usual rates 1.1 % to 5.0 %" in page
    assert "The baselines" in page
    assert "(fungus). | 5.0 % \\[" in text
    assert "# world:classifier · 2 labels" in text
    assert "baseline 2 labels: fly agaric 5.0 % [" in lines
    assert " 1  fly agaric: the background is snow  60 %" in lines
    assert [(lane["label"], lane["phrase"]) for lane in data["race"]] == [
        ("fly agaric", "the background is snow.")
    ]


def test_several_labels_without_a_finding(build: Build) -> None:
    builder = build(label="", labels=[f"label {i}" for i in range(24)])
    builder.baseline(0)
    run = builder.finish()
    _, _, data, _ = read(run)
    assert data["conclusion"] == (
        "No weak spot found: 0 % of plain pictures of 24 labels are misread, "
        "and no caption was shown to do worse."
    )


# -- what does not race ---------------------------------------------------------------------------------


def test_what_does_not_race_is_not_listed_as_open(build: Build) -> None:
    builder = build()
    builder.baseline()
    origins = ("baseline", "edit", "person", "caption")
    for origin in origins:
        builder.draw(Hypothesis(f"{builder.base.text} it is {origin}.", origin=origin), 0, 4)
    while_running = [racer.phrase for racer in Listing(builder.run).race]
    assert while_running == ["it is caption."]
    builder.lane("it is on a leaf.", 1, 120, "behind")
    assert [racer.phrase for racer in Listing(builder.finish()).race] == ["it is on a leaf."]


def test_tries_have_a_section_of_their_own(build: Build) -> None:
    builder = build()
    builder.baseline()
    builder.tried("it is on a red flower.", 30, 64, "shown worse than the baseline")
    builder.tried("it is red.", 0, 64, "undecided")
    page, text, data, _ = read(builder.finish())
    assert "it is on a red flower. 47 % [" in page
    assert "· shown worse than the baseline" in page
    assert "| it is on a red flower. | 47 % \\[" in text
    assert [(t["phrase"], t["verdict"]) for t in data["tries"]] == [
        ("it is on a red flower.", "shown worse than the baseline"),
        ("it is red.", "undecided"),
    ]
    assert data["race"] == []
    assert data["findings"] == []


def test_hostile_words_do_nothing_in_the_new_parts(build: Build) -> None:
    builder = build(label="", labels=[HOSTILE, "b"], verify=[HOSTILE])
    builder.baseline(invalid=5, doubted=2)
    found = builder.finding(HOSTILE, 8, 10, wrong=HOSTILE, answer=HOSTILE, invalid=2)
    builder.edit(found, HOSTILE, HOSTILE, HOSTILE, f"edited {HOSTILE}", 5)
    builder.tried(f"tried {HOSTILE}", 3, 5, HOSTILE)
    run = builder.finish()
    page = Words(report.html(run))
    assert page.tags.count("script") == 1  # ours
    assert "onerror" not in report.html(run).replace("&lt;img src=x onerror", "")
    text = report.markdown(run)
    assert "\x1b" not in text + report.html(run)
    assert all(line.endswith(" |") for line in text.splitlines() if line.startswith("|"))
    assert "\x1b" not in "\n".join(report.document_of(run).lines(100))


# -- the way back ---------------------------------------------------------------------------------------


def test_the_command_says_all_that_is_not_as_usual(build: Build) -> None:
    changes: dict[str, Any] = {
        "label": "",
        "labels": ["fly", "house cat"],
        "verify": ["world:verifier", "openclip:x"],
        "captioner": "world:captioner",
        "encoder": "world:encoder",
        "labels_file": "labels.csv",
        "prompt": "a drawing of a {label}.",
        "sentences": 2,
        "edits": 0,
    }
    run = build(**changes).run
    run.ledger.set_fact("budget", "images=40000")
    assert shlex.split(report.command_of(run)) == [
        *("weakspot", "hunt", "world:classifier", "--source", "world:renderer"),
        *("--prompt", "a drawing of a {label}.", "--labels-file", "labels.csv", "--labels", "fly,house cat"),
        *("--verify", "world:verifier", "--verify", "openclip:x", "--captioner", "world:captioner"),
        *("--encoder", "world:encoder", "--sentences", "2", "--edits", "0"),
        *("--seed", "7", "--budget", "images=40000"),
    ]
    asked: dict[str, Any] = {}

    def hunt(target: str, **given: Any) -> None:
        asked.update(given, target=target)

    exec(report.python_of(run).replace("import weakspot; run = weakspot.", ""), {"hunt": hunt})
    always = {"target": "world:classifier", "source": "world:renderer", "seed": 7, "budget": "images=40000"}
    lists = {"labels": ("fly", "house cat"), "verify": ("world:verifier", "openclip:x")}
    said = {key: value for key, value in changes.items() if key != "label"}
    assert asked == said | always | lists


@pytest.mark.parametrize("change", [{"labels": ["a, b", "c"]}, {"verify": ["object:m.V"]}])
def test_what_a_shell_cannot_say_has_no_command(build: Build, change: dict[str, Any]) -> None:
    assert report.command_of(build(label="", **({"labels": ["x"]} | change)).run) == ""
