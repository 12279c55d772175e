"""Names in run.yaml say which commit of the hub was used."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from weakspot.studies.loading import pinned

COMMIT = "c0ffee" + "0" * 34


@dataclass(frozen=True)
class Settings:
    target: str
    source: str | None = None


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("hf:a/b", f"hf:a/b?revision={COMMIT}"),
        ("hf:a/b?batch=4", f"hf:a/b?batch=4&revision={COMMIT}"),
        ("hf:a/b?revision=main&batch=4", f"hf:a/b?revision={COMMIT}&batch=4"),
        (f"hf:a/b?revision={COMMIT}", f"hf:a/b?revision={COMMIT}"),
    ],
)
def test_the_commit_is_in_the_name(name: str, wanted: str) -> None:
    assert pinned(Settings(name), target=SimpleNamespace(revision=COMMIT)).target == wanted
    source = SimpleNamespace(generator=SimpleNamespace(revision=COMMIT))
    assert pinned(Settings("x", name), source=source, target=object()) == Settings("x", wanted)


def test_what_is_not_of_the_hub_stays() -> None:
    settings = Settings("world:classifier")
    assert pinned(settings, target=object(), source=SimpleNamespace(revision="")) is settings
