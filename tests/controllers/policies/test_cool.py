"""Shift of a policy's set-points: bounded, against the currents, and abandoned."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from nao_testbed.controllers.interface.robot_interface import Observation, ServoGains
from nao_testbed.controllers.policies.choice import make_policy_controller
from nao_testbed.controllers.policies.cool import (
    COOLING,
    MIN_SHIFT_RAD,
    WORSE,
    CooledPolicy,
)
from nao_testbed.controllers.policies.cooler_stance import (
    BOUND_RAD,
    RAMP_S,
    SETTLING_S,
    cooler_stance,
)
from nao_testbed.controllers.policies.text import installed, policy_text, short_names
from nao_testbed.models import BadInput, Robot
from tests.controllers.policies.test_onnx_policy import an_observation

JOINT = 1  # left_knee of the robot
DOWN = np.array([0.0, 0.0, -1.0])


class Holds:
    """Policy that moves its set-point by a fraction of the shift."""

    name, period_s = "holds", 0.02

    def __init__(self, share: float = 0.0) -> None:
        self.share, self.shift = share, np.zeros(6)

    def reset(self, robot: Robot) -> ServoGains | None:
        self.q = robot.posture("Stand").angles
        return None

    def step(self, observation: Observation) -> np.ndarray:
        return self.q + self.share * self.shift


def run(
    robot: Robot,
    policy: Holds,
    seconds: float,
    grow: float = 0.0,
    how: str = "nudge",
) -> tuple[CooledPolicy, np.ndarray]:
    """Return the controller and its shift under a constant current of one motor.

    `grow`: relative growth of the current per second after settling.
    """
    controller = CooledPolicy(policy, how=how)
    controller.reset(robot)
    seen = an_observation(robot, 0)
    posture = robot.posture("Stand").angles
    shift = np.zeros(6)
    for time_s in np.arange(0.0, seconds, 0.02):
        current = np.zeros(len(robot.motors))
        current[JOINT] = 1.0 + grow * max(time_s - SETTLING_S, 0.0)
        given = dataclasses.replace(
            seen,
            time_s=float(time_s),
            q=posture,
            v=np.zeros(6),
            gyro=np.zeros(3),
            gravity=DOWN,
            current=current,
            target=posture + shift,
            fsr=np.full_like(seen.fsr, 10.0),
        )
        limits = controller.step(given)
        assert limits.shift is not None
        shift = policy.shift = limits.shift
    return controller, shift


def test_shift_opposes_the_current_up_to_its_bound(two_leg: Robot) -> None:
    _, early = run(two_leg, Holds(), SETTLING_S - 0.1)
    assert not early.any()
    controller, shift = run(two_leg, Holds(), 80.0)
    assert shift[JOINT] == pytest.approx(-COOLING.bound_rad)
    assert np.count_nonzero(shift) == 1
    share, margin_m = controller.signals
    assert share == pytest.approx(1.0)
    assert margin_m > 0.02


def test_shift_excludes_what_the_policy_takes_back(two_leg: Robot) -> None:
    controller, shift = run(two_leg, Holds(share=-0.6), 100.0)
    assert shift.any()
    assert controller.signals[0] == pytest.approx(0.4, abs=0.01)


def test_shift_is_removed_when_the_loss_grows(two_leg: Robot) -> None:
    _, shift = run(two_leg, Holds(), 40.0, grow=0.1)
    assert WORSE < (1.0 + 0.1 * 35.0) ** 2
    assert not shift.any()


def test_cooler_stance_is_ramped(two_leg: Robot) -> None:
    q = two_leg.posture("Stand").angles
    change = cooler_stance(two_leg, q, DOWN)
    assert 0.0 < np.abs(change).max() <= BOUND_RAD
    seconds = SETTLING_S + 0.5 * RAMP_S
    controller, half = run(two_leg, Holds(), seconds, how="stance")
    assert half == pytest.approx(0.5 * change, abs=0.01 * BOUND_RAD)
    assert controller.accepted_share == pytest.approx(1.0)
    early, tiny = run(two_leg, Holds(), SETTLING_S + 0.06, how="stance")
    assert 0.0 < np.abs(tiny).max() < MIN_SHIFT_RAD
    assert early.accepted_share is None
    _, none = run(two_leg, Holds(), 40.0, grow=0.1, how="stance")
    assert not none.any()


def test_robot_on_its_side_has_no_cooler_stance(two_leg: Robot) -> None:
    q = two_leg.posture("Stand").angles
    steep = np.array([0.0, 1.0, 0.0])
    assert not cooler_stance(two_leg, q + 0.5, steep).any()


def test_option_cool_has_two_values(tmp_path: object) -> None:
    with pytest.raises(BadInput, match="cool is 'ice'; give cool=nudge or"):
        make_policy_controller("missing.onnx+cool=ice")
    names = short_names(["policy:a/ppo.onnx", "policy:a/ppo.onnx+cool=nudge"])
    assert names == ["ppo", "ppo+cool=nudge"]


def test_policy_file_in_an_installed_package_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = SimpleNamespace(submodule_search_locations=["lib/some_policies"])
    monkeypatch.setattr(
        "nao_testbed.controllers.policies.text.find_spec",
        lambda name: found if name == "some_policies" else None,
    )
    text = policy_text("package://some_policies/loco/a.onnx+cool=nudge")
    assert text == "policy:lib/some_policies/loco/a.onnx+cool=nudge"
    assert installed("b.onnx") == "b.onnx"
    with pytest.raises(BadInput, match="pip install --no-deps no-such, or give"):
        policy_text("package://no_such/a.onnx")
