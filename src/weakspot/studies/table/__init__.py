"""table: weak spots of an evaluation that has been run already, in words."""

from weakspot.study import Study

STUDY = Study(
    name="table",
    about="Find weak spots in a table of predictions or a log.",
    home=__name__,
    settings="settings:TableSettings",
    parts="parts:load",
    method="method:table",
    result="result:TableResult",
    document="document:TableDocument",
    title="settings:title",
    subject="settings:subject",
    instead_of="hunt",
    takes="settings:takes",
    pieces=True,
    example={"target": "world:predictions"},
    budget="rows",
    rates="rates:TableRates",
)
