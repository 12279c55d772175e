"""A hunt whose inputs are kept elsewhere, from the first command to the last: nobody should notice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Shell

from weakspot.report.people.tasks import task_of
from weakspot.store import Run

fsspec = pytest.importorskip("fsspec")
PLACE = "memory://weakspot-cli/inputs"


@pytest.fixture(autouse=True)
def place() -> Iterator[None]:
    yield
    if fsspec.filesystem("memory").exists("/weakspot-cli"):
        fsspec.filesystem("memory").rm("/weakspot-cli", recursive=True)


def kept(folder: Path) -> dict[str, bytes]:
    """Inputs of all trials, by digest."""
    with Run.read(folder) as run:
        rows = [t for h in run.ledger.hypotheses() for t in run.ledger.trials(h, kept=True)]
        return {row.blob: run.blobs.get(row.blob) for row in rows if row.blob}


def findings(folder: Path) -> list[Any]:
    with Run.read(folder) as run:
        return [(f.hypothesis.text, f.rate, f.failing) for f in run.findings]


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_hunt_resume_report_export_and_view(kind: str, weakspot: Shell, meadow: list[str], toy: Path) -> None:
    address = PLACE if kind == "memory" else (toy / "shared").as_uri()
    assert weakspot(*meadow, "--out", "here").returncode == 0
    # Cut short, then gone on with: the rest goes to the same place without a word of it.
    first = weakspot(*meadow, "--budget", "images=30", "--out", "there", "--blobs", address)
    assert first.returncode == 3, first.stderr
    begun = set(kept(toy / "there"))
    assert weakspot("resume", "there", "--budget", "images=6000").returncode == 0
    assert not (toy / "there" / "blobs").exists()
    assert begun < set(kept(toy / "there"))
    assert kept(toy / "there") == kept(toy / "here")
    assert findings(toy / "there") == findings(toy / "here")

    pages = []
    for folder in ("here", "there"):
        assert weakspot("report", folder).returncode == 0
        pages.append((toy / folder / "report.html").read_text())
    assert re.findall("data:image/png;base64,[^\"']+", pages[1])
    assert re.findall("data:image/[^\"']+", pages[0]) == re.findall("data:image/[^\"']+", pages[1])
    assert 'href="blobs/"' in pages[0]
    assert 'href="blobs/"' not in pages[1]

    told = [json.loads(weakspot("export", f, "--json").stdout) for f in ("here", "there")]
    assert told[0]["pictures"] == told[1]["pictures"] > 0

    asked = []
    for folder in ("here", "there"):
        with Run.read(toy / folder) as run:
            asked.append({item.picture for item in task_of(run, "images").items})
    assert asked[0] == asked[1] != set()

    pytest.importorskip("starlette")
    from tests.web.web_parts import caller

    from weakspot.web.explorer import Explorer

    view = caller(Explorer(toy).app()).open()
    digest = min(begun)
    for size in ("small", "picture"):
        for _ in range(2):  # made, then remembered
            answers = [view(f"/run/{folder}/{size}/{digest}") for folder in ("here", "there")]
            assert [a.status for a in answers] == [200, 200]
            assert answers[0].body == answers[1].body
    assert view(f"/run/there/picture/{'0' * 64}").status == 404
    assert view("/run/there/picture/nonsense").status == 404
    assert view("/run/there/trials").status == 200


def test_a_place_that_is_gone_is_said(
    weakspot: Shell, meadow: list[str], toy: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    assert weakspot(*meadow, "--out", "run", "--blobs", PLACE).returncode == 0
    digest = min(kept(toy / "run"))

    class Gone:
        def __getattr__(self, name: str) -> Any:
            raise TimeoutError("no answer")

    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda url, **_: (Gone(), "x"))
    for command in (["report", "run"], ["export", "run"]):
        done = weakspot(*command)
        assert done.returncode == 1
        assert f"{PLACE} cannot be read: TimeoutError: no answer" in done.stderr
        assert "Traceback" not in done.stderr
    pytest.importorskip("starlette")
    from tests.web.web_parts import caller

    from weakspot.web.explorer import Explorer

    view = caller(Explorer(toy).app()).open()
    assert view(f"/run/run/picture/{digest}").status == 404  # the page around it is there
    assert view("/run/run/trials").status == 200
    assert "cannot be read: TimeoutError" in caplog.text


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("bucket", "'bucket' is not an address"),
        ("s4://bucket/x", "'s4' addresses"),
        ("s3://key:secret@bucket/x", "has a key"),
    ],
)
def test_a_wrong_address_is_refused_in_a_line(
    address: str, what: str, weakspot: Shell, meadow: list[str], toy: Path
) -> None:
    done = weakspot(*meadow, "--out", "run", "--blobs", address)
    assert done.returncode == 1
    assert what in done.stderr
    assert "secret" not in done.stderr
    assert not (toy / "run").exists()


@pytest.mark.parametrize(
    "study",
    [
        ["map", "world:classifier", "--images", "world:600"],
        ["rare", "world:classifier", "--label", "fly"],
        ["ask", "world:guide", "--benchmark", "world:questions"],
        ["ask", "world:guide", "--scenarios", "30", "--stimulus", "negated-harm", "--llm", "world:guide"],
    ],
)
def test_other_studies_take_it_too(study: list[str], weakspot: Shell, toy: Path) -> None:
    done = weakspot(*study, "--out", "run", "--blobs", "s4://bucket/x")
    assert done.returncode == 1
    assert "'s4' addresses" in done.stderr
    assert not (toy / "run").exists()


def test_a_map_keeps_the_same_inputs_there(weakspot: Shell, toy: Path) -> None:
    study = ["map", "world:classifier", "--images", "world:200", "--budget", "images=300"]
    for more in (["--out", "here"], ["--out", "there", "--blobs", PLACE]):
        assert weakspot(*study, *more).returncode in (0, 3)
    assert kept(toy / "here") == kept(toy / "there") != {}
    assert not (toy / "there" / "blobs").exists()


def test_a_studys_file_says_it_too(weakspot: Shell, toy: Path) -> None:
    study = toy / "study.yaml"
    study.write_text("study: hunt\ntarget: world:classifier\nlabel: fly\nblobs: s4://bucket/x\n")
    done = weakspot("validate", "study.yaml")
    assert done.returncode == 1
    assert "'s4' addresses" in done.stdout + done.stderr
    study.write_text("study: hunt\ntarget: world:classifier\nlabel: fly\nblobs: s3://bucket/x\n")
    assert weakspot("validate", "study.yaml").returncode == 0
