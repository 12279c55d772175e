from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from weakspot.core import Hypothesis, Stage, Status, Trial, WeakspotError
from weakspot.store import Ledger, Run, RunConfig, blobs, png
from weakspot.studies.hunt.settings import HuntSettings

FLY = Hypothesis("a fly.")


def config(**settings: Any) -> RunConfig:
    return RunConfig(study="hunt", subject="Fly, the", settings={"label": "fly", "seed": 7} | settings)


def trials(start: int, stop: int) -> list[Trial]:
    return [
        Trial(FLY.id, i, Status.OK, i % 2 == 0, None, "fly", "bee", caption="x" * 200)
        for i in range(start, stop)
    ]


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[None]:
    """A small disk of its own; skips where that is not allowed."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True)


# -- run.yaml ------------------------------------------------------------------------------------


def test_run_yaml_has_the_versions_of_what_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "transformers", "onnxruntime"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert not {"torch", "transformers", "onnxruntime"} & set(config().versions)
    monkeypatch.setitem(sys.modules, "onnxruntime", object())
    assert config().versions["onnxruntime"] == version("onnxruntime")


def test_run_yaml_comes_back(tmp_path: Path) -> None:
    asked = config(prompt="ä 'fly': #1", budget="images=1", empty=None, odd="no", lone="\udcff", fdr=0.05)
    asked.write(tmp_path / "run.yaml")
    assert RunConfig.read(tmp_path / "run.yaml") == asked
    data = yaml.safe_load((tmp_path / "run.yaml").read_text())
    assert {"weakspot", "python", "numpy", "pillow"} <= set(data["versions"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", data["created"])


def test_run_yaml_is_enough_to_run_again(tmp_path: Path) -> None:
    settings = HuntSettings(target="world:classifier", label="fly", seed=7, budget="images=100")
    RunConfig(study="hunt", subject="fly", settings=settings.plain()).write(tmp_path / "run.yaml")
    assert HuntSettings(**RunConfig.read(tmp_path / "run.yaml").settings) == settings


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file"),
        (b"just words", "the file"),
        (b"study: [", "not valid YAML"),
        (b"\xff\xfe\x00", "not valid YAML"),
        (b"study: hunt", "subject"),
        (b"study: hunt\nsubject: fly\nsettings: {}\nmore: 1", "more"),
        (b"study: hunt\nsubject: fly\nsettings: 3", "settings"),
        (b"!!python/object/apply:os.system ['true']", "not valid YAML"),
    ],
)
def test_a_spoiled_run_yaml_is_explained(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "run.yaml").write_bytes(content)
    for how in (Run.open, Run.read):
        with pytest.raises(WeakspotError, match=message) as caught:
            how(tmp_path)
        assert caught.value.fix
        assert snapshot(tmp_path) == {"run.yaml": content}


# -- the folder ----------------------------------------------------------------------------------


def test_a_run_is_created_written_and_read(tmp_path: Path) -> None:
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    with Run.create(config(), parent=tmp_path / "runs") as run:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d-hunt-fly-the-[0-9a-f]{4}", run.folder.name)
        run.ledger.add_hypotheses([FLY])
        kept = Trial(FLY.id, 0, Status.OK, True, None, "fly", "bee", blob=run.blobs.put(png(image)))
        run.ledger.record([kept, *trials(1, 3)], {})
        assert run.state == "running"
        with Run.read(run.folder) as reader:
            assert reader.ledger.tallies()[FLY.id].n == 3
    with Run.open(run.folder) as again:
        again.ledger.set_fact("state", "finished")
    with Run.read(run.folder) as reader:
        assert (reader.state, reader.findings, reader.config) == ("finished", [], run.config)
        assert np.array_equal(reader.image(FLY, 0), image)
        assert reader.image(FLY, 1) is None
        assert reader.image(FLY, 99) is None
        assert "hunt" in repr(reader)


def test_a_folder_in_use_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(WeakspotError, match="not empty") as caught:
        Run.create(config(), folder=tmp_path)
    assert caught.value.fix == "choose another --out"
    assert snapshot(tmp_path) == {"thesis.tex": b"years of work"}
    Run.create(config(), folder=tmp_path / "run").close()
    before = snapshot(tmp_path)
    with pytest.raises(WeakspotError, match="not empty") as caught:
        Run.create(config(), folder=tmp_path / "run")
    assert caught.value.fix == f"weakspot resume {tmp_path / 'run'}"
    assert snapshot(tmp_path) == before


SPOILED: dict[str, Any] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("just some words. " * 50),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "newer": lambda path: path.write_bytes(path.read_bytes()[:60] + b"\0\0\0\x63" + path.read_bytes()[64:]),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("spoiled", SPOILED)
@pytest.mark.parametrize("how", [Run.open, Run.read])
def test_a_run_with_a_spoiled_ledger_is_left_alone(tmp_path: Path, spoiled: str, how: Any) -> None:
    Run.create(config(), folder=tmp_path / "run").close()
    (tmp_path / "run" / ".lock").unlink()
    SPOILED[spoiled](tmp_path / "run" / "ledger.db")
    before = snapshot(tmp_path)
    with pytest.raises(WeakspotError) as caught:
        how(tmp_path / "run")
    assert caught.value.fix
    assert snapshot(tmp_path) == before


def test_what_is_no_run_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    for folder in (tmp_path, tmp_path / "absent", tmp_path / "notes.txt"):
        for how in (Run.open, Run.read):
            with pytest.raises(WeakspotError, match=r"not a run|no run folder") as caught:
                how(folder)
            assert caught.value.fix
    assert snapshot(tmp_path) == {"notes.txt": b"x"}


@pytest.mark.parametrize(
    "left", [(), (".lock",), (".lock", ".part-x1"), (".lock", "run.yaml"), (".lock", "run.yaml", ".part-x2")]
)
def test_killed_in_its_first_moment(tmp_path: Path, left: tuple[str, ...]) -> None:
    """Each state between making the folder and the first trial: either begin again or resume works."""
    for name in left:
        (tmp_path / name).write_bytes(b"half" if name.startswith(".part") else b"")
    if "run.yaml" in left:
        config().write(tmp_path / "run.yaml")
        run = Run.open(tmp_path)
    else:
        run = Run.create(config(), folder=tmp_path)
    run.ledger.add_hypotheses([FLY])
    run.ledger.record(trials(0, 2), {})
    run.close()
    with Run.read(tmp_path) as reader:
        assert reader.ledger.count(FLY, Stage.EXPLORE) == 2


def test_a_ledger_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(blobs.os, "replace", killed)  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        Ledger.create(tmp_path / "ledger.db")
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_is_in_wal_mode_from_its_first_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To switch later takes a journal; a kill in that moment would leave a ledger that no reader can open."""
    with monkeypatch.context() as killed:
        killed.setattr(Ledger, "open", lambda *_: None)
        Ledger.create(tmp_path / "ledger.db")
    with sqlite3.connect(tmp_path / "ledger.db") as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


