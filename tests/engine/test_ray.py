"""A real Ray on this machine: the ledger is the local one's, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.engine_parts import Clerk, Dice, Meadow, Wrong, content, engine, fails
from tests.engine.test_killed import alive, surroundings
from tests.studies.map.map_toy import SPACE, Dim, write_pictures

import weakspot
from weakspot import hunt
from weakspot.core import Case, Hypothesis, Output, WeakspotError
from weakspot.engine import Engine, Want, stop
from weakspot.engine.ray import RayExecutor, connect
from weakspot.engine.ray_settings import RaySettings
from weakspot.store import Run, RunConfig

#: So that any number of workers fits on any machine.
SMALL = "source_cpus=0&target_cpus=0"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """One Ray for all tests of this file: starting it takes seconds."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'weakspot[scale]'")
    connect(RaySettings.parse("ray?cpus=2&store=200"))
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def two(cluster: Any) -> Iterator[RayExecutor]:
    """Two source workers, a target and a judge, for the tests that leave them alive."""
    with made("source=2") as executor:
        yield executor


def made(how: str, **recipes: Callable[[], Any]) -> RayExecutor:
    usual: dict[str, Callable[[], Any]] = {"source": Dice, "target": Clerk, "judge": Wrong}
    return RayExecutor(RaySettings.parse(f"ray?{SMALL}&{how}"), usual | recipes)


def on_ray(folder: Path, executor: RayExecutor, kind: type[Engine] = Engine) -> Engine:
    """An engine over a new run. Its own parts are never asked: the workers have theirs."""
    run = Run.create(RunConfig(study="test", subject="test", settings={}), folder=folder)
    nobody: Any = object()
    return kind(run, source=nobody, target=nobody, judge=nobody, seed=3, batch=16, executor=executor)


