"""Names of folders and cells of tables, from labels and captions that anybody may have written."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weakspot.after.dataset import LONGEST, Record, file_names, folder_name
from weakspot.report.format import neutral

PLAIN = Record(
    label="fly", predicted="bee", phrase="it is on a flower.", caption="a fly.", prompt="a fly on a flower.",
    hypothesis="0123456789abcdef", finding=1, confirmed=True, index=4, seed=5, origin="kept", score=0.5,
    top=(("bee", 0.9),), target="world:classifier", source="world:renderer", judge="label", run="run",
    run_seed=7, licence="CC0", sha256="ab" * 32,
)  # fmt: skip


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("fly", "fly"),
        ("snow leopard", "snow_leopard"),
        ("tabby, tabby cat", "tabby__tabby_cat"),
        ("../../etc/passwd", "etc_passwd"),
        ("/", "label-8a5edab2"),
        ("..", "label-5ec1f7e7"),
        ("", "label-e3b0c442"),
        (".hidden", "hidden"),
        ("-rf", "rf"),
        ("=cmd()", "cmd"),
        ("CON", "label-a3dbc4b6"),
        ("nul.txt", None),
        ("猫", "猫"),
        ("a\x00b\nc\u202ed", "a_b_c_d"),
    ],
)
def test_a_label_as_a_folder(label: str, name: str | None) -> None:
    made = folder_name(label)
    assert made == name or name is None
    assert made.isprintable()


@given(st.text(max_size=300))
def test_any_label_is_one_harmless_folder(label: str) -> None:
    name = folder_name(label)
    assert name
    assert not set(name) & set('/\\:*?"<>|\0')
    assert not name.startswith((".", "-", "="))
    assert name.strip() == name
    assert len(name.encode()) <= LONGEST + 1
    assert name.partition(".")[0].lower() not in ("con", "nul", "aux", "prn", "com1", "lpt9")


@given(st.lists(st.text(max_size=40), min_size=1, max_size=12))
def test_different_labels_never_share_a_folder_even_on_a_disk_that_ignores_case(labels: list[str]) -> None:
    labels = [*labels, "Bee", "bee", "BEE", "a/b", "a:b"]
    names = file_names([replace(PLAIN, label=label, index=i) for i, label in enumerate(labels)])
    folders = {label: name.partition("/")[0] for label, name in zip(labels, names, strict=True)}
    assert len({folder.casefold() for folder in folders.values()}) == len(folders)
    assert len(set(names)) == len(labels)


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1", '=HYPERLINK("http://a")']
)
def test_no_cell_is_a_formula(text: str) -> None:
    assert str(neutral(text)).startswith("'")


@given(st.text(max_size=80))
def test_any_text_comes_back_from_the_table_on_one_line(text: str) -> None:
    cell = neutral(text)
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerow([cell, 1])
    assert file.getvalue().count("\n") == 1
    assert next(csv.reader([file.getvalue()])) == [cell, "1"]
    assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))


def test_numbers_stay_numbers_and_what_is_not_one_is_none() -> None:
    assert neutral(-0.5) == -0.5
    assert neutral(None) == ""
    values = replace(PLAIN, score=float("nan"), top=(("bee", float("inf")),)).values()
    assert values["score"] is None
    assert values["top"] == [{"label": "bee", "probability": None}]
