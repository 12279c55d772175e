"""mine: blind spots of an encoder of texts."""

from weakspot.study import Study

STUDY = Study(
    name="mine",
    about="Find pairs that an image–text encoder confuses.",
    home=__name__,
    settings="settings:MineSettings",
    parts="parts:load",
    method="method:mine",
    result="result:MineResult",
    document="document:MineDocument",
    title="settings:title",
    subject="settings:subject",
    progress="settings:progress",
    race=True,
    named="parts:named",
    rates="rows:MineRates",
    rows="rows:MineRows",
    stays="most of its time goes into embedding one corpus and comparing all of its texts with each other",
    repair="repair_job:mine_job",
    example={"encoder": "world:encoder", "reference": "world:scenes", "corpus": "world?texts=1500"},
    budget="pairs",
    tools={
        "grounded": "weakspot.studies.mine.commands:grounded",
        "images": "weakspot.studies.mine.commands:images",
        "categorise": "weakspot.studies.mine.commands:categorise",
    },
)
