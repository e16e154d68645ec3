"""Complete analysis of the causes of heat in a log, and its JSON."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from nao_testbed.controllers.policies.choice import make_policy_controller
from nao_testbed.controllers.policies.text import PREFIX
from nao_testbed.experiments.common.drawing.power_unit import PowerUnit, power_unit
from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.heat.logs.sensor_checks import check_sensors
from nao_testbed.experiments.heat.xray.advice import Advice, find_advice
from nao_testbed.experiments.heat.xray.column_faults import (
    ColumnFault,
    command_odds,
    find_column_faults,
)
from nao_testbed.experiments.heat.xray.losses import (
    LIMIT_DEGC,
    LegAccount,
    LegLosses,
    Saving,
)
from nao_testbed.experiments.heat.xray.standing import (
    Standing,
    find_standing,
)
from nao_testbed.experiments.heat.xray.standing_model import Assumptions, StandingModel
from nao_testbed.experiments.heat.xray.suspects import (
    FLOOR_CAUSES,
    LOAD_CAUSE,
    MAX_OFF,
    RIVAL,
    Explanation,
    JointError,
    Suspects,
    find_suspects,
)
from nao_testbed.experiments.heat.xray.verdict import (
    Partition,
    reach_verdict,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.sim.recording.run_folder import read_run

MAX_MISFIT = 40.0
"""Largest sum of squares of an explained log, with some sixty residuals, most of them
wide bounds. Simulated robots with up to three misaligned joints, a slope and a load
have 5 to 30."""
HEAVIER = 0.05
"""Largest relative difference between the weight on the soles and that of the model."""


@dataclass(frozen=True, kw_only=True)
class XrayCfg:
    """Options; see `nao-testbed xray --help`."""

    source: Path
    """A run folder, or a log file of `read_log`."""
    entries: tuple[str, ...] = ()
    """Map of the columns, as in `read_log`."""
    assumptions: Assumptions = field(default_factory=Assumptions)


@dataclass(frozen=True, kw_only=True, eq=False)
class Xray:
    """Analysis of the legs' heat in a log."""

    standing: Standing
    model: StandingModel
    suspects: Suspects
    losses: LegLosses
    """Losses under the best explanation."""
    saving: Saving | None
    """Saving by the set-point of the most likely joint; None if no joint is named, or
    none helps."""
    column_faults: tuple[ColumnFault, ...] = ()
    """Possible faults of the file's columns; empty for a run folder."""

    @property
    def posture(self) -> str | None:
        """Name of the held posture; None: no known posture."""
        return self.model.posture.name if self.model.posture else None

    @property
    def is_explained(self) -> bool:
        """True if some set of causes explains the log."""
        return self.suspects.best.misfit <= MAX_MISFIT

    @property
    def probable_fault(self) -> ColumnFault | None:
        """Fault of the file's columns that is more likely than all else."""
        return next((f for f in self.column_faults if f.probability > 0.5), None)

    @cached_property
    def verdict(self) -> Partition:
        """Partition of what may be wrong."""
        mirror = None
        if self.standing.accelerometer is None:
            legs = self.model.robot.leg_joints
            half = len(legs) // 2
            mirror = dict(zip(legs, (*legs[half:], *legs[:half]), strict=True))
        return reach_verdict(self.suspects, mirror, self.column_faults)

    @cached_property
    def advice(self) -> Advice | str:
        """Cooler stance, or the reason why this log does not determine one."""
        if self.probable_fault is not None:
            return "columns of the file are probably wrong"
        if not self.is_explained:
            return "no combination of errors explains the log"
        account = LegAccount(self.model, self.standing, self.suspects.fit)
        return find_advice(self.model, self.suspects, account)

    @property
    def unit(self) -> PowerUnit:
        """W, or percent of the heat of the legs if only ratios are known."""
        thermal, legs_w = self.model.robot.thermal, self.losses.loss_w
        return power_unit(thermal, "heat of the legs", legs_w, symbol="%")

    @property
    def named(self) -> dict[str, float]:
        """Causes named as a result, each with its probability."""
        return self.verdict.causes if self.is_explained else {}

    def as_json(self) -> dict[str, Any]:
        """Return the data for `--json`."""
        seen, suspects, losses = self.standing, self.suspects, self.losses
        return {
            "experiment": "xray",
            "log": seen.name,
            "log_s": seen.log_s,
            "still_s": seen.still_s,
            "posture": self.posture,
            "feet": "placed" if self.model.uses_placement else "anywhere",
            "motors": {
                motor.motor: {
                    **{k: v for k, v in asdict(motor).items() if k != "motor"},
                    "useless_w": motor.useless_w,
                }
                for motor in losses.motors
            },
            "limit_degc": LIMIT_DEGC,
            "legs": {
                "loss_w": losses.loss_w,
                "needed_w": losses.needed_w,
                "useless_w": losses.useless_w,
            },
            "internal_wrench": asdict(losses.wrench),
            "is_explained": self.is_explained,
            "most_misfit": MAX_MISFIT,
            "named": self.named,
            "column_faults": [asdict(one) for one in self.column_faults],
            "hypotheses": [asdict(one) for one in self.verdict.hypotheses],
            "gear_friction_factor": suspects.friction,
            "best": _explanation_json(suspects.best),
            "rivals": [_explanation_json(one) for one in suspects.rivals],
            "joints": {
                name: {
                    **_error_json(suspects.error_of(name)),
                    "misfit": suspects.likeliest_with(name).misfit,
                    "probability": suspects.probability_of(name),
                }
                for name in suspects.by_joint
            },
            "both_ankles_or_floor": {
                name: {
                    **_error_json(suspects.error_of(name)),
                    "ankles": list(suspects.ankles[name]),
                    "probability": suspects.probability_of(name),
                }
                for name in FLOOR_CAUSES
            },
            "load": {
                "kg": suspects.likeliest_with(LOAD_CAUSE).load_kg,
                "probability": suspects.probability_of(LOAD_CAUSE),
            },
            "saving": (
                {**asdict(self.saving), "saved_w": self.saving.saved_w}
                if self.saving
                else None
            ),
            "cooler_stance": (
                None if isinstance(self.advice, str) else asdict(self.advice)
            ),
            "cannot_tell": list(undetermined(self)),
            "remarks": list(seen.remarks),
        }


