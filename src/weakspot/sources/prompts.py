"""The words for a label: what a head calls "n02123045 tabby, tabby cat" is drawn as "a tabby (domestic cat)".

The head's own name stays the key everywhere; only prompts use the cleaned words. The parent, which tells
homonyms apart, comes from a labels file, from the classifier itself or from WordNet.

A labels file says a name, its parent and its WordNet id, as far as they are known. CSV and TSV with columns
in that order or with a header; JSON and JSON lines with objects, or an object from names to parents, or
ImageNet's usual `{"0": ["n01440764", "tench"]}`; any other file has one label a line, or ImageNet's
"n01440764 tench, Tinca tinca".
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Any, Final, NamedTuple

from weakspot.core import WeakspotError, nearest
from weakspot.core.errors import explained
from weakspot.sources.folder import read_text
from weakspot.text.wordnet import AmbiguousLabel, LabelParts, Sense, UnknownWord, WordNet

#: What the columns of a header, or the keys of an object, may be called; in lower case.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("name", "label", "class"),
    "parent": ("parent", "superclass", "hypernym"),
    "wordnet": ("wordnet", "wnid", "wordnet_id", "wordnet id", "synset", "id"),
}
#: No list of labels is larger. (ImageNet's 21,841 with all their names are 1 MB.)
LARGEST: Final = 1 << 26
_ID: Final = re.compile(r"n\d{8}", re.ASCII)
_LISTED: Final = re.compile(r"(n[0-9]{8})[ \t]+(\S.*)")


class LabelRow(NamedTuple):
    """One label of a file; what it does not say is ""."""

    name: str
    parent: str = ""
    wordnet: str = ""


def read_label_file(path: str | Path) -> list[LabelRow]:
    path = Path(path)
    kind = path.suffix.lower()
    # A path with a NUL, and bytes that are not UTF-8, are ValueErrors.
    what = f"the labels file {str(path)[:200]!r} cannot be read"
    with explained(what, OSError, ValueError, fix="name a file in UTF-8"):
        if path.exists() and not path.is_file():
            raise OSError("it is not a file")
        text = read_text(path, most=LARGEST)
    entries: list[Any]
    what, broken = f"the labels file {path} cannot be read", (ValueError, RecursionError, csv.Error)
    fix = "write name, parent and WordNet id in columns, or one label a line in a .txt"
    with explained(what, *broken, fix=fix):
        if kind == ".json":
            entries = list(_json_entries(json.loads(text)))
        elif kind in (".jsonl", ".ndjson"):
            entries = [json.loads(line) for line in text.splitlines() if line.strip()]
        elif kind in (".csv", ".tsv", ".tab") or "\t" in text:
            entries = _columns(csv.reader(text.splitlines(), delimiter="," if kind == ".csv" else "\t"))
        else:  # a label a line; where all begin with an id, as ImageNet's synset lists do, id and name
            entries = [line.strip() for line in text.splitlines() if line.strip()]
            listed = [_LISTED.fullmatch(line) for line in entries]
            entries = [list(found.groups()) for found in listed if found] if all(listed) else entries
    if not entries:
        raise WeakspotError(f"the labels file {path} has no labels", fix="one label a line will do")
    return [_row(entry, f"entry {i} of the labels file {path}") for i, entry in enumerate(entries, start=1)]


def _json_entries(data: Any) -> Iterator[Any]:
    if isinstance(data, list):
        yield from data
    elif isinstance(data, dict):
        numbered = all(key.isdecimal() for key in data)
        for key, value in data.items():
            if isinstance(value, list):  # ["n01440764", "tench"]
                yield value
            elif isinstance(value, dict):
                yield value if numbered else {"name": key, **value}
            else:
                yield value if numbered else {"name": key, "parent": value}
    else:
        raise ValueError("it holds neither a list nor an object")


def _columns(table: Iterable[list[str]]) -> list[Any]:
    """Rows as lists, or as objects if the first is a header. Blank rows are passed over."""
    rows = [row for row in table if any(cell.strip() for cell in row)]
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    if not set(header) & set(COLUMNS["name"]):
        return rows
    return [dict(zip(header, row, strict=False)) for row in rows[1:]]


def _row(entry: Any, where: str) -> LabelRow:
    if isinstance(entry, str):
        entry = [entry]
    if isinstance(entry, list):
        # The id may stand first, where ImageNet's lists have it.
        ids = [cell for cell in entry if isinstance(cell, str) and _ID.fullmatch(cell.strip())]
        rest = [cell for cell in entry if cell not in ids] or ids
        if len(rest) > 2:
            raise WeakspotError(f"{where} has {len(entry)} columns", fix="write name, parent, WordNet id")
        entry = dict(zip(("name", "parent"), rest, strict=False)) | ({"wordnet": ids[0]} if ids else {})
    if not isinstance(entry, dict):
        raise WeakspotError(f"{where} is not a label: {str(entry)[:80]!r}", fix="write a name or an object")
    keys = {str(key).strip().lower(): value for key, value in entry.items()}
    values = {}
    for field, names in COLUMNS.items():
        value = next((keys[name] for name in names if name in keys and keys[name] is not None), "")
        if not isinstance(value, str):
            raise WeakspotError(f"{where} has the {field} {str(value)[:80]!r}", fix="write it as text")
        values[field] = value.strip()
    if not values["name"]:
        raise WeakspotError(f"{where} has no name", fix=f"give it one, as {' or '.join(COLUMNS['name'])}")
    if values["wordnet"] and not _ID.fullmatch(values["wordnet"]):
        raise WeakspotError(
            f"{where} has the WordNet id {values['wordnet'][:80]!r}",
            fix="write n and eight digits: n02123394",
        )
    return LabelRow(**values)


#: The baseline's words in Wiles, Albuquerque and Gowal (2022).
TEMPLATE: Final = "a realistic photograph of a {label} ({parent})."
FIELDS: Final = ("label", "parent")
_BRACKETED_PARENT: Final = re.compile(r"\s*(?:\(\{parent\}\)|\[\{parent\}\])")
_ARTICLE: Final = re.compile(r"\b([Aa])n?(\s+)\{(label|parent)\}")
#: Words that begin with a vowel's letter and another sound (a unicycle, a European), and the reverse.
_A: Final = re.compile(r"(?:uni[cfoqstv]|u[bcfhjkqrst][aeiou]|eu|ewe|one\b|once\b)", re.IGNORECASE)
_AN: Final = re.compile(r"(?:[aeiou]|hour|heir|honest|honou?r)", re.IGNORECASE)
#: Letters that are spoken one by one: an SUV, an MP3 player, an X-ray, a U-boat.
_SPELT: Final = re.compile(r"[A-Z](?:[A-Z0-9]+\b|-)|[a-z]-")
#: "crane.5" chooses a meaning, and is spoken without the number.
_NUMBER: Final = re.compile(r"(?<=\w)\.\d{1,3}$", re.ASCII)


class LabelWords(NamedTuple):
    """What is said of a label: its words, its wider class and its id in WordNet, or "" for these two."""

    words: str
    parent: str = ""
    wordnet: str = ""


def base_prompt(label: str, parent: str = "", *, template: str = TEMPLATE) -> str:
    """The plain prompt of a label, as the head has it or as it is spoken.

    Without a parent, its wider class, "({parent})" is left out of the template with its brackets. "a" before
    a field becomes "an" where it must.
    """
    check_template(template)
    values = {"label": spoken(label), "parent": _plain(parent) or LabelParts.of(label).hint}
    if not values["label"]:
        raise WeakspotError("the label is empty", fix="name the label whose failures are hunted")
    if not values["parent"]:
        template = _BRACKETED_PARENT.sub("", template)
        if "parent" in _fields(template):
            raise WeakspotError(
                f"the prompt {template[:80]!r} needs a parent, but no parent of {values['label'][:80]!r} is "
                "known",
                fix="put it in brackets, ({parent}), to leave it out; or give a labels file with parents",
            )

    def article(found: re.Match[str]) -> str:
        a, space, field = found.groups()
        return f"{a}{'n' if takes_an(values[field]) else ''}{space}{{{field}}}"

    return _ARTICLE.sub(article, template).format(**values)


def check_template(template: str) -> None:
    """Refuse a prompt that has no place for the label, or places for what nobody fills in."""
    fields = _fields(template)
    known = "{" + "}, {".join(FIELDS) + "}"
    if wrong := [field for field in fields if field not in FIELDS]:
        raise WeakspotError(
            f"the prompt {template[:80]!r} has an unknown field {{{wrong[0][:80]}}}",
            fix=f"{nearest(wrong[0], FIELDS)} the known ones are {known}".strip(),
        )
    if "label" not in fields:
        raise WeakspotError(
            f"the prompt {template[:80]!r} has no place for the label",
            fix=f"write e.g. {TEMPLATE!r}; the known fields are {known}",
        )


def spoken(label: str) -> str:
    """The words of a label in a prompt: the first of its names, without id, brackets and underscores."""
    parts = LabelParts.of(_plain(label))
    return next(iter(parts.names), parts.id or _plain(label))


def takes_an(noun: str) -> bool:
    if _SPELT.match(noun):
        return noun[0].lower() in "aefhilmnorsx"
    return _AN.match(noun) is not None and _A.match(noun) is None


def parents_of(labels: Iterable[str], **known: Any) -> dict[str, str]:
    """The parents of those labels that have one known; see `words_of`."""
    return {label: said.parent for label, said in words_of(labels, **known).items() if said.parent}


def words_of(
    labels: Iterable[str],
    *,
    known: Mapping[str, str] | None = None,
    file: str | Path | None = None,
    wordnet: WordNet | None = None,
    senses: Mapping[str, str] | None = None,
    strict: bool = True,
) -> dict[str, LabelWords]:
    """Name, parent and WordNet id of each label, by the label as the head has it.

    Args:
        known: The classifier's own `parents`.
        file: A labels file, whose names may be the head's, or cleaned, or ids. What it says goes before what
            the classifier knows; WordNet comes last.
        wordnet: Where to look for what is still unknown.
        senses: By label, which of its meanings is meant; see `WordNet.choose`.
        strict: A label without a parent and with several meanings is an error. Otherwise nothing is said.
    """
    labels = list(labels)
    rows = {} if file is None else _rows_of(labels, Path(file), strict=strict)
    found = {}
    for label in labels:
        parts, row = LabelParts.of(label), rows.get(label, LabelRow(""))
        parent = row.parent or (known or {}).get(label, "") or parts.hint
        id, words = row.wordnet or parts.id, spoken(label)
        if wordnet is not None:
            sense = _sense(wordnet, label, id, (senses or {}).get(label), strict=strict and not parent)
            above = wordnet.parent(sense) if sense else None
            parent = parent or (above.name if above else "")
            id = sense.id if sense else id
            if sense:
                words = _NUMBER.sub("", words) if parts.names else sense.name
        if row.name and not parts.names:
            words = spoken(row.name)
        found[label] = LabelWords(words, _plain(parent), id)
    return found


def _sense(wordnet: WordNet, label: str, id: str, choice: str | None, *, strict: bool) -> Sense | None:
    if id and choice is None:
        return wordnet.sense_of_id(id)
    try:
        return wordnet.choose(label, choice)
    except (UnknownWord, AmbiguousLabel) as error:
        if choice is not None or (strict and isinstance(error, AmbiguousLabel)):
            raise
        return None


def _rows_of(labels: list[str], file: Path, *, strict: bool) -> dict[str, LabelRow]:
    """Which row of a file speaks of each label: by the very name, by the id, or by the spoken name."""
    rows = read_label_file(file)
    rows = [row._replace(wordnet=row.wordnet or LabelParts.of(row.name).id) for row in rows]
    by: dict[str, set[LabelRow]] = {}
    for row in rows:
        for key in {f"name {row.name}", f"id {row.wordnet}", f"spoken {spoken(row.name).lower()}"}:
            by.setdefault(key, set()).add(row)
    found = {}
    for label in labels:
        id = LabelParts.of(label).id
        keys = (f"name {label}", *([f"id {id}"] if id else []), f"spoken {spoken(label).lower()}")
        fitting = next((by[key] for key in keys if key in by), set())
        if len(fitting) == 1:
            [found[label]] = fitting
        elif fitting and strict:
            one, other, *_ = sorted(fitting)
            raise WeakspotError(
                f"the labels file {file} has {label[:80]!r} twice: {_cells(one)}; {_cells(other)}",
                fix="leave one out, or name both by their WordNet ids",
            )
    if labels and not found and strict:
        raise WeakspotError(
            f"the labels file {file} does not have {labels[0][:80]!r}"
            + (f", nor any other of {len(labels):,} labels" if len(labels) > 1 else ""),
            fix=nearest(labels[0], (row.name for row in rows)) or f"its first label is {rows[0].name[:80]!r}",
        )
    return found


def _cells(row: LabelRow) -> str:
    return ", ".join(cell[:80] for cell in row if cell)


def _fields(template: str) -> list[str]:
    """The fields of a format string; one with a conversion or a format is not plain and shows as it is."""
    what, fix = f"the prompt {template[:80]!r} cannot be read", "write {{ and }} for braces themselves"
    with explained(what, ValueError, fix=fix):
        return [
            name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            for _, name, form, conversion in Formatter().parse(template)
            if name is not None
        ]


def _plain(text: str) -> str:
    return "".join(c for c in " ".join(text.split()) if c.isprintable())
