"""rare: how often a classifier fails where plain sampling would hardly see it fail."""

from weakspot.study import Study

STUDY = Study(
    name="rare",
    about="Measure failures that plain sampling hardly sees.",
    home=__name__,
    settings="settings:RareSettings",
    parts="parts:load",
    method="method:rare",
    result="result:RareResult",
    document="document:RareDocument",
    title="settings:title",
    subject="settings:subject",
    progress="settings:progress",
    rates="result:RareRates",
    stays="each picture begins from one that was judged before it, in this process",
    example={"target": "world:classifier", "label": "fly"},
)
