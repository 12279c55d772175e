from __future__ import annotations

import math
import subprocess

import pytest

from weakspot.core import Rate
from weakspot.report import format as show


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.63, "63 %"),
        (0.6349, "63 %"),
        (0.0112, "1.1 %"),
        (0.0032, "0.32 %"),
        (0.00034, "0.034 %"),
        (0.0996, "10 %"),
        (0.00996, "1.0 %"),
        (0.000996, "0.10 %"),
        (1e-9, "< 0.001 %"),
        (0.994, "99 %"),
        (0.996, "99.6 %"),
        (0.9996, "99.96 %"),
        (1 - 1e-9, "> 99.999 %"),
        (-0.05, "-5.0 %"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_percent(share: float, text: str) -> None:
    assert show.percent(share) == text


def test_an_upper_bound_is_rounded_upwards() -> None:
    bounds = (0.0821, 0.0820, 0.361, 0.5, 0.00123, 0.995, 1.0)
    shown = ["8.3 %", "8.2 %", "37 %", "50 %", "0.13 %", "99.5 %", "100 %"]
    assert [show.at_most(bound) for bound in bounds] == shown


def test_percent_never_rounds_to_none_or_all() -> None:
    for i in range(1, 100_000, 7):
        text = show.percent(i / 100_000)
        assert text not in ("0 %", "100 %", "0.0 %", "100.0 %")


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.59, 0.67, "[59, 67]"),
        (0.009, 0.014, "[0.9, 1.4]"),
        (0.034, 0.112, "[3, 11]"),
        (0.0, 0.0004, "[0, 0.040]"),
        (0.0002, 0.25, "[0, 25]"),
        (0.0, 1.0, "[0, 100]"),
        (0.0101, 0.0104, "[1.01, 1.04]"),
        (0.4312, 0.4338, "[43.1, 43.4]"),
        (0.5, 0.5, "[50, 50]"),
        (math.nan, 1.0, "[–]"),
    ],
)
def test_interval(low: float, high: float, text: str) -> None:
    assert show.interval(low, high) == text


def test_rate_carries_interval_and_count() -> None:
    assert show.rate(Rate(0.63, 0.59, 0.67, 1024, 645)) == "63 % [59, 67] of 1,024"
    assert show.rate(Rate(0.0, 0.0, 1.0, 0, 0)) == "– of 0"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (57.3, "57×"),
        (3.42, "3.4×"),
        (9.96, "10×"),
        (1234.0, "1,234×"),
        (0.0, "0.0×"),
        (math.inf, "∞"),
        (math.nan, "–"),
    ],
)
def test_times(ratio: float, text: str) -> None:
    assert show.times(ratio) == text


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0.0, "0.0 s"),
        (0.42, "0.4 s"),
        (41.2, "41 s"),
        (59.9, "1 min 0 s"),
        (200, "3 min 20 s"),
        (3900, "1 h 5 min"),
    ],
)
def test_seconds(duration: float, text: str) -> None:
    assert show.seconds(duration) == text


@pytest.mark.parametrize(
    ("log_evidence", "text"),
    [
        (0.0, "1.0"),
        (-9.0, "0"),
        (math.log(4500.2), "4,500"),
        (71.4, "10³¹"),
        (math.inf, "∞"),
        (-math.inf, "0"),
    ],
)
def test_e_value(log_evidence: float, text: str) -> None:
    assert show.e_value(log_evidence) == text


def test_small_words() -> None:
    assert show.count(14900) == "14,900"
    assert show.plural(1, "weak spot") == "1 weak spot"
    assert show.plural(0, "weak spot") == "0 weak spots"
    assert show.level(0.05) == "5 %"
    assert show.level(0.001) == "0.1 %"
    assert show.date("2026-11-15T20:52:00+00:00") == "15 November 2026, 20:52 UTC"
    assert show.date("yesterday") == "yesterday"


def test_clean_shows_what_would_hide() -> None:
    assert show.clean("\x1b[31mred\x1b[0m") == "‹U+001B›[31mred‹U+001B›[0m"
    assert show.clean("a\u202eb\u2066c\x00\x7f") == "a‹U+202E›b‹U+2066›c‹U+0000›‹U+007F›"
    assert show.clean("two\r\n lines\u2028three") == "two lines three"
    assert show.clean("\ud800") == "‹U+D800›"
    assert show.clean("naïve 蝿 👩\u200d🔬") == "naïve 蝿 👩\u200d🔬"


def test_shorten_says_what_it_cut() -> None:
    assert show.shorten("short", 10) == "short"
    text = show.shorten("x" * 1_000_000, 10)
    assert text == "xxxxxxxxxx… (cut; 1,000,000 characters)"


@pytest.mark.parametrize(
    "word", ["fly", "a b", "it's", "$(rm -rf /)", "`id`", "a\nb\x1b", "\u202eabc'\\", "", "蝿 \u0085x"]
)
def test_shell_words_come_back_as_they_were(word: str) -> None:
    line = show.shell(["printf", "%s", word])
    assert show.clean(line) == line
    done = subprocess.run(["bash", "-c", f"LC_ALL=C.UTF-8; {line}"], capture_output=True, check=True)
    assert done.stdout.decode() == word
