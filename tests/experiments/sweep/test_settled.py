"""A robot settles once for its pushes; each result equals that of a whole trial."""

import dataclasses
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nao_testbed.experiments.closed_loop.trial import Push, TrialCfg, run_trial
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.sweep import settled
from nao_testbed.experiments.sweep.settled import drop_settled, run_from_settled
from nao_testbed.models import Robot, default_robot_folder
from nao_testbed.models.system import CAN_FORK
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from tests.experiments.sweep.engines.test_engines import is_gone, wait_until

copied = pytest.mark.skipif(not CAN_FORK, reason="this system copies no process")


@pytest.fixture(autouse=True)
def _none_before() -> Iterator[None]:
    drop_settled()
    yield
    drop_settled()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[SimulationCfg]:
    """Simulations created in this process."""
    found: list[SimulationCfg] = []

    class Counted(SimulatedRobot):
        def __init__(self, robot: Robot, cfg: SimulationCfg, posture: str) -> None:
            found.append(cfg)
            super().__init__(robot, cfg, posture)

    monkeypatch.setattr(settled, "SimulatedRobot", Counted)
    return found


def cfg_of(robot: Robot, push: Push, **changes: object) -> TrialCfg:
    cfg = TrialCfg(
        controller="fixed",
        robot_folder=robot.folder,
        posture="Stand",
        duration_s=6.0,
        simulation=SimulationCfg(seed=3),
        fast_forward=None,
        pushes=(push,),
        quiet_s=0.5,
    )
    return dataclasses.replace(cfg, **changes)  # type: ignore[arg-type]  # of a test


def timeless(result: TrialResult) -> TrialResult:
    return dataclasses.replace(result, wall_s=0.0)


def push_of(size_n: float, direction_deg: float = 0.0, at_s: float = 2.5) -> Push:
    return Push.towards(direction_deg, size_n, at_s=at_s)


@pytest.mark.slow(covers=True)
@copied
def test_each_push_equals_a_whole_trial(
    two_leg: Robot, made: list[SimulationCfg]
) -> None:
    """Results are equal to the last digit after any previous push, falls included."""
    pushes = [push_of(200.0), push_of(0.5, 90.0), push_of(0.5, 180.0), push_of(200.0)]
    cfgs = [cfg_of(two_leg, push) for push in pushes]
    found = [timeless(run_from_settled(cfg)) for cfg in cfgs]
    assert len(made) == 1
    assert found == [timeless(run_trial(cfg)) for cfg in cfgs]
    assert [result.fell for result in found] == [True, False, False, True]
    assert found[1].legs_joule_loss_j != found[2].legs_joule_loss_j


@pytest.mark.slow
def test_controller_state_is_kept() -> None:
    """`smart` holds array views that a deep copy would detach."""
    push = push_of(8.0, 45.0, at_s=3.0)
    simulation = SimulationCfg(seed=3, misalignment_deg={"LAnklePitch": 2.0})
    cfg = TrialCfg(
        controller="smart",
        robot_folder=default_robot_folder(),
        posture="PoseInit",
        duration_s=5.0,
        simulation=simulation,
        fast_forward=None,
        pushes=(push,),
    )
    run_from_settled(dataclasses.replace(cfg, pushes=(push_of(30.0, at_s=3.0),)))
    assert timeless(run_from_settled(cfg)) == timeless(run_trial(cfg))


@pytest.mark.slow(covers=True)
@copied
@pytest.mark.parametrize(
    "other",
    [
        {"controller": "constant:0.9"},
        {"simulation": SimulationCfg(seed=4)},
        {"pushes": (push_of(0.5, at_s=3.5),)},
        {"quiet_s": None},
    ],
)
def test_another_robot_settles_again(
    two_leg: Robot, made: list[SimulationCfg], other: dict[str, object]
) -> None:
    cfg = cfg_of(two_leg, push_of(0.5))
    run_from_settled(cfg)
    changed = dataclasses.replace(cfg, **other)  # type: ignore[arg-type]  # of a test
    assert timeless(run_from_settled(changed)) == timeless(run_trial(changed))
    assert len(made) == 2


@pytest.mark.slow(covers=True)
@copied
def test_a_killed_child_does_not_change_the_result(
    two_leg: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = cfg_of(two_leg, push_of(0.5))
    whole = run_trial(cfg)

    def die(*_args: object) -> None:
        os._exit(9)

    monkeypatch.setattr(settled, "_be_child", die)
    assert timeless(run_from_settled(cfg)) == timeless(whole)


HANGS = """
import os, time
from nao_testbed.controllers import registry
from nao_testbed.controllers.interface.controller import FixedStiffness
from nao_testbed.experiments.sweep.settled import run_from_settled
from nao_testbed.models import load_robot
from tests.experiments.sweep.files import TWO_LEG
from tests.experiments.sweep.test_settled import cfg_of, push_of

class Hangs(FixedStiffness):
    def step(self, observation):
        if observation.time_s > 2.6:
            print(os.getpid(), flush=True)
            time.sleep(600.0)
        return super().step(observation)

registry.BUILT_IN["hangs"] = lambda _: Hangs()
run_from_settled(cfg_of(load_robot(TWO_LEG), push_of(0.5), controller="hangs"))
"""


@pytest.mark.slow
@copied
def test_a_child_that_hangs_ends_with_its_worker() -> None:
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", HANGS],
        cwd=root,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as worker:
        assert worker.stdout is not None
        child = int(worker.stdout.readline())
        assert child != worker.pid
        worker.kill()
    wait_until(lambda: is_gone(child))


@copied
def test_only_the_main_thread_forks(
    two_leg: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock held by another thread would stay locked in the child."""
    forks: list[int] = []
    monkeypatch.setattr(os, "fork", lambda: forks.append(1))
    found: list[TrialResult] = []
    cfg = cfg_of(two_leg, push_of(0.5))
    thread = threading.Thread(target=lambda: found.append(run_from_settled(cfg)))
    thread.start()
    thread.join()
    assert not found[0].fell
    assert not forks


@pytest.mark.slow(covers=True)
def test_a_quiet_robot_ends_only_its_trial(two_leg: Robot) -> None:
    calm = run_from_settled(cfg_of(two_leg, push_of(0.0), duration_s=4.5))
    assert 3.2 <= calm.sim_s <= 4.0  # 0.5 s after the push, at the end of a block
    never = cfg_of(two_leg, push_of(0.0), duration_s=4.5, quiet_s=30.0)
    assert run_from_settled(never).sim_s == pytest.approx(4.5)
    late = run_trial(cfg_of(two_leg, push_of(0.0, at_s=3.5), duration_s=4.5))
    assert late.sim_s > 4.0  # quiet before the push does not count
