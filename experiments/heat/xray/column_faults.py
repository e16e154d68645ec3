"""Hypotheses on wrong columns of a file: legs, signs of torques, commands as angles.

The prior of each fault is small; its evidence is that of the log without the fault. The
evidence of an opposite sign is computed to first order about the best explanation, and
then completely for the most likely motors. The servo's law is a further evidence of the
sign: set-point minus angle is in proportion to the torque.

If `q` holds commands, the robot stood at these angles minus torque over gain. Such a
column has no encoder steps; its prior follows from the readings (`command_odds`).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from nao_testbed.experiments.heat.logs.record import Log
from nao_testbed.experiments.heat.xray.standing import Standing, servo_misfit
from nao_testbed.experiments.heat.xray.standing_model import TORQUE_NM, StandingModel
from nao_testbed.experiments.heat.xray.suspects import (
    Suspects,
    evidence_about,
    evidence_of,
)
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray

P_EXCHANGED = 0.01
"""Prior odds that a file has the names of the legs exchanged."""
P_REVERSED = 0.01
"""Prior odds that the current or torque of one leg motor has the opposite sign."""
LEAST_SEARCHED = 0.01
"""Minimum probability, to first order, of a sign whose evidence is then computed."""
MAX_SEARCHES = 2
IMPOSSIBLE = 20.0
"""Log odds against a fault at which its evidence is no longer refined."""
SURE_SIGN = 50.0
"""Increase of the servos' misfit at which a sign is certain."""
SMALLEST_NM = 0.5 * TORQUE_NM
"""Torque whose sign has no effect on the evidence."""
EXCHANGED = "names of the legs exchanged"
ALL = "every motor"
"""In place of a motor: currents and torques count in the other direction."""
COMMANDS = "q holds commands"
"""In place of a motor: the angles are set-points."""
ODDS, CONSTANT_ODDS, MIRRORED_ODDS = 0.3, 3.0, 20.0
"""Prior odds of commands for readings without encoder steps: that vary; that are
constant in all legs; that are also equal in both legs."""
GRID, ON_GRID, LEAST_VALUES = 0.05, 0.9, 3
"""Largest distance from an encoder step, relative to it; share of readings, and number
of distinct values, that make readings those of the encoders."""
READ_ROWS = 3000
"""Number of last readings that are compared with encoder steps."""


@dataclass(frozen=True, kw_only=True)
class ColumnFault:
    """Hypothesis that columns of the file are wrong."""

    motor: str | None = None
    """Motor whose current or torque has the opposite sign, or `COMMANDS`; None:
    exchanged legs."""
    probability: float

    @property
    def label(self) -> str:
        """Name of the hypothesis."""
        if self.motor == COMMANDS:
            return COMMANDS
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
        if self.motor == COMMANDS:
            return (
                f"The angles q are probably commands, not measurements ({chance}): "
                "they show no encoder steps, and the torques fit the posture to which "
                "they would lead. Record measured angles, and name these columns "
                "target. No joint is named."
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
        if self.motor == COMMANDS:
            return (
                f"which joint: the angles q may be commands ({self.probability:.0%}); "
                "they show no encoder steps. Record set-points too: they must differ "
                "from measured angles."
            )
        return (
            f"which joint: the current or torque of {self.motor} may have the opposite "
            f"sign ({self.probability:.0%}). Load the joint by hand: the torque must "
            "have the sign of set-point minus angle."
        )


def find_column_faults(
    model: StandingModel, suspects: Suspects, odds: float = 0.0
) -> tuple[ColumnFault, ...]:
    """Return the possible faults of a file's columns, with their probabilities.

    Args:
        model: model of the log.
        suspects: explanations of the log.
        odds: `command_odds` of the log.
    """
    robot, seen = model.robot, model.standing
    log_priors: dict[str | None, float] = {
        None: float(np.log(P_EXCHANGED)),
        **_likely_signs(model, suspects),
    }
    if odds > 0.0:
        log_priors[COMMANDS] = float(np.log(odds))
    log_odds = [0.0]
    for motor, log_prior in log_priors.items():
        other = with_exchanged_legs(seen, robot)
        if motor == COMMANDS:
            other = with_commands(seen, robot)
        elif motor is not None:
            other = with_reversed(seen, robot, motor)
        least = suspects.log_evidence - log_prior - IMPOSSIBLE
        evidence = evidence_of(StandingModel(robot, other, model.assumptions), least)
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


def with_commands(standing: Standing, robot: Robot) -> Standing:
    """Return the means of a log whose leg angles are set-points: q* - T / kp."""
    legs = [robot.joint_index(name) for name in robot.leg_joints]
    kp = np.array([joint.kp for joint in robot.joints])
    torque = (robot.servo_torques @ standing.effort)[robot.servo_of_joint]
    q = standing.q.copy()
    q[legs] -= (torque / kp)[legs]
    return replace(standing, q=q, target=standing.q)


def command_odds(log: Log, robot: Robot, still_s: float) -> float:
    """Return the prior odds that the angles of a log without set-points are commands.

    0 if the angles lie on steps of the encoders: multiples of one step, or of one step
    beside an offset.

    Args:
        log: log from `check_sensors`.
        robot: robot of the log.
        still_s: time in s for which the robot stood still at the end.
    """
    legs = robot.leg_joints
    rows = np.flatnonzero(log.time_s >= log.time_s[-1] - still_s)[-READ_ROWS:]
    read = [log.signals["q"][name][rows] for name in legs]
    read = [values[np.isfinite(values)] for values in read]
    steps = [robot.joints[robot.joint_index(name)].encoder_step for name in legs]
    if min(steps) > 0.0:
        counts = [v / step for v, step in zip(read, steps, strict=True)]
        sizes = {int(x) for c in counts for x in np.unique(np.rint(np.abs(c)))} - {0}
        offsets = [c - np.median(c) for c in counts]
        changes = sum(np.unique(np.rint(c)).size - 1 for c in offsets)
        for found, many in ((counts, len(sizes)), (offsets, changes)):
            if many >= LEAST_VALUES and all(map(_is_on_grid, found)):
                return 0.0
    if any(np.ptp(values) > 0.0 for values in read):
        return ODDS
    last = np.abs([values[-1] for values in read])
    left, right = last[-2 * (last.size // 2) :].reshape(2, -1)
    is_mirrored = last.any() and np.array_equal(left, right)
    return MIRRORED_ODDS if is_mirrored else CONSTANT_ODDS


def _is_on_grid(counts: FloatArray) -> bool:
    return float((np.abs(counts - np.rint(counts)) < GRID).mean()) >= ON_GRID
