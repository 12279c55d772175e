"""Pure functions on numbers: intervals, sequential tests, false-discovery control, distances.

Nothing here draws, stores or remembers. scipy is imported by the functions that need it, not before.
"""

from .agreement import Confusion, cohen_kappa, confusion, krippendorff_alpha
from .frechet import fid, kid, kid_interval, too_few
from .intervals import Estimate, Interval, blaker, clopper_pearson, inverse_binomial, wilson
from .judged import corrected_rate, rogan_gladen
from .multiple import adjusted_bh, adjusted_holm, benjamini_hochberg, e_bh, holm
from .paired import fisher, mcnemar, paired_difference, sign_flip
from .sequence import Intervals, confidence_sequence, confidence_sequences
from .sequential import (
    exceeds,
    exceeds_each,
    log_evidence,
    log_evidence_below,
    log_evidence_rate_above,
    log_evidence_rate_below,
    log_evidences,
    log_evidences_below,
)

__all__ = [
    "Confusion",
    "Estimate",
    "Interval",
    "Intervals",
    "adjusted_bh",
    "adjusted_holm",
    "benjamini_hochberg",
    "blaker",
    "clopper_pearson",
    "cohen_kappa",
    "confidence_sequence",
    "confidence_sequences",
    "confusion",
    "corrected_rate",
    "e_bh",
    "exceeds",
    "exceeds_each",
    "fid",
    "fisher",
    "holm",
    "inverse_binomial",
    "kid",
    "kid_interval",
    "krippendorff_alpha",
    "log_evidence",
    "log_evidence_below",
    "log_evidence_rate_above",
    "log_evidence_rate_below",
    "log_evidences",
    "log_evidences_below",
    "mcnemar",
    "paired_difference",
    "rogan_gladen",
    "sign_flip",
    "too_few",
    "wilson",
]
