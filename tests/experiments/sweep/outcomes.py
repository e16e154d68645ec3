"""Sweeps of robots with known outcomes, for tests of their summaries."""

from collections.abc import Mapping
from typing import Any

from nao_testbed.experiments.closed_loop.trial_result import JointResult, TrialResult
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome

PAIRS = """\
name: pairs
controller: [fixed, smart, minheat]
friction: [0.5, 0.7]
slope_deg: {uniform: [-2, 2]}
robots: 5
"""
LOSS = {"fixed": 1000.0, "smart": 400.0, "minheat": 100.0}


def result(
    *, joints: Mapping[str, Mapping[str, Any]] | None = None, **fields: Any
) -> TrialResult:
    """Return a result with the given values only."""
    rest: dict[str, Any] = {
        "controller": "",
        "left_leg_rise_k": None,
        "right_leg_rise_k": None,
        "fell": False,
        "failure": None,
        "sim_s": 0.0,
        "wall_s": 0.0,
        "physics_s": 0.0,
    }
    named = {name: _joint(**values) for name, values in (joints or {}).items()}
    return TrialResult(joints=named, **(rest | fields))


NUMBERS = ("start_degc", "end_degc", "rise_k", "mean_abs_effort_nm", "joule_loss_j")
NEVER = ("time_to_80_degc_s", "forecast_80_degc_s")


def _joint(**fields: Any) -> JointResult:
    rest: dict[str, Any] = dict.fromkeys((*NUMBERS, "steady_degc"), 1.0)
    return JointResult(**(rest | dict.fromkeys(NEVER) | fields))


def outcome(
    trial: SweepTrial, wall_s: float | None = None, **fields: Any
) -> TrialOutcome:
    return TrialOutcome(
        result=result(controller=trial.controller, **fields), wall_s=wall_s
    )


def heat(trial: SweepTrial) -> TrialOutcome:
    """Robot r loses (1 + r) × LOSS; on robot 4 minheat equals fixed; robot 3 falls."""
    robot, controller = trial.robot, trial.controller
    if robot == 3 and controller == "smart":
        return outcome(trial, fell=True, failure="fell at 2 s", legs_power_w=1e6)
    loss = LOSS["fixed" if (robot, controller) == (4, "minheat") else controller]
    return outcome(
        trial,
        legs_joule_loss_j=(1.0 + robot) * loss,
        legs_power_w=loss / 100.0,
        least_power_w=0.5,
        least_with_gears_w=0.25,
        largest_shift_deg=0.1 * robot if controller == "minheat" else 0.0,
        settled_s=None if robot == 0 else 10.0 + robot,
    )


BAND = """\
name: band
controller: [fixed, smart]
start_degc: {Legs: {uniform: [25, 45]}}
robots: 4
keep:
  controller: fixed
  near: published
  within: {left_leg_rise_k: 30, right_leg_rise_k: 30}
  mirrored: true
"""
JOINTS = ("HipRoll", "HipPitch", "KneePitch", "AnkleRoll", "AnklePitch")
RISES = {"fixed": (110.0, 50.0), "smart": (44.0, 20.0)}


def stand(trial: SweepTrial) -> TrialOutcome:
    """Robot 3 is far off; robot 2 is a mirror; with smart, robot 1 is 10 K hotter."""
    hot, other = RISES[trial.controller]
    hot += 10.0 if trial.controller == "smart" and trial.robot == 1 else 0.0
    sides = "LR" if trial.robot == 2 else "RL"
    ends = {side + joint: 40.0 for side in "LR" for joint in JOINTS}
    ends[sides[1] + "AnklePitch"] = 30.0 + hot / 2.0
    ends[sides[0] + "HipPitch"] = 45.0
    left, right = (other, hot) if trial.robot == 2 else (hot, other)
    if trial.robot == 3:
        left = 500.0
    joints = {
        n: {"end_degc": e, "rise_k": 1.0, "joule_loss_j": 1.0} for n, e in ends.items()
    }
    return outcome(trial, left_leg_rise_k=left, right_leg_rise_k=right, joints=joints)
