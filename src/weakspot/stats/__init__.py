"""Pure functions on numbers: intervals, sequential tests, false-discovery control, distances.

Nothing here draws, stores or remembers. scipy is imported by the functions that need it, not before.
"""

from .contrast import fisher, mcnemar, paired_difference, sign_flip
from .distances import fid, kid, kid_interval, too_few
from .intervals import (
    Estimate,
    Interval,
    blaker,
    clopper_pearson,
    confidence_sequence,
    finite_population,
    wilson,
)
from .judged import Confusion, cohen_kappa, confusion, corrected_rate, krippendorff_alpha, rogan_gladen
from .multiple import adjusted_bh, adjusted_holm, closed_e_bh, e_bh
from .powered import Stratum, powered_rate
from .sequential import exceeds, exceeds_each, log_evidence, log_evidence_below, log_evidences

__all__ = [
    "Confusion",
    "Estimate",
    "Interval",
    "Stratum",
    "adjusted_bh",
    "adjusted_holm",
    "blaker",
    "clopper_pearson",
    "closed_e_bh",
    "cohen_kappa",
    "confidence_sequence",
    "confusion",
    "corrected_rate",
    "e_bh",
    "exceeds",
    "exceeds_each",
    "fid",
    "finite_population",
    "fisher",
    "kid",
    "kid_interval",
    "krippendorff_alpha",
    "log_evidence",
    "log_evidence_below",
    "log_evidences",
    "mcnemar",
    "paired_difference",
    "powered_rate",
    "rogan_gladen",
    "sign_flip",
    "too_few",
    "wilson",
]