def _explanation_json(one: Explanation) -> dict[str, Any]:
    return {
        "joints": {e.joint: _error_json(e) for e in one.errors},
        "load_kg": one.load_kg,
        "probability": one.probability,
        "misfit": one.misfit,
    }


def _error_json(error: JointError) -> dict[str, float]:
    return {
        "error_deg": error.degrees,
        "low_deg": error.low_deg,
        "high_deg": error.high_deg,
    }


def with_gains_of(source: Path, robot: Robot) -> Robot:
    """Return the robot with the servo gains of a run: those of its policy, if any.

    Raises:
        BadInput: the policy's file is missing, or it does not fit the robot.
    """
    if not (source / "meta.json").is_file():
        return robot
    controller = str(read_run(source).meta.config.get("controller"))
    if not controller.startswith(PREFIX):
        return robot
    made = make_policy_controller(controller.removeprefix(PREFIX))
    gains = made.policy.reset(robot)
    if gains is None:
        return robot
    joints = zip(robot.joints, gains.kp.tolist(), gains.kd.tolist(), strict=True)
    return replace(
        robot, joints=tuple(replace(one, kp=kp, kd=kd) for one, kp, kd in joints)
    )


def xray(
    cfg: XrayCfg,
    robot: Robot,
    on_fit: Callable[[int, int], None] = lambda _done, _of: None,
) -> Xray:
    """Read a log and find the causes of its legs' heat.

    Args:
        cfg: options.
        robot: robot of the log.
        on_fit: callback, as in `find_suspects`.

    Raises:
        BadInput: the log cannot be read, or it does not end with the robot standing
            still on both feet.
    """
    robot = with_gains_of(cfg.source, robot)
    if not robot.has_legs:
        raise BadInput(
            f"robot {robot.name!r} lacks a leg joint; the X-ray needs a robot "
            "that stands on two legs."
        )
    log = read_log(cfg.source, robot, cfg.entries)
    standing = find_standing(log, robot)
    model = StandingModel(robot, standing, cfg.assumptions)
    suspects = find_suspects(model, on_fit)
    faults: tuple[ColumnFault, ...] = ()
    if log.run_state is None:
        odds = 0.0  # with set-points, `find_standing` has decided
        if standing.target is None:
            odds = command_odds(check_sensors(log, robot), robot, standing.still_s)
        faults = find_column_faults(model, suspects, odds)
    account = LegAccount(model, standing, suspects.fit)
    found = Xray(
        standing=standing,
        model=model,
        suspects=suspects,
        losses=account.losses(),
        saving=None,
        column_faults=faults,
    )
    worst = next((name for name in found.named if name in suspects.by_joint), None)
    if worst is None:
        return found
    motors = robot.motors_of([worst])
    if not standing.is_signed[motors].all():  # which way it would save is unknown
        return found
    error = suspects.error_of(worst)
    return replace(
        found, saving=account.saving(worst, error.degrees, suspects.friction)
    )


