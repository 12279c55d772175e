"""hunt: bugs of an image classifier, in words."""

from weakspot.study import Study

STUDY = Study(
    name="hunt",
    about="Find captions under which a classifier fails.",
    home=__name__,
    settings="settings:HuntSettings",
    parts="parts:load",
    method="method:hunt",
    result="result:HuntResult",
    document="collection_document:document",
    title="settings:title",
    subject="settings:subject",
    one_of=("label", "labels"),
    resolve="settings:resolve",
    race=True,
    pictures=True,
    rates="rates:HuntRates",
    workers="parts:workers",
    repair="repair_job:hunt_job",
    example={"target": "world:classifier", "label": "fly"},
)
