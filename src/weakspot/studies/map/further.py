"""What only some maps have to tell: whether an agent learned, and how biased a generator is."""

from __future__ import annotations

from weakspot.report import format as show
from weakspot.report.document import Section, Table
from weakspot.studies.map.result import BiasFound, BiasRow, Compared


def apart(row: BiasRow) -> str:
    return f"{show.percent(row.apart)} {show.interval(row.low, row.high)}"


def learnt(compared: Compared) -> str:
    """Whether the agent learned, and how that was seen."""
    said = "won against both beyond chance" if compared.won else "did not win beyond chance"
    shown = show.plural(compared.inputs, "input")
    how = f"Inputs cannot be chosen here: {shown} were newly drawn for each of the three."
    if compared.paired:
        how = f"All three were shown the same {shown}, which no training saw, each once."
    sees = "The agent sees nothing of an input: it can learn which cells fail, not for which input."
    if compared.sees:
        sees = f"Before it chooses, the agent sees {compared.sees}."
    return f"{compared.agent} {said}. {how} {sees}"


def arms(compared: Compared) -> Table:
    rows = [
        (compared.agent, show.rate(compared.rates["trained"]), ""),
        ("its untrained copy", show.rate(compared.rates["untrained"]), f"{compared.p_untrained:.2g}"),
        ("random cells", show.rate(compared.rates["random"]), f"{compared.p_random:.2g}"),
    ]
    return Table("Did the agent learn?", "", ("who", "failures per query", "p-value of ‘no better’"), rows)


def bias_section(bias: BiasFound) -> Section:
    values = [show.shorten(value, 60) for value in bias.attribute]
    wanted = ", ".join(f"{v} {show.percent(w)}" for v, w in zip(values, bias.wanted, strict=True))
    rows = []
    for row in bias.rows:
        shares = (show.percent(count / row.n) for count in row.counts)
        rows.append((show.shorten(row.where, 200), *shares, show.count(row.n), apart(row)))
    note = (
        f"How often each value is seen, all cells alike; wanted are {wanted}. The distance is the total "
        "variation from these shares: 0 if they are met, at most 1."
    )
    return Section("Bias", [Table("", "", ("where", *values, "pictures", "distance"), rows)], note)
