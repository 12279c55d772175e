"""Pure functions on counts: intervals, sequential tests, false-discovery control, judges that err.

Nothing here draws, stores or remembers. scipy is imported by the functions that need it, not before.
"""

from .intervals import Estimate, Interval, blaker, clopper_pearson, inverse_binomial, wilson
from .judged import corrected_rate, rogan_gladen
from .multiple import adjusted_bh, adjusted_holm, benjamini_hochberg, e_bh, holm
from .paired import fisher, mcnemar
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
    "Estimate",
    "Interval",
    "Intervals",
    "adjusted_bh",
    "adjusted_holm",
    "benjamini_hochberg",
    "blaker",
    "clopper_pearson",
    "confidence_sequence",
    "confidence_sequences",
    "corrected_rate",
    "e_bh",
    "exceeds",
    "exceeds_each",
    "fisher",
    "holm",
    "inverse_binomial",
    "log_evidence",
    "log_evidence_below",
    "log_evidence_rate_above",
    "log_evidence_rate_below",
    "log_evidences",
    "log_evidences_below",
    "mcnemar",
    "rogan_gladen",
    "wilson",
]
