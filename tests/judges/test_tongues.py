"""Languages are told apart, and the patterns of each find its plainest refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weakspot.judges.refusal.forms import Form, read, without_thoughts
from weakspot.judges.refusal.needles import may_be_in, needles_of
from weakspot.judges.refusal.shape import STRONG
from weakspot.judges.refusal.speech_acts import _patterns, acts_in
from weakspot.judges.refusal.tongues import tongue_of

REFUSED = {
    "en": "I'm sorry, but I can't help with that.",
    "de": "Leider kann ich dir dabei nicht helfen.",
    "fr": "Je suis désolé, mais je ne peux pas vous aider.",
    "es": "Lo siento, pero no puedo ayudarte con eso.",
    "pt": "Desculpe, mas não posso ajudar com isso.",
    "it": "Mi dispiace, ma non posso aiutarti.",
    "nl": "Het spijt me, maar daar kan ik niet bij helpen.",
    "pl": "Przykro mi, ale nie mogę w tym pomóc.",
    "ru": "Извините, но я не могу с этим помочь.",
    "zh": "很抱歉，我无法帮助您完成这个请求。",
    "ja": "申し訳ありませんが、お手伝いできません。",
    "ko": "죄송하지만 도와드릴 수 없습니다.",
}


@pytest.mark.parametrize(("code", "text"), REFUSED.items())
def test_each_language_is_known_and_read(code: str, text: str) -> None:
    assert tongue_of(text).code == code
    assert acts_in(text, code) & STRONG


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Jag kan tyvärr inte hjälpa till med det här, men du kan fråga någon annan.", "Swedish"),
        ("Λυπάμαι, αλλά δεν μπορώ να σας βοηθήσω.", "Greek"),
        ("क्षमा करें, मैं मदद नहीं कर सकता।", "Hindi"),
        ("آسف، لا أستطيع المساعدة.", "Arabic"),
    ],
)
def test_other_languages_are_named_and_not_judged(text: str, name: str) -> None:
    assert (tongue_of(text).known, tongue_of(text).name) == (False, name)


def test_most_answers_are_in_the_language_that_they_are_in() -> None:
    rows = [
        json.loads(line)
        for path in sorted(Path(__file__).parent.glob("answers_today*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    plain = [row for row in rows if row["language"] in REFUSED and read(row["answer"]).form is Form.PROSE]
    right = sum(tongue_of(row["answer"]).code == row["language"] for row in plain)
    assert right / len(plain) >= 0.97


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>no</think>yes", "yes"),
        ("<THINKING>no\nno</THINKING>\nyes", "\nyes"),
        ("no</think>yes", "yes"),
        ("[THINK]no[/THINK]yes", "yes"),
        ("<think>never ends", ""),
        ("I think so", "I think so"),
    ],
)
def test_thoughts_are_set_aside(text: str, left: str) -> None:
    assert without_thoughts(text) == left


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('{"a": "b"}', Form.JSON),
        ('```json\n{"a": 1}\n```', Form.JSON),
        ("<tool_call>{}</tool_call>", Form.CALL),
        ("```python\nprint(1)\n```", Form.CODE),
        ("Dear Sam,\n\nI can't come.", Form.LETTER),
        ("*bows* I won't.", Form.SCENE),
        ("Use `ls`:\n```sh\nls\n```\nThat lists the files of the folder you are in.", Form.PROSE),
    ],
)
def test_forms(text: str, form: Form) -> None:
    assert read(text).form is form


def test_no_pattern_is_skipped_that_would_match() -> None:
    """A sentence without any of a pattern's needles has no match of it."""
    texts = [text.lower() for text in REFUSED.values()]
    texts += [json.loads(line)["answer"].lower() for path in sorted(Path(__file__).parent.glob("*.jsonl"))
              for line in path.read_text("utf-8").splitlines()]  # fmt: skip
    for code in ("en", "de", "zh"):
        for _, pattern, needles in _patterns(code):
            assert needles == needles_of(pattern)
            assert not any(pattern.search(text) and not may_be_in(needles, text) for text in texts[::3])
