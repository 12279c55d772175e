"""Pictures of an images endpoint as cases: `https://HOST/v1/images/generations?model=…&cache=pictures`."""

from __future__ import annotations

from functools import partial

from weakspot.core import WeakspotError
from weakspot.models import http
from weakspot.models.http_images import HttpImages
from weakspot.sources.generate import TextToImage


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
    if not label:
        raise WeakspotError(
            f"{scheme}:{rest[:200]} does not know what its pictures show", fix="say it: ?label=fly"
        )
    made = http.load(
        rest,
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
    if not isinstance(made, HttpImages):
        raise WeakspotError(
            f"{scheme}:{rest[:200]} makes no pictures", fix="its address ends in /images/generations"
        )
    return TextToImage(made, expected=label, template=template)


#: `https://…`.
load_secure = partial(load, scheme="https")
