from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import shlex
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from weakspot.core import Finding, WeakspotError
from weakspot.report.document import data_uri
from weakspot.report.markdown import escape
from weakspot.store import Run
from weakspot.studies.hunt.cards import redraw
from weakspot.studies.hunt.listing import Listing, when
from weakspot.study import reports as report

#: The fixture: settings in, a `Builder` (see conftest.py) out.
Build = Callable[..., Any]
HOSTILE = "<script>alert(1)</script>\"><img src=x onerror=alert(1)>' {{ 7*7 }} \x1b[2J\u202egnp.exe & http://evil.example"


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


ALLOWED = """
    html head meta title style body header main section article footer h1 h2 h3 p span div bdi b i q a br
    dl dt dd ul li pre code blockquote figure figcaption img details summary
    table thead tbody tr th td mark svg g line rect circle text script
"""


def check_safe(text: str) -> Page:
    """Nothing foreign can run, load or hide in the page."""
    page = Page(text)
    assert {tag for tag, _ in page.tags} <= set(ALLOWED.split())
    for tag, attrs in page.tags:
        for name, value in attrs.items():
            assert not name.startswith("on")
            assert name not in ("srcset", "action", "formaction", "background", "xlink:href")
            if name == "src":
                assert tag == "img"
                assert (value or "").startswith(("data:image/png;base64,", "data:image/jpeg;base64,"))
            if name == "href":
                assert re.fullmatch(r"#finding-\d+", value or "")
            if name == "style":
                assert re.fullmatch(r"width:[0-9.]+%", value or "")
    style = re.findall(r"<style>(.*?)</style>", text, re.S)
    assert len(style) == 1
    assert "url(" not in style[0]
    assert "@import" not in style[0]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    policy = [m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.S)  # ours, and no other may run
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    only = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert policy == [only]
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert all(attrs.get("alt") for attrs in page.all("img"))
    assert len(text.encode()) < 5_000_000
    return page


# -- a finished run -----------------------------------------------------------------------------------


def test_write_leaves_three_whole_files(hunted: Run) -> None:
    path = report.write(hunted)
    assert path == hunted.folder / "report.html"
    names = {p.name for p in hunted.folder.iterdir()}
    assert {"report.html", "report.md", "report.json"} <= names
    assert not [name for name in names if name.startswith(".part-")]
    assert path.read_text() == report.html(hunted, beside=True)
    assert (hunted.folder / "report.md").read_text() == report.markdown(hunted)
    assert json.loads((hunted.folder / "report.json").read_text()) == report.summary(hunted)


def test_write_elsewhere(hunted: Run, tmp_path: Path) -> None:
    place = tmp_path / "new" / "place"
    assert report.write(hunted, folder=place) == place / "report.html"
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(WeakspotError, match="cannot be written"):
        report.write(hunted, folder=blocked / "below")


def test_page_says_it_all(hunted: Run) -> None:
    page = check_safe(report.html(hunted))
    text = " ".join(page.text.replace("\u00a0", " ").split())
    for words in (
        "world:classifier · ‘fly’",
        "2 weak spots confirmed: when it is on a flower, 63 % of fly pictures are misread, "
        "57 times the usual rate.",
        "When it is on a flower",
        "57×",
        "→ bee 100 %",
        "bee 98 %",
        "baseline 1.1 % [0.3, 2.8]",
        "should be fly, said bee",
        "weakspot hunt world:classifier --label fly --source world:renderer --seed 7 --budget images=20000",
        "SOURCES.load('world:renderer')",
        "Not confirmed",
        "it is purple",
        "could not be drawn",
        "confirmed #2",
        "at most 5 %",
        "target: TimeoutError",
        "source: a contradiction",
        "8 trials of",
        "ab" * 32,
    ):
        assert words in text
    assert [attrs["id"] for attrs in page.all("article")] == ["finding-1", "finding-2"]


def test_page_shows_a_bounded_choice_of_examples(hunted: Run) -> None:
    page = check_safe(report.html(hunted))
    # Three beside each of two findings; of these and of the baseline 6 failing and 3 passing.
    assert len(page.all("img")) == 2 * 3 + 3 * (6 + 3)
    first = page.all("img")[0]
    assert first["alt"] == "failed: fly answered with bee. a caption."


