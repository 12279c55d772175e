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
    incomparable="it already compares before and after",
    stays="it trains one model",
    notes=(
        "You can stop with Ctrl-C and go on with weakspot resume; no round is lost. Exit codes: 0 "
        "reduced, 1 error, 2 wrong usage, 3 not reduced or traded, 130 interrupted."
    ),
)
