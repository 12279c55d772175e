"""The words for a label: what a head calls "n02123045 tabby, tabby cat" is drawn as "a tabby (domestic cat)".

The head's own name stays the key everywhere; only prompts use the cleaned words. The parent, which tells
homonyms apart, comes from a labels file, from the classifier itself or from WordNet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Formatter
from typing import Any, Final, NamedTuple

from weakspot.core import WeakspotError, nearest
from weakspot.sources.label_file import LabelRow, read_label_file
from weakspot.text.wordnet import AmbiguousLabel, LabelParts, Sense, UnknownWord, WordNet

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
                f"the prompt {template[:80]!r} needs a parent, and {values['label'][:80]!r} has none known",
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
    """Whether a noun is said with "an"."""
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
    """Name, parent and WordNet id of each label, by the label as it is given.

    Args:
        labels: As the head has them.
        known: The classifier's own `parents`.
        file: A labels file; see `label_file`. Its names may be the head's, or cleaned, or ids. What it
            says goes before what the classifier knows; WordNet comes last.
        wordnet: Where to look for what is still unknown.
        senses: By label, which of its meanings is meant; see `WordNet.choose`.
        strict: A label without a parent and with several meanings is an error. Otherwise nothing is said
            of it.
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
                f"the labels file {file} has {label[:80]!r} twice: {_told(one)}; {_told(other)}",
                fix="leave one out, or name both by their WordNet ids",
            )
    if labels and not found and strict:
        raise WeakspotError(
            f"the labels file {file} does not have {labels[0][:80]!r}"
            + (f", nor any other of {len(labels):,} labels" if len(labels) > 1 else ""),
            fix=nearest(labels[0], (row.name for row in rows)) or f"its first label is {rows[0].name[:80]!r}",
        )
    return found


def _told(row: LabelRow) -> str:
    return ", ".join(cell[:80] for cell in row if cell)


def _fields(template: str) -> list[str]:
    """The fields of a format string; one with a conversion or a format is not plain and shows as it is."""
    try:
        return [
            name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            for _, name, form, conversion in Formatter().parse(template)
            if name is not None
        ]
    except ValueError as error:
        raise WeakspotError(
            f"the prompt {template[:80]!r} cannot be read: {error}",
            fix="write {{ and }} for braces themselves",
        ) from None


def _plain(text: str) -> str:
    """One line of what can be printed."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())