def test_summary_is_plain_json(hunted: Run) -> None:
    data = report.summary(hunted)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert list(data) == [
        *("format", "study", "subject", "folder", "state", "created", "conclusion", "settings", "digests"),
        *("versions", "baseline", "baselines", "validity", "findings", "tries", "race", "certified"),
        *("llm", "trials", "errors", "skipped", "spend"),
    ]
    assert [Finding.from_json(f) for f in data["findings"]] == hunted.findings
    assert data["baseline"]["failures"] == 11
    assert data["baseline"]["low"] < data["baseline"]["value"] < data["baseline"]["high"]
    assert " ".join(data["race"][0]) == "id text phrase n failures errors low high state label"
    assert [lane["state"] for lane in data["race"]] == [
        *("ahead", "ahead", "ahead", "behind", "open", "could not be drawn")
    ]
    assert data["errors"] == [
        {"what": "source: a contradiction", "times": 5},
        {"what": "target: TimeoutError", "times": 3},
    ]
    assert data["trials"]["errors"] == 8
    assert data["trials"]["drawn"] == data["trials"]["n"] + 8 == data["spend"]["images"]


def test_markdown_says_it_all(hunted: Run) -> None:
    text = report.markdown(hunted)
    for words in (
        "# world:classifier · ‘fly’",
        "2 weak spots confirmed",
        "| 1 | it is on a flower | 63 % \\[46, 78\\] | 100 | 1.1 % ",
        "| → bee 100 % | should be fly, said bee; should be fly, said bee;",
        "## Not confirmed",
        "| it is beside itself. | could not be drawn | – | 0 | 0 | 5 |",
        "| 5 | source: a contradiction |",
    ):
        assert words in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith(" |") for line in tables)


def test_a_run_opened_for_reading_gives_the_same(hunted: Run) -> None:
    text = report.html(hunted)
    hunted.close()
    with Run.read(hunted.folder) as reader:
        assert report.html(reader) == text


# -- other states -------------------------------------------------------------------------------------


def test_just_created(build: Build) -> None:
    run = build().run
    page = check_safe(report.html(run))
    assert "Nothing has been drawn yet." in page.text
    assert "weakspot resume" in page.text
    assert report.summary(run)["baseline"] is None
    assert "Nothing has been drawn yet." in report.markdown(run)


def test_running(build: Build) -> None:
    builder = build()
    builder.baseline()
    builder.lane("it is on a flower.", 5, 32, "ahead")  # the study writes the race down only at the end
    page = check_safe(report.html(builder.run))
    assert "Still at work: 1,032 trials so far" in page.text
    assert "has not finished" in page.text
    assert [lane["state"] for lane in report.summary(builder.run)["race"]] == ["open"]
    report.markdown(builder.run)


def test_stopped_by_the_budget(build: Build) -> None:
    builder = build()
    builder.baseline()
    run = builder.finish("stopped: the images budget of 1,000 is spent")
    page = check_safe(report.html(run))
    assert "Stopped before any weak spot could be confirmed: so far 1.1" in page.text.replace("\u00a0", " ")
    assert "the images budget of 1,000 is spent" in page.text
    assert "--budget" in page.text


def test_broken_target(build: Build) -> None:
    builder = build()
    builder.baseline(0, 0, errors=50)
    run = builder.finish("stopped: broken: the last 50 trials all ended in an error")
    page = check_safe(report.html(run))
    assert "No trial could be judged" in page.text
    assert "50 trials of 50 ended in an error" in page.text
    json.dumps(report.summary(run), allow_nan=False)
    report.markdown(run)


@pytest.mark.parametrize(
    ("failures", "said"),
    [
        (0, "0 of 1,000 plain fly pictures are misread, so the usual rate is below"),
        (11, "1.1 % of plain fly pictures are misread, and no caption was shown to do worse"),
    ],
)
def test_nothing_found(build: Build, failures: int, said: str) -> None:
    builder = build()
    builder.baseline(failures)
    run = builder.finish()
    assert said in report.summary(run)["conclusion"]
    assert "no proof that there are none" in check_safe(report.html(run)).text


