"""Truth on real data: failures planted on real tables, and real ones that fresh rows judge."""

from weakspot.bench.real.compare import METHODS, RealResult, run
from weakspot.bench.real.methods import Rival, Said, Slices

__all__ = ["METHODS", "RealResult", "Rival", "Said", "Slices", "run"]
