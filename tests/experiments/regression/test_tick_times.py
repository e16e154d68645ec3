"""Step times that exclude a busy machine but include waiting."""

from collections.abc import Callable

import numpy as np
import pytest

from nao_testbed.controllers import ConstantStiffness, Limits, Observation
from nao_testbed.experiments.regression import monitored_controller
from nao_testbed.experiments.regression.monitored_controller import StepTimes
from nao_testbed.experiments.regression.verdicts import (
    WARM_UP_STEPS,
    tick_times,
    too_slow,
)
from nao_testbed.models import Robot
from tests.controllers.conftest import make_observation

N = 200


def judged(wall_s: np.ndarray, cpu_s: np.ndarray) -> str | None:
    ticks = tick_times(StepTimes(wall_s=wall_s, cpu_s=cpu_s))
    assert ticks is not None
    return too_slow("it", ticks, 2e-3)


def test_interruptions_by_other_programs_are_ignored() -> None:
    cpu = np.full(N, 1e-3)
    wall = cpu.copy()
    wall[::3] += 20e-3
    assert judged(wall, cpu) is None


def test_compilation_in_the_first_steps_is_ignored() -> None:
    cpu = np.full(N, 1e-3)
    cpu[:WARM_UP_STEPS] = 1.0
    assert judged(cpu, cpu) is None


@pytest.mark.parametrize("waits", [True, False])
def test_sleeping_controller_counts_as_slow(waits: bool) -> None:
    wall = np.full(N, 5e-3)
    sentence = judged(wall, np.full(N, 1e-5) if waits else wall)
    assert sentence is not None
    assert sentence.startswith("it is too slow: its step takes 5 ms")


def test_one_slow_step_in_ten_is_detected() -> None:
    cpu = np.full(N, 1e-3)
    cpu[::10] = 10e-3
    assert "computes for 10 ms (95th percentile)" in (judged(cpu, cpu) or "")


def test_wall_time_equal_to_the_bound_fails() -> None:
    assert judged(np.full(N, 2e-3), np.full(N, 1e-3)) is not None


def test_wall_time_excludes_other_system_calls(
    two_leg: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy kernel preempts there: 13 % of short steps took 10 ms."""
    called: list[str] = []

    class Notes(ConstantStiffness):
        def step(self, observation: Observation) -> Limits:
            called.append("step")
            return super().step(observation)

    def clock(name: str) -> Callable[[], float]:
        def tell() -> float:
            called.append(name)
            return 0.0

        return tell

    for name in ("perf_counter", "thread_time"):
        monkeypatch.setattr(monitored_controller, name, clock(name))
    watched = monitored_controller.MonitoredController(Notes(1.0), "notes")
    watched.reset(two_leg)
    watched.step(make_observation(two_leg, "Stand"))
    assert called[1:-1] == ["perf_counter", "step", "perf_counter"]


def test_warm_up_steps_are_not_judged() -> None:
    few = np.full(WARM_UP_STEPS, 1e-3)
    assert tick_times(StepTimes(wall_s=few, cpu_s=few)) is None
