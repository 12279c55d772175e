"""Pictures of an images endpoint as cases: `https://HOST/v1/images/generations?model=…&cache=pictures`."""

from __future__ import annotations

from functools import partial

from weakspot.models.http import models as http
from weakspot.sources.generate import TextToImage, drawn_by


def load(
    rest: str,
    *,
    scheme: str = "http",
    label: str = "",
    template: str = "{text}",
    model: str = "",
    size: str = "",
    seed: str = "",
    cache: str = "",
    answer: str = "",
    timeout: str = "",
    attempts: str = "",
    concurrency: str = "",
) -> TextToImage:
    """`http://HOST:7860/v1/images/generations?seed=seed`; a study gives the label, others ?label=fly."""
    make = partial(
        http.load,
        scheme=scheme,
        model=model,
        size=size,
        seed=seed,
        cache=cache,
        answer=answer,
        timeout=timeout,
        attempts=attempts,
        concurrency=concurrency,
    )
    return drawn_by(make, rest, scheme=scheme, label=label, template=template)


#: `https://…`.
load_secure = partial(load, scheme="https")