def draw_all(one: Engine) -> None:
    """Words that can be drawn, words for which the source raises, and a rule that stops."""
    one.draw([Want(fails(0.3), 200), Want(Hypothesis("impossible"), 40), Want(fails(0.05), 100)])
    one.test(fails(0.02), until=stop.failures(3))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the local executor writes."""
    folder = tmp_path_factory.mktemp("local") / "run"
    with engine(folder, batch=16) as one, one.run:
        draw_all(one)
    found = content(folder)
    assert len(found["trials"]) > 340
    assert len(found["blobs"]) > 24
    assert sum(row[2] for row in found["tallies"].values()) == 40  # the source raised
    return found


def test_one_worker_of_each_kind_writes_the_local_ledger(
    cluster: Any, local: dict[str, Any], tmp_path: Path
) -> None:
    with on_ray(tmp_path / "run", made("source=1&judge=1")) as one, one.run:
        draw_all(one)
    assert content(tmp_path / "run") == local


def test_so_do_two(two: RayExecutor, local: dict[str, Any], tmp_path: Path) -> None:
    one = on_ray(tmp_path / "run", two)
    with one.run:
        draw_all(one)
    assert content(tmp_path / "run") == local


@pytest.mark.long
def test_so_do_two_one_killed_as_a_process_and_one_as_an_actor(
    cluster: Any, local: dict[str, Any], tmp_path: Path
) -> None:
    executor = made("source=2&target=2", source=partial(Dice, nap=0.02))
    died: list[str] = []

    class Killing(Engine):
        def _record(self, judged: Any) -> None:
            """In the middle of the run, while workers are busy with the batches that follow."""
            source, target, _ = executor._crews
            busy = [hand.pid for hand in source.hands if hand.tasks and hand.pid]
            if self.spending.amounts["images"] >= 48 and not died and busy:
                os.kill(busy[0], signal.SIGKILL)
                died.append("process")
            elif self.spending.amounts["images"] >= 128 and len(died) == 1:
                cluster.kill(target.hands[0].handle)
                died.append("actor")
            super()._record(judged)

    before = [hand for crew in executor._crews for hand in crew.hands]
    with on_ray(tmp_path / "run", executor, Killing) as one, one.run:
        draw_all(one)
        after = [hand for crew in executor._crews for hand in crew.hands]
    assert died == ["process", "actor"]
    assert len(after) == len(before) == 5
    assert len({*map(id, before)} - {*map(id, after)}) == 2  # the dead were replaced, the others were not
    assert content(tmp_path / "run") == local


# -- streaming ----------------------------------------------------------------------------------------


def noted(folder: Path, _: object, work: int) -> Any:
    (folder / str(work)).touch()
    return np.full(5_000_000, work % 256, np.uint8)


def doubled(_: object, work: int, drawn: Any) -> int:
    drawn[0] = 0  # an input may be written to, as locally
    return 2 * int(drawn[1])


def told(_: object, work: int, drawn: Any, answered: int) -> tuple[int, int]:
    return work, answered


@pytest.mark.long
def test_what_is_under_way_is_bounded_and_freed(cluster: Any, two: RayExecutor, tmp_path: Path) -> None:
    """300 MB of inputs pass through a store of 200 MB without one being put on disk to make room."""
    found: list[tuple[int, int]] = []
    for result in two.through(range(60), (partial(noted, tmp_path), doubled, told)):
        if not found:
            time.sleep(0.5)  # the driver is busy: drawing must wait for it
            assert two.most <= 8
            assert len([*tmp_path.iterdir()]) <= two.most
        found.append(result)
    assert found == [(i, 2 * i) for i in range(60)]
    session = Path(cluster._private.worker._global_node.get_session_dir_path())
    assert session.is_dir()
    assert not [*session.glob("ray_spilled_objects*")]


@pytest.mark.long
def test_leaving_early_leaves_it_usable(two: RayExecutor, tmp_path: Path) -> None:
    stages = (partial(noted, tmp_path), doubled, told)
    for _ in two.through(range(100), stages):
        break
    assert len([*tmp_path.iterdir()]) <= two.most
    assert [*two.through(range(3), stages)] == [(0, 0), (1, 2), (2, 4)]
    assert [*two.through([], stages)] == []


def broken(_: object, work: int) -> int:
    return 1 // work


def test_a_stage_that_is_broken_is_said(two: RayExecutor) -> None:
    with pytest.raises(WeakspotError, match="the source cannot work on Ray: ZeroDivisionError"):
        list(two.through([0], (broken, doubled, told)))


# -- workers that cannot live -------------------------------------------------------------------------


class Deadly(Clerk):
    """One case ends whoever looks at it."""

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        if any(case.index == 37 for case in cases):
            os._exit(1)
        return super().answer(cases)


class Unable(Clerk):
    """Cannot be made."""

    def __init__(self) -> None:
        raise WeakspotError("there is no such model", fix="name another")


@pytest.mark.long
def test_a_batch_that_kills_its_worker_again_and_again_ends_the_run(cluster: Any, tmp_path: Path) -> None:
    with (
        on_ray(tmp_path / "run", made("source=1", target=Deadly)) as one,
        one.run,
        pytest.raises(WeakspotError, match="3 workers died on the same batch, the last a target's"),
    ):
        one.draw([Want(fails(0.3), 200)])
    with Run.read(tmp_path / "run") as run:
        assert run.ledger.spend().get("images", 0) in (0, 16, 32)  # nothing of that batch, nor beyond it


@pytest.mark.long
def test_a_part_that_cannot_be_made_or_sent_is_said_at_once(cluster: Any) -> None:
    with pytest.raises(WeakspotError, match="a target worker cannot start: there is no such") as caught:
        made("source=1", target=Unable)
    assert caught.value.fix == "name another"
    with pytest.raises(WeakspotError, match="the source cannot be sent to another process"):
        made("source=1", source=partial(Dice, nap=sys._getframe()))  # type: ignore[arg-type]
    with pytest.raises(WeakspotError, match="the workers ask for 3 GPUs, Ray has 0"):
        made("target=3&target_gpus=1")


# -- a whole hunt -------------------------------------------------------------------------------------


class Coloured:
    """A target of somebody's own, whose network is another one in every process that loads it."""

    labels = ("yes", "no")

    def __init__(self, seed: int | None = None) -> None:
        torch = pytest.importorskip("torch")
        torch.manual_seed(os.getpid() if seed is None else seed)
        self.net, self.dtype, self.device = torch.nn.Linear(3, 2), "float32", "cpu"

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return Clerk().answer(cases)


@pytest.mark.long
def test_workers_with_another_model_are_refused(cluster: Any) -> None:
    settings = RaySettings.parse(f"ray?{SMALL}&source=1&target=2")
    recipes: dict[str, Callable[[], Any]] = {"source": Dice, "target": Coloured, "judge": Wrong}
    with pytest.raises(WeakspotError, match="a target worker has a different model") as error:
        RayExecutor(settings, recipes, here={"source": Dice(), "target": Coloured(), "judge": Wrong()})
    assert "same files" in (error.value.fix or "")
    here = {"source": Dice(), "target": Coloured(7), "judge": Wrong()}
    with RayExecutor(settings, recipes | {"target": partial(Coloured, 7)}, here=here) as executor:
        assert executor.places == {"target": "cpu · float32"}


def test_a_hunt_is_the_same_on_ray(cluster: Any, tmp_path: Path) -> None:
    """A name is loaded by each worker, an object is sent to it."""
    parts: dict[str, Any] = {"target": "python:tests.engine.engine_parts:Botanist", "source": Meadow()}
    usual: dict[str, Any] = {"label": "fly", "budget": "images=1200", "seed": 2}
    hunt(**parts, **usual, out=tmp_path / "local").close()
    hunt(**parts, **usual, out=tmp_path / "ray", executor=f"ray?{SMALL}&source=1").close()
    found = content(tmp_path / "local")
    assert found["findings"]
    assert content(tmp_path / "ray") == found
    with Run.read(tmp_path / "ray") as run:
        assert "ray" not in str(run.config.settings)  # it is no part of the study
        assert run.config.versions["ray"] == cluster.__version__


