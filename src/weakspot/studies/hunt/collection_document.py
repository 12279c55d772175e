"""How a hunt in a collection is told: as any hunt, without a race, and with what was not found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from weakspot.report import format as show
from weakspot.report.document import (
    Allowance,
    Block,
    Pictures,
    Section,
    Table,
    Text,
    Tile,
    examples,
    pairs,
)
from weakspot.store import Run
from weakspot.studies.hunt import cards
from weakspot.studies.hunt.cards import CARDS
from weakspot.studies.hunt.document import SKIPPED, HuntDocument
from weakspot.studies.hunt.listing import cases, misread, usual_rates
from weakspot.studies.hunt.result import CollectionRead


def document(run: Run) -> HuntDocument:
    """What tells a hunt, by where its pictures came from."""
    found = HuntDocument(run)
    return found if found.hunt.result.collection is None else CollectionDocument(run)


class CollectionDocument(HuntDocument):
    """See `Document`."""

    drawn = "photographs"

    @property
    def collection(self) -> CollectionRead:
        """What was read; a document of this kind is made only where it is there."""
        return self.hunt.result.collection or CollectionRead(photographs=0, sizes=())

    @property
    def asked(self) -> int:
        """How many photographs were asked about."""
        return self.hunt.trials.drawn

    @property
    def beyond(self) -> str:
        """What the photographs exclude."""
        trials = self.hunt.trials
        if trials.n and trials.failures == trials.n:
            return "Every photograph is misread, so none fails more often than the others."
        return not_found(self.collection, bool(self.hunt.confirmed))

    @property
    def conclusion(self) -> str:
        hunt, state = self.hunt, self.run.state
        if not self.asked:
            return "Nothing has been asked yet."
        usual = usual_rates(hunt)
        if hunt.confirmed:
            best = hunt.confirmed[0]
            rest = f", of the other photographs {show.percent(best.baseline.value)}"
            return (
                f"{show.plural(len(hunt.confirmed), 'weak spot')} confirmed: {where(best.phrase)}, "
                f"{show.percent(best.rate.value)} of {cases(hunt, best)} {misread(hunt, best)}{rest}."
            )
        if state == "running":
            return f"Still at work: {show.count(self.asked)} photographs so far, no finding confirmed yet."
        if not hunt.trials.n:
            return "No photograph could be judged, so nothing can be said about the model."
        some = f"{usual} of {cases(hunt)} {misread(hunt)}"
        return f"No weak spot found: {some}, and nothing was shown to do worse."

    def tiles(self) -> Iterable[Tile]:  # type: ignore[override]
        """The same, with photographs for pictures, and with what could be said of them."""
        for tile in super().tiles():
            if tile.name == "images":
                yield Tile("photographs", tile.number, f"each asked once; {tile.note}")
            elif tile.name == "confirmed":
                things = f"of {show.count(self.collection.concepts)} things to say"
                yield Tile("confirmed", tile.number, things)
            elif tile.name == "baseline":
                yield Tile("usual rate", tile.number, tile.note)
            else:
                yield tile

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        """Findings, figures, tries, the second opinion, the baseline, what was not found, the method."""
        hunt = self.hunt
        yield self._weak_spots(allowance)
        if self.collection.meant:
            yield Section("What the words stand for", [*self._meant(allowance)], _STANDING)
        if hunt.tries:
            yield Section("Tried by a person", [cards.tries(hunt, allowance, listed=SKIPPED)])
        if (own := hunt.invalid) is not None:
            yield Section("Second opinion", [self._with_and_without()], self._checked(own))
        yield from self._usual(allowance)
        yield Section("What was looked at and not found", [Text(self.beyond)])
        text = f"{_METHOD} {_RANKED}" if self.collection.tags else _METHOD
        method: list[Block] = [Text(text), pairs(measured(self.collection, self.asked))]
        yield Section("How it was measured", method)
        if skipped := hunt.result.skipped:
            rows = [(one.name, one.reason) for one in skipped[:SKIPPED]]
            table = Table("", "", ("file", "why"), rows, max(0, len(skipped) - SKIPPED))
            yield Section("Files that could not be used", [table])

    def _weak_spots(self, allowance: Allowance) -> Section:
        hunt = self.hunt
        if not hunt.confirmed:
            text = "None was confirmed." if self.run.state != "running" else "None confirmed yet."
            return Section("Weak spots", [Text(text, empty=True)])
        blocks: list[Block] = [cards.findings(hunt, allowance, again=self.again)]
        if further := hunt.confirmed[CARDS:]:
            blocks.append(self._table("Further confirmed findings", further, start=CARDS + 1))
        return Section("Weak spots", blocks, _FOUND)

    def _meant(self, allowance: Allowance) -> Iterator[Block]:
        """For each finding in the encoder's words, photographs that look most like it, and at the edge."""
        hunt = self.hunt
        meant = {one.finding: one for one in self.collection.meant}
        for finding in hunt.confirmed:
            if (one := meant.get(finding.hypothesis.id)) is None:
                continue
            note = f"The first {len(one.typical)} look most like it, the last {len(one.edge)} only just."
            if one.trust is not None:
                note += f" By captions: {ranked(one.trust)}."
            indices = (*one.typical, *one.edge)
            shown = examples(hunt.run, finding.hypothesis, indices, most=len(indices), allowance=allowance)
            cases = pairs([("cases", ", ".join(map(str, indices)))])
            yield Text(note)
            yield Pictures(f"{hunt.place(finding)}. “{one.word}”", "", shown, "meant", cases)

    def values(self) -> Mapping[str, Any]:
        """Everything that was measured."""
        return {**super().values(), "collection": {**self.collection.plain(), "asked": self.asked}}

    def lines(self, wide: int) -> Iterable[str]:
        """As of any hunt; what was asked, and what was not found."""
        for line in super().lines(wide):
            if line.startswith("trials "):
                yield f"asked    {show.cut(asked_once(self.collection, self.asked), wide - 9)}"
                rest = line.split(" · ", 1)
                yield f"trials   {rest[1] if len(rest) > 1 else line.removeprefix('trials').strip()}"
            elif "confirmed on fresh images" in line:
                tested = "confirmed by photographs that did not suggest it"
                if len(self.hunt.confirmed) != 1:
                    tested = "confirmed by photographs that did not suggest them"
                yield line.replace("confirmed on fresh images", tested)
            else:
                yield line
        yield from show.wrapped("beyond", self.beyond, wide)


