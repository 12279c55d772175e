"""toy: how often sentences make a classifier fail. A whole study, in another package."""

from weakspot.study import Study

STUDY = Study(
    name="toy",
    about="Count how often sentences make a classifier fail.",
    home=__name__,
    settings="settings:ToySettings",
    parts="settings:load",
    method="method:count",
    result="result:ToyResult",
    document="document:ToyDocument",
    workers="settings:workers",
    example={
        "target": "world:classifier",
        "label": "fly",
        "sentence": ["it is on a flower.", "it is night."],
    },
)
