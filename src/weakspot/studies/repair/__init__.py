"""repair: train weak spots away, and prove what moved."""

from weakspot.study import Study

STUDY = Study(
    name="repair",
    about="Train weak spots away, and prove what moved.",
    home=__name__,
    settings="settings:RepairSettings",
    parts="parts:load",
    method="method:repair",
    result="result:RepairResult",
    document="document:RepairDocument",
    title="settings:title",
    subject="parts:subject",
    resolve="settings:resolve",
    rates=None,
    incomparable="it compares before and after itself",
    stays="it trains one model",
    notes=(
        "Ctrl-C loses no round: go on with weakspot resume. Exit codes: 0 reduced, 1 cannot, 2 misused, "
        "3 not reduced or traded, 130 interrupted."
    ),
)
