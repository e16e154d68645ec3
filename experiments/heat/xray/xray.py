"""From a log to where its heat comes from: all parts in turn, and the JSON of it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from experiments.heat.xray.log import read_sensor_log
from experiments.heat.xray.losses import LIMIT_DEGC, LegAccount, LegLosses, Saving
from experiments.heat.xray.standing import Standing, find_standing
from experiments.heat.xray.standing_model import Assumptions, StandingModel
from experiments.heat.xray.suspects import (
    Explanation,
    JointError,
    Suspects,
    find_suspects,
)
from models import BadInput, Robot

MOST_MISFIT = 60.0
"""Sum of squares of some sixty residuals, most of which are wide bounds: robots of the
simulator that the model knows have 5 to 30."""
HEAVIER = 0.05
"""Share of the weight by which soles may feel another one."""
MAYBE = 0.1
"""Probability below which a joint is not named as a suspect."""


@dataclass(frozen=True, kw_only=True)
class XrayCfg:
    """What is asked for; see `nao-testbed xray --help`."""

    source: Path
    """A run folder, a CSV file or a Parquet file."""
    assumptions: Assumptions = field(default_factory=Assumptions)


@dataclass(frozen=True, kw_only=True, eq=False)
class Xray:
    """What a log tells of the heat of the legs."""

    standing: Standing
    model: StandingModel
    suspects: Suspects
    losses: LegLosses
    """Under the best explanation."""
    saving: Saving | None
    """Of the most likely joint's set-point; None where none is off, or none helps."""

    @property
    def posture(self) -> str | None:
        """Name of the posture that it holds; None: none that is known."""
        return self.model.posture.name if self.model.posture else None

    def as_json(self) -> dict[str, Any]:
        """Return the contract of `--json`."""
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
            "best": _explanation_json(suspects.best),
            "rivals": [_explanation_json(one) for one in suspects.rivals],
            "joints": {
                name: {
                    **_error_json(one.errors[0]),
                    "misfit": one.misfit,
                    "probability": suspects.probability_of(name),
                }
                for name, one in suspects.by_joint.items()
            },
            "saving": (
                {**asdict(self.saving), "saved_w": self.saving.saved_w}
                if self.saving
                else None
            ),
            "cannot_tell": list(cannot_tell(self)),
            "remarks": list(seen.remarks),
        }


def _explanation_json(one: Explanation) -> dict[str, Any]:
    return {
        "joints": {e.joint: _error_json(e) for e in one.errors},
        "probability": one.probability,
        "misfit": one.misfit,
    }


def _error_json(error: JointError) -> dict[str, float]:
    return {
        "error_deg": error.degrees,
        "low_deg": error.low_deg,
        "high_deg": error.high_deg,
    }


def xray(
    cfg: XrayCfg,
    robot: Robot,
    on_fit: Callable[[int, int], None] = lambda _done, _of: None,
) -> Xray:
    """Read a log and find where the heat of its legs comes from.

    Args:
        cfg: what is asked for.
        robot: that was logged.
        on_fit: as `find_suspects` takes it.

    Raises:
        BadInput: the log cannot be read, or it does not end with the robot standing
            still on both feet.
    """
    if not robot.has_legs:
        raise BadInput(
            f"robot {robot.name!r} lacks a leg joint; the X-ray reads robots that "
            "stand on two legs."
        )
    standing = find_standing(read_sensor_log(cfg.source, robot), robot)
    model = StandingModel(robot, standing, cfg.assumptions)
    suspects = find_suspects(model, on_fit)
    account = LegAccount(model, standing, suspects.best.fit)
    saving = None
    if suspects.best.errors:
        worst = max(
            suspects.best.errors, key=lambda e: suspects.probability_of(e.joint)
        )
        saving = account.saving(worst.joint, worst.degrees)
    return Xray(
        standing=standing,
        model=model,
        suspects=suspects,
        losses=account.losses(),
        saving=saving,
    )


def cannot_tell(found: Xray) -> tuple[str, ...]:
    """Return sentences on what this log does not tell, and why."""
    seen, model, suspects = found.standing, found.model, found.suspects
    said = []
    if not model.uses_placement:
        why = (
            "the log holds no known posture on both feet"
            if model.posture is None
            else "where the feet stand is not known"
        )
        said.append(
            f"which joint of a leg: {why}, and then hip pitch, ankle pitch and hip "
            "yaw-pitch of a leg look alike, and so do its hip roll and ankle roll. The "
            "leg and the size of pitch and roll are right all the same."
        )
    if seen.target is None:
        said.append(
            "angles finer than a step of the encoder: the log has no set-points, which "
            "with the currents would tell them. Intervals are wider."
        )
    if seen.fsr is None:
        said.append(
            "where the soles press: the log has no force sensors. Centres of pressure "
            "come from the currents, to within the gears' friction."
        )
    if seen.accelerometer is None:
        said.append(
            "which leg: the log has no accelerometer, and an error of the left leg "
            "looks like the opposite one of the right leg."
        )
    if seen.temperature is None:
        said.append("times to the limit: the log has no temperatures.")
    if suspects.rivals:
        named = [_said(one) for one in (suspects.best, *suspects.rivals)]
        said.append(f"these apart: {'; '.join(named)}.")
    if suspects.best.misfit > MOST_MISFIT:
        said.append(
            f"what is wrong: nothing explains the log (misfit "
            f"{suspects.best.misfit:.0f}, at most {MOST_MISFIT:.0f} is usual). A floor "
            "that is not flat, a payload, a hand that holds the robot, or more than "
            "two joints off would do it."
        )
    if seen.fsr is not None:
        share = float(seen.fsr.sum()) / model.weight - 1.0
        if abs(share) > HEAVIER:
            said.append(
                f"how right the rest is: the soles feel {seen.fsr.sum():.1f} N, and "
                f"the robot's model weighs {model.weight:.1f} N."
            )
    return tuple(said)


def _said(one: Explanation) -> str:
    named = " and ".join(f"{e.joint} {e.degrees:+.2f}°" for e in one.errors)
    return f"{named or 'no joint'} ({one.probability:.0%})"