# -- one writer ----------------------------------------------------------------------------------

HOLDER = """
import sys, time
from pathlib import Path
from weakspot.store import Run
run = Run.open(Path(sys.argv[1])); print("ready", flush=True); time.sleep(60)
"""


def test_a_second_writer_is_refused_until_the_first_is_gone_however_it_went(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with (
        Run.create(config(), folder=folder),
        pytest.raises(WeakspotError, match="another process is writing"),
    ):
        Run.open(folder)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    with holder.stdout:
        holder.stdout.readline()
        with pytest.raises(WeakspotError, match="another process is writing") as caught:
            Run.open(folder)
        assert "wait for it" in caught.value.fix
        with Run.read(folder) as reader:
            assert reader.state == "running"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    Run.open(folder).close()


def test_a_run_that_cannot_be_opened_frees_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Run.create(config(), folder=tmp_path / "run").close()
    with monkeypatch.context() as broken:
        broken.setattr(Ledger, "open", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Run.open(tmp_path / "run")
    Run.open(tmp_path / "run").close()


# -- trouble with the disk -----------------------------------------------------------------------


def test_a_folder_below_a_file_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for folder in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(WeakspotError, match="no run can be written to") as caught:
            Run.create(config(), folder=folder)
        assert "--out" in caught.value.fix
    assert snapshot(tmp_path) == {"file": b"x"}


@pytest.mark.parametrize(("number", "fix"), [(errno.ENOSPC, "free some space"), (errno.EACCES, "--out")])
def test_a_run_yaml_that_cannot_be_written_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, fix: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as broken:
        broken.setattr(blobs.os, "replace", fail)  # type: ignore[attr-defined]
        with pytest.raises(WeakspotError, match=os.strerror(number)) as caught:
            Run.create(config(), folder=tmp_path / "run")
    assert fix in caught.value.fix
    Run.create(config(), folder=tmp_path / "run").close()


def test_a_read_only_disk_is_explained_and_can_be_read(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with mounted(disk, "2m"):
        with Run.create(config(), folder=disk / "run") as run:
            run.ledger.add_hypotheses([FLY])
            run.ledger.record(trials(0, 10), {})
        remount(disk, "ro")
        with pytest.raises(WeakspotError, match="Read-only file system"):
            Run.open(disk / "run")
        with pytest.raises(WeakspotError, match="Read-only file system"):
            Run.create(config(), folder=disk / "other")
        with Run.read(disk / "run") as reader:
            assert reader.ledger.tallies()[FLY.id].n == 10


def test_a_full_disk_keeps_what_was_recorded(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with mounted(disk, "400k"):
        run = Run.create(config(), folder=disk / "run")
        run.ledger.add_hypotheses([FLY])
        recorded = 0
        with pytest.raises(WeakspotError, match=r"full|No space") as caught:  # noqa: PT012
            for start in range(0, 100_000, 64):
                run.blobs.put(bytes(str(start), "ascii") * 100)
                run.ledger.record(trials(start, start + 64), {"images": 64})
                recorded = start + 64
        assert "free some space" in caught.value.fix
        assert 0 < recorded < 50_000
        assert run.ledger.count(FLY, Stage.EXPLORE) == recorded
        run.close()
        with Run.read(disk / "run") as reader:  # the disk is still full
            assert reader.ledger.tallies()[FLY.id].n == recorded
        remount(disk, "size=4m")
        with Run.read(disk / "run") as reader:
            assert [t.index for t in reader.ledger.trials(FLY)] == list(range(recorded))
            assert reader.ledger.tallies()[FLY.id].n == reader.ledger.spend()["images"] == recorded
        with Run.open(disk / "run") as again:
            again.ledger.record(trials(recorded, recorded + 64), {"images": 64})
            assert again.ledger.count(FLY, Stage.EXPLORE) == recorded + 64


def test_a_disk_too_small_to_begin_is_explained(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with mounted(disk, "16k"):
        with pytest.raises(WeakspotError, match=r"full|No space") as caught:
            Run.create(config(), folder=disk / "run")
        assert "free some space" in caught.value.fix
        remount(disk, "size=4m")
        Run.open(disk / "run").close()  # it had come as far as run.yaml


def test_a_run_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with Run.create(config(), folder=tmp_path / "some" / "run") as run:
            run.ledger.add_hypotheses([FLY])
            run.ledger.record(trials(0, 4), {"images": 4})
            run.blobs.put(b"a picture")
            modes = {p: p.stat().st_mode & 0o777 for p in run.folder.rglob("*")}
    finally:
        os.umask(before)
    assert (tmp_path / "some" / "run").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "some").stat().st_mode & 0o777 == 0o755
    assert len(modes) >= 6
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


@pytest.mark.parametrize("name", [".lock", "ledger.db", "ledger.db-wal"])
def test_a_run_is_not_written_through_a_link(name: str, tmp_path: Path) -> None:
    Run.create(config(), folder=tmp_path / "run").close()
    victim, own = tmp_path / "victim", tmp_path / "run" / name
    if own.exists():
        shutil.move(own, victim)
    else:
        victim.write_text("mine")
    content = victim.read_bytes()
    own.symlink_to(victim)
    with pytest.raises(WeakspotError, match="is a link"):
        Run.open(tmp_path / "run")
    assert victim.read_bytes() == content
