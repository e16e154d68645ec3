"""Invalid answers of a controller, each reported in one sentence."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from nao_testbed.controllers import Limits, Observation
from nao_testbed.controllers.interface.controller import has_signals
from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.regression import StandingCfg, run_standing_trial
from nao_testbed.experiments.regression.monitored_controller import (
    MonitoredController,
    find_breach,
)
from nao_testbed.models import Robot


def ones(robot: Robot, **changed: float) -> np.ndarray:
    array = np.ones(len(robot.joints))
    for name, value in changed.items():
        array[robot.joint_index(name)] = value
    return array


def test_limits_with_and_without_a_shift_are_valid(two_leg: Robot) -> None:
    sound = Limits(stiffness=ones(two_leg, left_knee=0.0))
    assert find_breach(sound, two_leg) is None
    assert find_breach(replace(sound, shift=-0.1 * ones(two_leg)), two_leg) is None


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (lambda r: None, "returned None from step"),
        (lambda r: {"stiffness": 1.0}, "returned a dict from step"),
        (ones, "returned a ndarray from step"),
        (lambda r: Limits(stiffness=cast(Any, [1.0])), "a stiffness that is a list"),
        (lambda r: Limits(stiffness=ones(r)[:-1]), "a stiffness of shape (5,)"),
        (lambda r: Limits(stiffness=ones(r)[None]), "a stiffness of shape (1, 6)"),
        (lambda r: Limits(stiffness=ones(r).astype(int)), "of dtype int64"),
        (lambda r: Limits(stiffness=ones(r).astype("f4")), "of dtype float32"),
        (
            lambda r: Limits(stiffness=ones(r, left_knee=np.nan)),
            "returned a stiffness of NaN for left_knee",
        ),
        (
            lambda r: Limits(stiffness=np.inf * ones(r)),
            "returned a stiffness of inf for left_hip and 5 more",
        ),
        (
            lambda r: Limits(stiffness=ones(r, right_hip=1.001)),
            "returned a stiffness of 1.001 for right_hip",
        ),
        (
            lambda r: Limits(stiffness=ones(r, right_hip=-0.2)),
            "returned a stiffness of -0.2 for right_hip",
        ),
        (
            lambda r: Limits(stiffness=ones(r), shift=ones(r, left_knee=np.nan)),
            "returned a shift of NaN for left_knee",
        ),
        (
            lambda r: Limits(stiffness=ones(r), shift=np.zeros(2)),
            "returned a shift of shape (2,)",
        ),
    ],
)
def test_invalid_answer_is_named(answer: Any, what: str, two_leg: Robot) -> None:
    breach = find_breach(answer(two_leg), two_leg)
    assert breach is not None
    assert what in breach[0]
    assert breach[1].startswith("it must be") or "from 0 to 1" in breach[1]


class Late:
    """Returns valid limits at first, then the given answer."""

    name = "late"

    def __init__(self, then: Any, steps: int = 25) -> None:
        self.then, self.left = then, steps

    def reset(self, robot: Robot) -> None:
        self.robot = robot

    def step(self, observation: Observation) -> Any:
        self.left -= 1
        if self.left < 0:
            return self.then(self.robot)
        return Limits(stiffness=ones(self.robot))


def test_breach_ends_the_trial_with_its_time(short: StandingCfg, tmp_path: Any) -> None:
    trial = run_standing_trial(Late(lambda robot: None), short, tmp_path)
    assert trial.breach is not None
    assert trial.breach.startswith("late returned None from step at 0.5")
    assert trial.result.sim_s < 0.6
    assert len(trial.decisions.time_s) == 25
    assert trial.run.state.startswith("failed: ")
    for judge in (trial.stays_up, trial.does_not_chatter, trial.keeps_its_contract):
        with pytest.raises(AssertionError, match="late returned None"):
            judge()
    with pytest.raises(AssertionError, match="late returned None"):
        trial.never_above(200.0)


@pytest.mark.parametrize("kind", [SystemExit, GeneratorExit, KeyboardInterrupt])
def test_exception_that_would_end_the_session_is_a_breach(
    short: StandingCfg, tmp_path: Any, kind: type[BaseException]
) -> None:
    def leave(robot: Robot) -> Limits:
        raise kind

    trial = run_standing_trial(Late(leave, steps=0), short, tmp_path)
    assert trial.breach is not None
    assert trial.breach.startswith(f"late raised {kind.__name__} in step (test_")


def test_breach_names_the_line_in_the_controllers_code(
    short: StandingCfg, tmp_path: Any
) -> None:
    def divide(robot: Robot) -> Limits:
        return Limits(stiffness=np.ones(len(robot.joints) // 0))

    trial = run_standing_trial(Late(divide, steps=0), short, tmp_path)
    assert trial.breach is not None
    here = divide.__code__.co_firstlineno + 1
    assert trial.breach.startswith("late raised ZeroDivisionError: ")
    assert trial.breach.endswith(f" in step (test_contract.py:{here}) at 0.00 s.")


@pytest.mark.parametrize("field", ["q", "current", "fsr"])
def test_writing_into_the_observation_is_a_breach(
    short: StandingCfg, tmp_path: Any, field: str
) -> None:
    """Otherwise a controller could change the recording by which it is judged."""

    class Paints(Late):
        name = "paints"

        def step(self, observation: Observation) -> Any:
            if self.left < 10:
                getattr(observation, field)[0] += 0.5
            return super().step(observation)

    trial = run_standing_trial(Paints(None), short, tmp_path)
    assert trial.breach is not None
    assert trial.breach.startswith(
        f"paints wrote into the observation ({field}) at 0.32 s; it must not change it"
    )


def test_answer_changed_afterwards_is_kept_unchanged(
    short: StandingCfg, tmp_path: Any
) -> None:
    class Reuses:
        name = "reuses"

        def reset(self, robot: Robot) -> None:
            self.stiffness = ones(robot)

        def step(self, observation: Observation) -> Limits:
            self.stiffness -= 1e-3
            return Limits(stiffness=self.stiffness)

    made = run_standing_trial(Reuses, short, tmp_path).decisions
    assert (np.diff(made.stiffness, axis=0) < 0.0).all()


def test_controller_that_fails_in_reset_does_not_start(
    short: StandingCfg, tmp_path: Any
) -> None:
    class Unready(Late):
        name = "unready/at all"

        def reset(self, robot: Robot) -> None:
            raise RuntimeError("no licence.")

    trial = run_standing_trial(Unready(None), short, tmp_path)
    assert trial.breach is not None
    assert trial.breach.startswith("unready/at all raised RuntimeError: no licence in ")
    assert trial.result.failure == trial.breach
    assert trial.ticks is None
    assert trial.folder.name == "unready-at-all"
    with pytest.raises(AssertionError, match="no licence"):
        trial.stays_up()


def test_uncallable_step_is_reported_without_a_line(
    short: StandingCfg, tmp_path: Any
) -> None:
    class Odd(Late):
        def step(self) -> Any:  # type: ignore[override]
            return None

    trial = run_standing_trial(cast(Any, Odd(None)), short, tmp_path)
    assert trial.breach is not None
    assert trial.breach.startswith("late raised TypeError: ")
    assert trial.breach.endswith(" in step at 0.00 s.")


def test_monitored_controller_keeps_signals_and_switches_but_not_name() -> None:
    controller: Any = make_controller("minheat")
    watched: Any = MonitoredController(controller, "mine")
    assert watched.signal_names == controller.signal_names
    watched.enabled = False
    assert controller.enabled is False
    assert (watched.name, controller.name) == ("mine", "minheat")
    assert has_signals(watched)
    assert not hasattr(MonitoredController(make_controller("fixed"), "f"), "signals")