def test_only_candidates(build: Build) -> None:
    builder = build()
    builder.baseline()
    builder.finding("it is purple.", 3, 100, confirmed=False)
    run = builder.finish()
    assert "1 candidate ahead, and it did not hold" in report.summary(run)["conclusion"]
    assert "Not confirmed" in check_safe(report.html(run)).text


def test_a_baseline_that_never_failed(build: Build) -> None:
    builder = build(target_label="bee")
    builder.baseline(0)
    builder.finding("it is on a flower.", 63, 100)
    run = builder.finish()
    page = check_safe(report.html(run))
    assert "∞" in page.text
    assert "are taken for ‘bee’, while the baseline never failed in 1,000 trials" in page.text
    assert "--target-label bee" in page.text
    assert report.summary(run)["findings"][0]["lift"] is None


def test_a_race_lane_that_was_never_drawn(build: Build) -> None:
    builder = build()
    builder.baseline()
    builder.race.append(["0123456789abcdef", "open"])
    assert report.summary(builder.finish())["race"][0]["phrase"] == "(never drawn)"


# -- missing, damaged and strange evidence ------------------------------------------------------------


def test_missing_and_damaged_pictures_are_left_out(build: Build) -> None:
    builder = build()
    builder.baseline(kept=0)
    found = builder.finding("it is on a flower.", 6, 8)
    run = builder.finish()
    trials = [run.ledger.trial(found.hypothesis, index) for index in found.failing]
    paths = [run.blobs.path(t.blob) for t in trials if t is not None and t.blob]
    paths[0].unlink()
    paths[1].write_bytes(b"damaged")
    assert len(check_safe(report.html(run)).all("img")) == 3 + 4 + 2


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\nbroken", b"\xff\xd8\xff\xe0half", b"\xff\xfe"])
def test_blobs_that_are_no_pictures_are_left_out(build: Build, content: bytes) -> None:
    builder = build()
    builder.baseline(kept=0)
    builder.finding("it is on a flower.", 6, 8, content=lambda _: content)
    assert not check_safe(report.html(builder.finish())).all("img")


def test_text_inputs_are_shown_as_text(build: Build) -> None:
    builder = build()
    builder.baseline(kept=0)
    builder.finding("it is on a flower.", 1, 2, content=lambda _: f"a question {HOSTILE}".encode())
    page = check_safe(report.html(builder.finish()))
    assert page.all("blockquote")
    assert "a question <script>" in page.text


def test_large_pictures_become_small() -> None:
    file = io.BytesIO()
    Image.effect_noise((900, 600), 80).convert("RGB").save(file, format="PNG")
    uri, small = data_uri(file.getvalue())
    assert not small
    head, _, body = uri.partition(",")
    assert head == "data:image/jpeg;base64"
    with Image.open(io.BytesIO(base64.b64decode(body))) as shown:
        assert shown.size == (160, 107)
    assert len(uri) < 40_000


def test_a_huge_picture_is_not_decoded() -> None:
    file = io.BytesIO()
    Image.new("1", (8_000, 8_000)).save(file, format="PNG")
    assert data_uri(file.getvalue()) == ("", False)


def test_many_findings_stay_below_five_megabytes(build: Build) -> None:
    builder = build()
    builder.baseline(kept=0)
    pictures = [builder.picture(seed, 200) for seed in range(18)]
    for i in range(30):
        builder.finding(f"it is number {i}.", 12, 18, content=lambda i: pictures[i % 18])
    page = check_safe(report.html(builder.finish()))
    assert len(page.all("article")) == 24
    assert "it is number 29" in page.text


# -- hostile words ------------------------------------------------------------------------------------


