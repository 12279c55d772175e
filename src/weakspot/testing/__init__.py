"""Checks for your own sources, targets, judges and models: each says what breaks the contract.

    from weakspot.testing import check_source, check_target

    def test_my_source():
        cases = check_source(MySource(), Hypothesis("a photo of a fly."))
        check_target(MyModel(), cases)

What a part offers beyond its port (see `weakspot.core.ports`) is checked too, where it offers it. Our own
adapters' tests run the same functions.
"""

from weakspot.checks.models import check_captioner, check_encoder, check_generator
from weakspot.checks.ports import ContractError, check_judge, check_source, check_target
from weakspot.testing.studies import check_study

__all__ = [
    "ContractError",
    "check_captioner",
    "check_encoder",
    "check_generator",
    "check_judge",
    "check_source",
    "check_study",
    "check_target",
]