def where(phrase: str) -> str:
    """A finding as a clause: "where the caption says “snow”", "where it looks like “snow” (nearest 5 %)"."""
    said = show.shorten(phrase, 160)
    return f"where the caption says {said}" if phrase.startswith(("“", "any ")) else f"where {said}"


def asked_once(read: CollectionRead, asked: int) -> str:
    """How many photographs there are, and how many were asked about."""
    there = show.plural(read.photographs, "photograph")
    if asked == read.photographs:
        return f"{there}, each asked once"
    return f"{show.count(asked)} of {there}, chosen at random, each asked once"


def not_found(read: CollectionRead, found: bool) -> str:
    """What the collection excludes."""
    if read.bound is None:
        return "No word or group is true of enough photographs to say what else could be weak."
    bound = read.bound
    among = "Among the photographs that no finding speaks of, " if found else ""
    if read.tags:
        text = (
            f"{among}none of {show.count(bound.concepts)} words and groups that look alike fails more often "
            f"than {show.percent(bound.rate)} of the time (at 95 %; of a word, its nearest tenth counts)."
        )
        return text[0].upper() + text[1:]
    other = f"{among}nothing" if found else "Nothing"
    least, looked = show.plural(bound.photographs, "photograph"), show.count(bound.concepts)
    most = f"fails more often than {show.percent(bound.rate)} of the time"
    return f"{other} that is true of at least {least} {most} (at 95 %; {looked} things were looked at)."


def measured(read: CollectionRead, asked: int) -> Iterator[tuple[str, str]]:
    """The figures of the method."""
    yield "photographs", asked_once(read, asked)
    if read.captioned:
        yield "captions", f"of {show.plural(read.captioned, 'photograph')}, as the annotations say"
    if read.looked:
        yield "captions by the captioner", f"of {show.plural(read.looked, 'photograph')}"
    if read.tags:
        yield "seen by the encoder", f"{show.plural(read.tags, 'word')}, each of which ranks the photographs"
        yield "how well it sees", checked(read)
    yield "things to say", show.count(read.concepts)
    if not read.wider:
        yield "wider nouns", "none: WordNet is not on this machine (apt-get install wordnet-base)"
    yield (
        "intervals",
        "of 95 %, for the photographs of this collection; the low end of a finding's rate is that of 99.5 %, "
        "since it was picked for failing often",
    )


def checked(read: CollectionRead) -> str:
    """How far the encoder's words can be trusted."""
    if read.right is None:
        return "unknown: no caption can check a word. Look at the photographs that the words stand for"
    words = show.plural(read.checked, "word")
    rest = f"{words} checked by captions, {show.count(read.refuted)} of them dropped"
    return f"{rest}; the median word: {ranked(read.right)}"


def ranked(right: float) -> str:
    """What it means that a word ranks so many pairs rightly."""
    return (
        f"of two photographs, one captioned with the word and one not, it ranks the right one first "
        f"{show.percent(right)} of the time (chance: 50 %)"
    )


_STANDING: Final = (
    "Nobody described these photographs. The encoder ranked them by how much they look like a word, "
    "and it makes mistakes. These pictures show what it takes the word to mean; if they show "
    "something else, trust the pictures."
)
_FOUND: Final = (
    "What is true of photographs that are misread more often than the others. The photographs of each rate "
    "took no part in suggesting it. The baseline of a finding is the other photographs of that half."
)
_METHOD: Final = (
    "The classifier was asked about each photograph once. The photographs were split into two halves at "
    "random. Each half suggested the fewest statements that explain its failures; the other half tested "
    "them, against all its other photographs and against those that are alike in what earlier findings "
    "say. Both lists together hold the false-discovery rate. A rate is estimated from the half that did "
    "not suggest the finding, for all photographs of the collection that it is true of."
)
_RANKED: Final = (
    "Each half also chose how far down the encoder's ranks a word is said; "
    "the other half was not looked at for that."
)
