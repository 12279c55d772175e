"""map: the failure landscape of a model over a space of concepts."""

from weakspot.study import Study

STUDY = Study(
    name="map",
    about="Map which concepts make a model fail.",
    home=__name__,
    settings="settings:MapSettings",
    parts="parts:load",
    method="method:map_failures",
    result="result:MapResult",
    document="document:MapDocument",
    title="settings:title",
    progress="settings:progress",
    race=True,
    resolve="settings:resolve",
    subject="settings:subject",
    named="parts:named",
    rates="rows:MapRates",
    rows="rows:MapRows",
    workers="workers:workers",
    repair="repair:job",
    example={"target": "world:classifier", "images": "world:600"},
)
