"""Hypotheses on wrong columns of a file: exchanged legs, a torque of opposite sign.

The prior of each fault is small; its evidence is that of the log without the fault. The
evidence of an opposite sign is computed to first order about the best explanation, and
then completely for the most likely motors. The servo's law is a further evidence of the
sign: set-point minus angle is in proportion to the torque.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from nao_testbed.experiments.heat.xray.standing import Standing, servo_misfit
from nao_testbed.experiments.heat.xray.standing_model import TORQUE_NM, StandingModel
from nao_testbed.experiments.heat.xray.suspects import (
    Suspects,
    evidence_about,
    evidence_of,
)
from nao_testbed.models import Robot

P_EXCHANGED = 0.01
"""Prior odds that a file has the names of the legs exchanged."""
P_REVERSED = 0.01
"""Prior odds that the current or torque of one leg motor has the opposite sign."""
LEAST_SEARCHED = 0.01
"""Minimum probability, to first order, of a sign whose evidence is then computed."""
MAX_SEARCHES = 2
SURE_SIGN = 50.0
"""Increase of the servos' misfit at which a sign is certain."""
SMALLEST_NM = 0.5 * TORQUE_NM
"""Torque whose sign has no effect on the evidence."""
EXCHANGED = "names of the legs exchanged"
ALL = "every motor"
"""In place of a motor: currents and torques count in the other direction."""


@dataclass(frozen=True, kw_only=True)
class ColumnFault:
    """Hypothesis that columns of the file are wrong."""

    motor: str | None = None
    """Motor whose current or torque has the opposite sign; None: exchanged legs."""
    probability: float

    @property
    def label(self) -> str:
        """Name of the hypothesis."""
        return EXCHANGED if self.motor is None else f"opposite sign of {self.motor}"

    @property
    def sentence(self) -> str:
        """Sentence for a fault that is more likely than all else."""
        chance = f"probability {self.probability:.0%}"
        if self.motor is None:
            return (
                f"The names of the legs are probably exchanged in this log ({chance}): "
                "exchange left and right, and repeat. No joint is named."
            )
        return (
            f"The current or torque of {self.motor} probably has the opposite sign in "
            f"this log ({chance}): multiply it by -1, and repeat. No joint is named."
        )

    @property
    def test(self) -> str:
        """What the fault leaves undetermined, and how to decide it."""
        if self.motor is None:
            return (
                "which leg: the names of the legs may be exchanged "
                f"({self.probability:.0%}). Move a joint by hand and see which column "
                "follows."
            )
        return (
            f"which joint: the current or torque of {self.motor} may have the opposite "
            f"sign ({self.probability:.0%}). Load the joint by hand: the torque must "
            "have the sign of set-point minus angle."
        )


def find_column_faults(
    model: StandingModel, suspects: Suspects
) -> tuple[ColumnFault, ...]:
    """Return the possible faults of a file's columns, with their probabilities.

    Args:
        model: model of the log.
        suspects: explanations of the log.
    """
    robot, seen = model.robot, model.standing
    log_priors: dict[str | None, float] = {
        None: float(np.log(P_EXCHANGED)),
        **_likely_signs(model, suspects),
    }
    log_odds = [0.0]
    for motor, log_prior in log_priors.items():
        other = with_exchanged_legs(seen, robot)
        if motor is not None:
            other = with_reversed(seen, robot, motor)
        evidence = evidence_of(StandingModel(robot, other, model.assumptions))
        log_odds.append(log_prior + evidence - suspects.log_evidence)
    chances = softmax(log_odds)[1:].tolist()
    return tuple(
        ColumnFault(motor=motor, probability=chance)
        for motor, chance in zip(log_priors, chances, strict=True)
    )


def _likely_signs(model: StandingModel, suspects: Suspects) -> dict[str | None, float]:
    """Return the motors whose sign is in doubt, with its log prior.

    The prior includes the evidence of the servos.
    """
    robot, seen = model.robot, model.standing
    motors = _leg_motors(robot)
    own = servo_misfit(seen, robot)
    log_priors: dict[str | None, float] = {}
    others = []
    for name in motors:
        other = with_reversed(seen, robot, name)
        worse = servo_misfit(other, robot) - own
        has_effect = abs(seen.effort[robot.motor_index(name)]) > SMALLEST_NM
        if other is not seen and has_effect and worse < SURE_SIGN:
            log_priors[name] = float(np.log(P_REVERSED / len(motors)) - 0.5 * worse)
            others.append(model.with_standing(other))
    gains = evidence_about(model, suspects, others)
    log_odds = {
        name: float(log_priors[name] + gain)
        for name, gain in zip(log_priors, gains, strict=True)
    }
    likely = sorted(log_odds, key=lambda name: -log_odds[name])[:MAX_SEARCHES]
    least = np.log(LEAST_SEARCHED)
    found = {name: log_priors[name] for name in likely if log_odds[name] > least}
    if found:
        worse = servo_misfit(with_reversed(seen, robot, ALL), robot) - own
        found[ALL] = float(np.log(P_REVERSED) - 0.5 * worse)
    return found


def _leg_motors(robot: Robot) -> list[str]:
    return [robot.motor_names[m] for m in robot.motors_of(robot.leg_joints)]


def with_reversed(standing: Standing, robot: Robot, motor: str) -> Standing:
    """Return means with the opposite torque of a motor; the same if it is unknown."""
    k = slice(None) if motor == ALL else robot.motor_index(motor)
    is_turned = standing.is_signed[k] & (standing.effort[k] != 0.0)
    if not np.any(is_turned):
        return standing
    effort = standing.effort.copy()
    effort[k] = np.where(is_turned, -effort[k], effort[k])
    return replace(standing, effort=effort)


def with_exchanged_legs(standing: Standing, robot: Robot) -> Standing:
    """Return the means of a log whose names of the legs are exchanged."""
    legs = np.array([robot.joint_index(name) for name in robot.leg_joints])
    other = np.roll(legs, len(legs) // 2)
    joints, motors = np.arange(len(robot.joints)), np.arange(len(robot.motors))
    joints[legs] = other
    motors[robot.servo_of_joint[legs]] = robot.servo_of_joint[other]
    return replace(
        standing,
        q=standing.q[joints],
        target=None if standing.target is None else standing.target[joints],
        effort=standing.effort[motors],
        effort_sd=standing.effort_sd[motors],
        is_signed=standing.is_signed[motors],
    )
