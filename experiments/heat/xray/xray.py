"""From a log to where its heat comes from: all parts in turn, and the JSON of it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.heat.xray.losses import (
    LIMIT_DEGC,
    LegAccount,
    LegLosses,
    Saving,
)
from nao_testbed.experiments.heat.xray.standing import Standing, find_standing
from nao_testbed.experiments.heat.xray.standing_model import Assumptions, StandingModel
from nao_testbed.experiments.heat.xray.suspects import (
    FLOOR_CAUSES,
    LOAD_CAUSE,
    MOST_OFF,
    RIVAL,
    Explanation,
    JointError,
    Suspects,
    find_suspects,
)
from nao_testbed.models import BadInput, Robot

MOST_MISFIT = 40.0
"""Sum of squares of some sixty residuals, most of which are wide bounds: robots of the
simulator with up to three joints off, a slope and a load have 5 to 30."""
HEAVIER = 0.05
"""Share of the weight by which soles may feel another one."""
NAMED = 0.7
"""Probability from which on a cause is named as a result."""


@dataclass(frozen=True, kw_only=True)
class XrayCfg:
    """Options; see `nao-testbed xray --help`."""

    source: Path
    """A run folder, a CSV file or a Parquet file."""
    assumptions: Assumptions = field(default_factory=Assumptions)


@dataclass(frozen=True, kw_only=True, eq=False)
class Xray:
    """Analysis of the legs' heat in a log."""

    standing: Standing
    model: StandingModel
    suspects: Suspects
    losses: LegLosses
    """Under the best explanation."""
    saving: Saving | None
    """Of the most likely joint's set-point; None where none is named, or none helps."""

    @property
    def posture(self) -> str | None:
        """Name of the posture that it holds; None: none that is known."""
        return self.model.posture.name if self.model.posture else None

    @property
    def is_explained(self) -> bool:
        """True if some set of causes explains the log."""
        return self.suspects.best.misfit <= MOST_MISFIT

    @property
    def named(self) -> dict[str, float]:
        """Causes that are named as a result, each with its probability."""
        if not self.is_explained:
            return {}
        causes = self.suspects.causes
        return {name: chance for name, chance in causes.items() if chance > NAMED}

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
            "is_explained": self.is_explained,
            "most_misfit": MOST_MISFIT,
            "named": self.named,
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
            "cannot_tell": list(cannot_tell(self)),
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
    if not robot.has_legs:
        raise BadInput(
            f"robot {robot.name!r} lacks a leg joint; the X-ray reads robots that "
            "stand on two legs."
        )
    standing = find_standing(read_log(cfg.source), robot)
    model = StandingModel(robot, standing, cfg.assumptions)
    suspects = find_suspects(model, on_fit)
    account = LegAccount(model, standing, suspects.fit)
    found = Xray(
        standing=standing,
        model=model,
        suspects=suspects,
        losses=account.losses(),
        saving=None,
    )
    worst = next((name for name in found.named if name in suspects.by_joint), None)
    if worst is None:
        return found
    error = suspects.error_of(worst)
    return replace(found, saving=account.saving(worst, error.degrees))


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
    for name, pair in suspects.ankles.items():
        if pair and suspects.probability_of(name) > RIVAL:
            said.append(
                f"both ankles from the floor: {pair[0]} and {pair[1]} off alike look "
                "like a floor that slopes. Turned round on the spot, ankles keep their "
                "sign and a floor changes it."
            )
    if not found.is_explained:
        said.append(
            f"what is wrong: no set of up to {MOST_OFF} joints, a sloping floor and a "
            f"load explains the log (misfit {suspects.best.misfit:.0f}, at most "
            f"{MOST_MISFIT:.0f} is usual). "
            "A floor that is not flat, a hand that holds the robot, or more joints off "
            "would do it."
        )
    if seen.fsr is not None:
        share = float(seen.fsr.sum()) / model.weight - 1.0
        if abs(share) > HEAVIER:
            said.append(
                f"how right the needed watts are: the soles feel {seen.fsr.sum():.1f} "
                f"N, and the robot's model weighs {model.weight:.1f} N."
            )
    return tuple(said)


def _said(one: Explanation) -> str:
    parts = [f"{e.joint} {e.degrees:+.2f}°" for e in one.errors]
    if one.load_kg is not None:
        parts.append(f"load {one.load_kg:+.2f} kg")
    return f"{' and '.join(parts) or 'no joint'} ({one.probability:.0%})"
