"""A run killed with SIGKILL and resumed, however often and whenever, ends as one never interrupted."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.engine import kill_often
from tests.engine.engine_parts import content

from weakspot import resume
from weakspot.core import WeakspotError
from weakspot.store import Run

ROOT = Path(__file__).parents[2]
WEAKSPOT = [sys.executable, "-c", "from weakspot.cli import main; main()"]
REAL = ["hunt", "world:classifier", "--label", "fly", "--budget", "images=900", "--seed", "3"]


def surroundings(**more: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"} | more


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for table in other:
        assert one[table] == other[table], table


def assert_evidence_is_whole(folder: Path) -> None:
    with Run.read(folder) as run:
        for hypothesis in run.ledger.hypotheses():
            for trial in run.ledger.trials(hypothesis, kept=True):
                assert trial.blob is not None
                assert run.blobs.get(trial.blob)


def test_a_hunt_that_filled_the_disk_goes_on_when_there_is_room(tmp_path: Path) -> None:
    kill_often.begin(tmp_path / "never")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=500k", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        with pytest.raises(WeakspotError, match=r"full|No space") as caught:
            kill_often.begin(disk / "run")
        assert "free some space" in caught.value.fix
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        with Run.read(disk / "run") as run:
            assert 0 < run.ledger.spend()["images"] < 3000
            assert run.state == "running"
        resume(disk / "run").close()
        assert_same(content(disk / "run"), content(tmp_path / "never"))
        assert_evidence_is_whole(disk / "run")
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def alive(mark: str) -> list[int]:
    """Processes whose environment carries a mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                zombie = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
                if not zombie and mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_forty_kills_leave_no_trace(tmp_path: Path) -> None:
    """Cheap parts with a short nap per batch; each attempt is a fork, so that kills land anywhere."""

    def hunted(name: str, seed: int, kills: int) -> tuple[int, set[str]]:
        done = subprocess.run(
            [sys.executable, kill_often.__file__, str(tmp_path / name), str(seed), str(kills)],
            env=surroundings(WEAKSPOT_TEST_NAP="0.01"),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
        landed, *states = done.stdout.split()
        return int(landed), set(states)

    assert hunted("never", 0, 0) == (0, set())
    whole, total, states = content(tmp_path / "never"), 0, set[str]()
    assert '"finished"' in whole["facts"]["state"] or "spent" in whole["facts"]["state"]
    assert len(whole["findings"]) >= 1
    assert any(stage == 1 for _, stage in whole["tallies"])
    assert sum(t[2] for t in whole["tallies"].values()) > 0  # errors among the trials too
    run = 0
    while total < 40 or run < 3:
        run += 1
        landed, seen = hunted(f"killed{run}", run, 14)
        total, states = total + landed, states | seen
        assert_same(content(tmp_path / f"killed{run}"), whole)
        assert_evidence_is_whole(tmp_path / f"killed{run}")
        assert run < 20
    assert {"trials"} < states  # in the middle of the trials, and before the first one


@pytest.mark.long
def test_the_embedded_world_survives_kills_from_its_first_moment_on(tmp_path: Path) -> None:
    """As a person runs it, drawing in processes, which must not outlive their parent for long."""
    never, folder, chance, mark = tmp_path / "never", tmp_path / "killed", random.Random(4), uuid.uuid4().hex

    def begun(out: Path, **more: str) -> subprocess.Popen[bytes]:
        resume = (out / "run.yaml").exists()
        command = [*WEAKSPOT, *(["resume", str(out)] if resume else [*REAL, "--out", str(out)])]
        # No pipes: what outlives its parent would hold them open.
        with (tmp_path / "said").open("wb") as said:
            return subprocess.Popen(command, env=surroundings(**more), cwd=tmp_path, stdout=said, stderr=said)

    def drawn() -> float:
        try:
            with Run.read(folder) as run:  # while it is being written
                return run.ledger.spend().get("images", 0)
        except WeakspotError:
            return -1  # no ledger yet

    assert begun(never).wait(120) in (0, 3), (tmp_path / "said").read_text()

    # The first is killed when its folder appears, the second when its ledger does, the others among trials.
    for kill in range(5):
        goal = drawn() + (kill > 1) * chance.uniform(1, 120)
        process = begun(folder, WEAKSPOT_TEST_MARK=mark)
        while process.poll() is None and not (folder.exists() if kill == 0 else drawn() >= max(goal, 0)):
            time.sleep(0.002 if kill < 2 else 0.02)
        time.sleep(chance.uniform(0, 0.05) if kill > 1 else 0)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, (tmp_path / "said").read_text()
        assert drawn() < 850
    assert drawn() > 60
    died = time.monotonic()
    while (left := alive(mark)) and time.monotonic() - died < 15:
        time.sleep(0.2)
    assert left == []

    assert begun(folder).wait(120) in (0, 3), (tmp_path / "said").read_text()
    assert_same(content(folder), content(never))
    assert_evidence_is_whole(folder)
