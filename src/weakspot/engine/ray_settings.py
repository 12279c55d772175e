"""`ray:ADDRESS?source=4&target=2&target_gpus=1`: how many workers of each kind, and what each may use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from weakspot.core import WeakspotError, nearest
from weakspot.core.registry import parse_name

#: The pools, in the order in which a batch passes through them.
POOLS: Final = ("source", "target", "judge")
#: What a worker of a pool may use; memory is in GB.
_USES: Final = ("cpus", "gpus", "memory")
_OF_THE_WHOLE: Final = ("ahead", "cpus", "store", "grow")


class Pool(NamedTuple):
    """One kind of worker.

    Attributes:
        workers: How many; None: as many as suit the part.
        cpus: That Ray sets aside for each.
        memory: In GB; 0 sets none aside.
    """

    workers: int | None = 1
    cpus: float = 1.0
    gpus: float = 0.0
    memory: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RaySettings:
    """What `--executor ray…` says.

    Attributes:
        address: Of a running cluster ("auto", "HOST:PORT"); "" starts a Ray of one's own on this machine.
        ahead: So many batches may be under way beyond those that workers are busy with.
        cpus: Of a Ray of one's own; None: the machine's, or what the workers ask for if that is more.
        store: MB of shared memory of a Ray of one's own.
        grow: The cluster can grow, so asking for more than it has now is no mistake.
    """

    address: str = ""
    pools: Mapping[str, Pool] = field(
        default_factory=lambda: MappingProxyType(
            {"source": Pool(None), "target": Pool(), "judge": Pool(cpus=0.0)}
        )
    )
    ahead: int = 2
    cpus: float | None = None
    store: int = 1024
    grow: bool = False

    @classmethod
    def parse(cls, text: str) -> RaySettings:
        """Read it; a wrong option is an error that names the right ones."""
        name = parse_name(text)
        if name.scheme != "ray":
            raise WeakspotError(f"no executor is called {name.scheme[:80]!r}", fix="choose local or ray")
        if name.rest.startswith("ray://"):
            raise WeakspotError(
                "Ray's client protocol (ray://) is not used here",
                fix="start weakspot on a machine of the cluster, with --executor ray:auto",
            )
        pools = dict(cls().pools)
        whole: dict[str, float] = {}
        for option, value in name.options.items():
            pool, _, use = option.partition("_")
            if option in _OF_THE_WHOLE:
                whole[option] = _number(option, value)
            elif option in POOLS:
                pools[option] = pools[option]._replace(workers=int(_number(option, value, least=1)))
            elif pool in POOLS and use in _USES:
                uses: dict[str, Any] = {use: _number(option, value)}
                pools[pool] = pools[pool]._replace(**uses)
            else:
                known = [*POOLS, *(f"{p}_{u}" for p in POOLS for u in _USES), *_OF_THE_WHOLE]
                raise WeakspotError(
                    f"the executor has no option {option[:80]!r}",
                    fix=nearest(option, known) or f"its options are: {', '.join(known)}",
                )
        return cls(
            address=name.rest,
            pools=MappingProxyType(pools),
            ahead=int(whole.get("ahead", 2)),
            cpus=whole.get("cpus"),
            store=int(whole.get("store", 1024)),
            grow=bool(whole.get("grow", 0)),
        )

    def sized(self, *, cpus: float, many: bool) -> RaySettings:
        """The same with a number of source workers where none is given.

        Args:
            cpus: Of the whole cluster.
            many: The source computes in Python, so every processor helps; else one worker is enough.
        """
        source = self.pools["source"]
        if source.workers is not None:
            return self
        others = sum((self.pools[p].workers or 1) * self.pools[p].cpus for p in POOLS[1:])
        room = int((cpus - others) / source.cpus) if source.cpus else 1
        chosen = source._replace(workers=max(1, min(room, 8)) if many else 1)
        return replace(self, pools=MappingProxyType({**self.pools, "source": chosen}))

    @property
    def asked(self) -> dict[str, float]:
        """What all workers together ask for, as Ray names it; memory in bytes."""
        pools = [(pool.workers or 1, pool) for pool in self.pools.values()]
        return {
            "CPU": sum(n * pool.cpus for n, pool in pools),
            "GPU": sum(n * pool.gpus for n, pool in pools),
            "memory": sum(n * pool.memory for n, pool in pools) * (1 << 30),
        }


def _number(option: str, value: str, *, least: float = 0) -> float:
    try:
        found = {"yes": 1.0, "no": 0.0}[value] if option == "grow" else float(value)
    except (KeyError, ValueError):
        found = math.nan
    whole = option in POOLS or option in ("ahead", "store")
    if not least <= found < 1e6 or (whole and found != int(found)):
        wanted = "yes or no" if option == "grow" else f"a {'whole ' if whole else ''}number from {least:g}"
        raise WeakspotError(f"{option} cannot be {value[:80]!r}", fix=f"give {wanted}")
    return found
