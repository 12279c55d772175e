"""Edited texts as cases, and texts as they come: shipped, lines of JSON, a folder; bad ones are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from weakspot.concepts.space import load_space, space_from
from weakspot.core import Stage, WeakspotError
from weakspot.sources.documents import DRAWS, EditedTexts, documents
from weakspot.testing import check_source
from weakspot.text.text_edits import edit

SPACE = load_space("text-16")
AMOUNTS = space_from(
    {
        "name": "typos",
        "task": "text",
        "axes": [
            {"name": "edit", "values": ["mistype characters", "swap characters"], "metric": "categorical"},
            {"name": "amount", "values": [0.02, 0.2]},
        ],
    }
)


def source(space: object = SPACE) -> EditedTexts:
    parts = {Stage.EXPLORE: range(5), Stage.CONFIRM: range(5, 12)}
    return EditedTexts(documents(), space=space, parts=parts)  # type: ignore[arg-type]


@pytest.mark.parametrize("cell", [0, 4, 14, 15])
def test_it_is_a_source(cell: int) -> None:
    check_source(source(), SPACE.hypothesis(cell))
    check_source(source(), SPACE.outside())
    check_source(source(), SPACE.hypothesis(((1, 2, 5),)))


def test_a_round_shows_every_text_of_its_part_once_and_no_other() -> None:
    texts, drawn = documents(), source()
    for stage, own in ((Stage.EXPLORE, range(5)), (Stage.CONFIRM, range(5, 12))):
        for round_ in (0, 3):
            at = stage.start + round_ * len(own)
            cases = drawn.draw(SPACE.hypothesis(2), range(at, at + len(own)), seed=1)
            assert {c.expected for c in cases} == {texts.summaries[i] for i in own}
            assert {c.input for c in cases} == {texts.texts[i].lower() for i in own}
    for stage in (Stage.EXPLORE, Stage.CONFIRM):
        assert drawn.available(SPACE.hypothesis(0), seed=0, stage=stage) >= DRAWS
    with pytest.raises(WeakspotError, match="no more draws"):
        drawn.draw(SPACE.hypothesis(0), [drawn.inputs], seed=0)


def test_the_baseline_is_the_texts_as_they_are() -> None:
    cases = source().draw(SPACE.outside(), range(5), seed=2)
    assert {c.input for c in cases} == set(documents().texts[:5])


def test_an_amount_is_the_share_that_is_edited() -> None:
    drawn = source(AMOUNTS)
    little, much = (drawn.draw(AMOUNTS.hypothesis(i), range(5), seed=0) for i in (0, 1))

    def typos(cases: list) -> int:
        by_summary = dict(zip(documents().summaries, documents().texts, strict=True))
        return sum(a != b for c in cases for a, b in zip(by_summary[c.expected], c.input, strict=True))

    assert 5 * typos(little) < typos(much)
    assert little[0].input == edit(
        dict(zip(documents().summaries, documents().texts, strict=True))[little[0].expected],
        "mistype characters",
        seed=little[0].seed,
        share=0.02,
    )


def test_a_policy_sees_the_text_and_chooses_it() -> None:
    drawn = source()
    seen = drawn.contexts([0, 1, 5])
    assert seen.shape[0] == 3
    assert seen.min() >= 0
    assert seen.max() <= 1
    assert np.array_equal(seen[0], seen[2])  # the fifth input is the first text again
    chosen = SPACE.hypothesis(2, policy="dqn")
    drawn.place(chosen, 0, 3)
    [case] = drawn.draw(chosen, [0], seed=0)
    assert case.input == documents().texts[3].lower()


@pytest.mark.parametrize(
    ("axes", "what"),
    [
        ([{"name": "edit", "values": ["tense", "tens"]}], "no edit is called"),
        ([{"name": "shout", "values": ["a", "b"]}], "has the axes shout"),
        (
            [{"name": "edit", "values": ["tense", "negate"]}, {"name": "amount", "values": [0, 1]}],
            "an amount",
        ),
    ],
)
def test_spaces_that_no_text_knows_are_refused(axes: list[dict[str, object]], what: str) -> None:
    with pytest.raises(WeakspotError, match=what):
        source(space_from({"name": "own", "task": "text", "axes": axes}))


def test_what_ships_is_whole() -> None:
    texts = documents()
    assert len(texts) == len(set(texts.digests)) == 20
    for text, summary in zip(texts.texts, texts.summaries, strict=True):
        assert len(summary) < len(text) / 2


def test_lines_and_folders_are_read(tmp_path: Path) -> None:
    rows = [{"article": "A long text.", "highlights": "Short.", "id": "x"}, {"text": "B.", "summary": "C."}]
    (tmp_path / "set.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    texts = documents(str(tmp_path / "set.jsonl"))
    assert texts.names == ("x", "2")
    assert texts.texts[0] == "A long text."
    assert texts.summaries[1] == "C."
    (tmp_path / "one.txt").write_text("Text one.")
    (tmp_path / "one.summary.txt").write_text("One.")
    assert documents(str(tmp_path)).summaries == ("One.",)
    assert documents(str(tmp_path)).digest != texts.digest


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "there are no texts"),
        ("{", "not lines of JSON"),
        ("[1]", "is not a JSON object"),
        ('{"text": "a"}', "has no summary"),
        ('{"text": "", "summary": "b"}', "has no text"),
        ('{"text": 3, "summary": "b"}', "has no text"),
        ('{"text": "a", "summary": "b", "name": "x"}\n' * 2, "the same name"),
    ],
)
def test_bad_lines_are_refused(tmp_path: Path, content: str, what: str) -> None:
    (tmp_path / "set.jsonl").write_text(content)
    with pytest.raises(WeakspotError, match=what):
        documents(str(tmp_path / "set.jsonl"))


def test_missing_files_and_summaries_are_told(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="cannot be read"):
        documents(str(tmp_path / "none.jsonl"))
    (tmp_path / "one.txt").write_text("Text.")
    with pytest.raises(WeakspotError, match="has no summary"):
        documents(str(tmp_path))
    (tmp_path / "one.summary.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(WeakspotError, match="not UTF-8"):
        documents(str(tmp_path))