def undetermined(found: Xray) -> tuple[str, ...]:
    """Return sentences on what this log cannot determine, and why."""
    seen, model, suspects = found.standing, found.model, found.suspects
    sentences = []
    if not model.uses_placement:
        why = (
            "the log has no known posture on both feet"
            if model.posture is None
            else "the placement of the feet is unknown"
        )
        sentences.append(
            f"which joint of a leg: {why}, so hip pitch, ankle pitch and hip yaw-pitch "
            "of a leg are indistinguishable, as are hip roll and ankle roll. The leg "
            "and the size of pitch and roll errors are still correct."
        )
    if seen.target is None:
        sentences.append(
            "angles finer than an encoder step: the log has no set-points to derive "
            "them from the currents. Intervals are wider."
        )
    if seen.fsr is None:
        sentences.append(
            "centres of pressure: the log has no force sensors. They are computed from "
            "the currents, within the gear friction."
        )
    if seen.accelerometer is None:
        sentences.append(
            "which leg: the log has no accelerometer, and an error of the left leg "
            "is indistinguishable from the opposite error of the right leg."
        )
    sentences += [f.test for f in found.column_faults if f.probability > RIVAL]
    if seen.temperature is None:
        sentences.append("times to the limit: the log has no temperatures.")
    for name, pair in suspects.ankles.items():
        if pair and suspects.probability_of(name) > RIVAL:
            sentences.append(
                f"ankles or floor: equal errors of {pair[0]} and {pair[1]} have the "
                "effect of a floor slope. Turn the robot around: errors of ankles keep "
                "their sign, a slope changes it."
            )
    if not found.is_explained:
        sentences.append(
            f"the cause: no combination of up to {MAX_OFF} joints, a floor slope and "
            f"a load explains the log (misfit {suspects.best.misfit:.0f}, usually at "
            f"most {MAX_MISFIT:.0f}). Possible causes: an uneven floor, a hand that "
            "holds the robot, errors of more joints."
        )
    if isinstance(found.advice, str):
        sentences.append(f"a cooler stance: {found.advice}.")
    if seen.fsr is not None:
        share = float(seen.fsr.sum()) / model.weight - 1.0
        if abs(share) > HEAVIER:
            sentences.append(
                f"accuracy of the needed watts: the soles measure {seen.fsr.sum():.1f} "
                f"N, but the robot model weighs {model.weight:.1f} N."
            )
    return tuple(sentences)