@pytest.fixture
def hostile(build: Build) -> Run:
    """A run in which every word is against us."""
    settings = dict.fromkeys(("label", "target", "source", "judge"), HOSTILE)
    builder = build(**settings, extra={HOSTILE: HOSTILE})
    builder.baseline(caption=HOSTILE, wrong=HOSTILE, errors=2, detail=HOSTILE)
    builder.finding(HOSTILE, 8, 10, wrong=HOSTILE, caption=HOSTILE)
    builder.finding(f"other {HOSTILE}", 8, 10, wrong="", caption="")
    builder.finding(f"candidate {HOSTILE}", 8, 10, confirmed=False)
    run: Run = builder.finish(f"stopped: broken: {HOSTILE}")
    return run


def test_hostile_words_do_nothing(hostile: Run) -> None:
    page = check_safe(report.html(hostile))
    assert "<script>alert(1)</script>" in page.text  # shown as words
    assert "‹U+202E›" in page.text
    assert "{{ 7*7 }}" in page.text


def test_hostile_words_in_markdown(hostile: Run) -> None:
    text = report.markdown(hostile)
    outside = re.sub(r"(`+)(?:(?!\1).)*\1", "", text, flags=re.S)
    assert "<script" not in outside.replace("\\<", "")
    assert "://" not in outside
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_markdown_escape() -> None:
    assert escape("a|b `c` <b> *d* [e](f) _g_") == r"a\|b \`c\` \<b\> \*d\* \[e\](f) \_g\_"
    assert escape("one\ntwo\r\n| three") == r"one two \| three"
    assert escape("www.evil.example @you") == r"www\.evil.example \@you"
    assert escape("it is on a flower.") == "it is on a flower."


def test_pipes_do_not_break_tables(build: Build) -> None:
    builder = build()
    builder.baseline()
    builder.finding("a | b ` c", 63, 100, wrong="x|y")
    text = report.markdown(builder.finish())
    row = next(line for line in text.splitlines() if line.startswith("| 1 |"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 8


def test_a_megabyte_of_text_is_cut_with_a_note(build: Build) -> None:
    long = "long " * 200_000
    builder = build(label=long)
    builder.baseline(2, 4, caption=long, wrong=long, errors=1, detail=long)
    builder.finding(long, 2, 3, wrong=long, caption=long)
    run = builder.finish()
    text = report.html(run)
    assert len(text) < 200_000
    assert "(cut; 1,000,000 characters)" in check_safe(text).text
    assert len(report.markdown(run)) < 50_000


# -- the way back -------------------------------------------------------------------------------------


def test_the_command_repeats_the_run(build: Build) -> None:
    label = 'it\'s a "fly"; rm -rf ~'
    run = build(label=label, judge="label?top=3", fdr=0.01, target_label="bee").run
    assert shlex.split(report.command_of(run)) == [
        *("weakspot", "hunt", "world:classifier", "--label", label, "--target-label", "bee"),
        *("--source", "world:renderer", "--judge", "label?top=3", "--seed", "7", "--budget", "images=20000"),
        *("--fdr", "0.01"),
    ]
    compile(report.python_of(run), "python", "exec")


def test_objects_without_names_have_no_command(build: Build) -> None:
    assert report.command_of(build(target="object:mine.Model").run) == ""


def test_failing_cases_can_be_drawn_again(build: Build) -> None:
    builder = build()
    builder.baseline()
    found = builder.finding("it's on a 'flower'.", 3, 5)
    listing = Listing(builder.finish())
    asked: dict[str, Any] = {}

    class Source:
        def draw(self, hypothesis: Any, indices: Any, *, seed: int) -> list[Any]:
            asked.update(id=hypothesis.id, indices=indices, seed=seed)
            return []

    lines = redraw(listing, found.hypothesis, found.failing, "fly").split("\n")
    namespace: dict[str, Any] = {"source": Source()}
    exec(lines[0] + "\n" + lines[2], namespace)
    assert asked == {"id": found.hypothesis.id, "indices": list(found.failing), "seed": 7}


@pytest.mark.parametrize(
    ("phrase", "clause"),
    [
        ("it is on a flower.", "when it is on a flower"),
        ("It is on a flower. it is night.", "when it is on a flower and it is night"),
        ("a photo of a fly.", "given “a photo of a fly”"),
        ("", "given “”"),
    ],
)
def test_when(phrase: str, clause: str) -> None:
    assert when(phrase) == clause
