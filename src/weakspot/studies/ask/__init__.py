"""ask: which harmless questions a chat model refuses."""

from weakspot.study import Study

STUDY = Study(
    name="ask",
    about="Find which harmless questions a chat model refuses.",
    home=__name__,
    settings="settings:AskSettings",
    parts="parts:load",
    method="method:ask",
    result="result:AskResult",
    document="document:AskDocument",
    title="settings:title",
    subject="parts:subject",
    progress="method:progress",
    resolve="settings:resolve",
    rates="reading:ask_rates",
    rows="reading:AskRows",
    preview="preview:preview",
    views="views:views",
    stays="its calls wait for a server, and one machine can keep as many calls open as that server can take",
    retries="all",
    example={"target": "world:guide", "benchmark": "world:questions"},
    budget="calls",
)
