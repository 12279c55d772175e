"""Lines of a hunt on a terminal: the usual rates, and what the second opinion made of the pictures."""

from __future__ import annotations

from collections.abc import Iterable

from weakspot.report import format as show
from weakspot.studies.hunt.listing import Listing


def usual(hunt: Listing, wide: int) -> Iterable[str]:
    """The baseline's rate and words, or the rates of several labels."""
    if hunt.base is not None and hunt.base.rate.n:
        text = f"{show.rate(hunt.base.rate)}: {show.shorten(hunt.base.hypothesis.text, 300)}"
        yield from show.wrapped("baseline", text, wide)
    known = sorted((b for b in hunt.bases if b.tally.n), key=lambda b: -b.rate.value)
    if hunt.labels and known:
        worst = "; ".join(f"{show.cut(b.label, 30)} {show.rate(b.rate)}" for b in known[:3])
        rest = f" … {show.percent(known[-1].rate.value)}" if len(known) > 3 else ""
        several = show.plural(len(hunt.labels), "label")
        yield from show.wrapped("baseline", f"{several}: {worst}{rest}", wide)


def checked(hunt: Listing, wide: int) -> Iterable[str]:
    """How the source errs, and the rates without the second opinion."""
    own = hunt.invalid
    if own is None:
        return
    whole = [show.rate(f.unchecked or f.rate) for f in hunt.confirmed[:3]]
    base = hunt.bases[0].unchecked if len(hunt.bases) == 1 else None
    parts = [f"baseline {show.rate(base)}"] if base is not None else []
    parts += [f"findings {', '.join(whole)}{' …' if len(hunt.confirmed) > 3 else ''}"] if whole else []
    doubt = "plain images do not show the label, according to the second opinion"
    yield from show.wrapped("checked", f"{show.rate(own)} {doubt}", wide)
    if parts:
        yield from show.wrapped("", "without the check: " + "; ".join(parts), wide)