def test_a_map_is_the_same_on_ray(cluster: Any, tmp_path: Path) -> None:
    """The search learns from verdicts that were given elsewhere; tests/study/test_spread.py has more."""
    (tmp_path / "dim.yaml").write_text(SPACE)
    usual: dict[str, Any] = {"images": write_pictures(tmp_path / "pictures"), "seed": 1}
    usual |= {"space": str(tmp_path / "dim.yaml"), "budget": "images=300"}
    for name, executor in (("local", "local"), ("ray", f"ray?{SMALL}&source=2")):
        with weakspot.map(Dim(), **usual, out=tmp_path / name, executor=executor) as run:
            assert run.state == "finished"
    assert content(tmp_path / "ray") == content(tmp_path / "local")


@pytest.mark.long
def test_ctrl_c_ends_everything_and_the_run_goes_on_without_ray(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'weakspot[scale]'")
    command = [sys.executable, "-c", "from weakspot.cli import main; main()"]
    study = ["hunt", "world:classifier", "--label", "fly", "--budget", "images=900", "--seed", "3"]
    mark = uuid.uuid4().hex
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(
            [*command, *study, "--out", "run", "--executor", "ray?source=1&store=100"],
            env=surroundings(WEAKSPOT_TEST_MARK=mark),
            cwd=tmp_path,
            stdout=said,
            stderr=said,
            start_new_session=True,  # a terminal sends it to the whole group
        )
    ended = time.monotonic() + 120
    while time.monotonic() < ended and process.poll() is None:
        try:
            with Run.read(tmp_path / "run") as run:
                if run.ledger.spend().get("images", 0) > 100:
                    break
        except WeakspotError:
            pass  # no run yet
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 130, (tmp_path / "said").read_text()
    text = (tmp_path / "said").read_text()
    assert "everything drawn is kept" in text
    assert "Traceback" not in text
    assert "raylet" not in text
    while (left := alive(mark)) and time.monotonic() < ended:
        time.sleep(0.2)
    assert left == []
    for folder in ("run", "never"):
        more = ["resume", "run"] if folder == "run" else [*study, "--out", "never"]
        subprocess.run([*command, *more], cwd=tmp_path, env=surroundings(), capture_output=True, timeout=120)
    assert content(tmp_path / "run") == content(tmp_path / "never")


# -- what is written ----------------------------------------------------------------------------------


def test_settings_are_read() -> None:
    settings = RaySettings.parse("ray:10.0.0.1:6379?source=3&target_gpus=0.5&judge_memory=2&grow=yes")
    assert settings.address == "10.0.0.1:6379"
    assert settings.pools["source"].workers == 3
    assert settings.pools["target"].gpus == 0.5
    assert settings.asked == {"CPU": 4.0, "GPU": 0.5, "memory": float(2 << 30)}
    assert settings.grow
    plain = RaySettings.parse("ray")
    assert plain.address == ""
    assert plain.sized(cpus=6, many=True).pools["source"].workers == 5
    assert plain.sized(cpus=1, many=True).pools["source"].workers == 1
    assert plain.sized(cpus=6, many=False).pools["source"].workers == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rey", "no executor is called 'rey'"),
        ("ray?sorce=2", "no option 'sorce'"),
        ("ray?source=0", "source cannot be '0'"),
        ("ray?source=1.5", "source cannot be '1.5'"),
        ("ray?target_gpus=nan", "target_gpus cannot be 'nan'"),
        ("ray?target_gpus=-1", "target_gpus cannot be '-1'"),
        ("ray?grow=perhaps", "grow cannot be 'perhaps'"),
        ("ray:ray://head:10001", "client protocol"),
        ("ray?source", "cannot be read"),
    ],
)
def test_wrong_settings_are_said(text: str, said: str) -> None:
    with pytest.raises(WeakspotError, match=said):
        RaySettings.parse(text)


def test_a_cluster_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'weakspot[scale]'")

    def nobody(**_: object) -> None:
        raise ConnectionError("Could not find any running Ray instance.")

    monkeypatch.setattr(ray, "init", nobody)
    with pytest.raises(WeakspotError, match="no Ray cluster at 'auto': ConnectionError") as caught:
        connect(RaySettings.parse("ray:auto"))
    assert "ray start" in (caught.value.fix or "")
    with pytest.raises(WeakspotError, match=r"no Ray cluster at .*: ConnectionRefusedError"):
        connect(RaySettings.parse("ray:127.0.0.1:1"))
    with pytest.raises(WeakspotError, match="'nowhere' is not an address"):
        connect(RaySettings.parse("ray:nowhere"))


def test_without_ray_the_extra_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(WeakspotError, match="needs a library that is missing") as caught:
        made("source=1")
    assert caught.value.fix == "pip install 'weakspot[scale]'"
