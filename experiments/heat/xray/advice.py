"""Cooler stance near that of a log, by a posture search.

The search starts at the true angles of the best explanation. Mirrored joints that
differ by less than 3° start at their mean, so both legs get the same
change. The result is a change Δ of the set-points, in steps of `STEP_DEG`.

The needed loss and the margin of the centre of mass are then evaluated at q and at
q + Δ, for the angles q of the best explanation and of its rivals. The soles keep their
angle to the vertical. A change that does not help under each of them is not advised.
"""

from dataclasses import dataclass

import numpy as np

from nao_testbed.controllers.heat_minimization.posture_search.search import (
    NoPostureFound,
    search_posture,
)
from nao_testbed.controllers.heat_minimization.posture_search.search_space import (
    PostureSearchCfg,
    symmetric_stance,
)
from nao_testbed.controllers.heat_minimization.posture_search.stance import (
    Stance,
    distances_to_edges,
    hull_order,
)
from nao_testbed.controllers.heat_minimization.standing_problem import (
    joule_loss,
    sole_points,
)
from nao_testbed.controllers.stiffness.dynamics import Dynamics
from nao_testbed.experiments.heat.xray.losses import LegAccount
from nao_testbed.experiments.heat.xray.standing_model import DEGREE, StandingModel
from nao_testbed.experiments.heat.xray.suspects import LOAD_CAUSE, Suspects
from nao_testbed.experiments.heat.xray.verdict import NAMED
from nao_testbed.models import BadInput
from nao_testbed.models.values import FloatArray

STEP_DEG = 0.1
"""Step of the changes in degrees: about that of an encoder."""
MIN_SAVED = 0.1
"""Smallest share of the needed loss that is worth a change of the stance."""

MIN_MARGIN_M = 0.01
"""Smallest distance of the centre of mass inside its support for every explanation."""


@dataclass(frozen=True, kw_only=True)
class StanceHeat:
    """Needed loss and margin of a stance."""

    needed_w: float
    """Minimum loss of the legs in W."""
    low_w: float
    high_w: float
    """Smallest and largest value over the best explanation and its rivals."""
    motors_w: dict[str, float]
    """Leg motor to its part in W."""
    com_margin_m: float
    """Smallest distance of the centre of mass inside its support, over these."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Cooler stance."""

    change_deg: dict[str, float]
    """Joint to the change of its set-point; empty: no stance needs much less."""
    now: StanceHeat
    then: StanceHeat
    """After the change."""
    within_deg: float
    """Largest change that was searched."""
    slope_deg: float
    """Slope of the ground, rising towards the front of the robot."""


def find_advice(
    model: StandingModel,
    suspects: Suspects,
    account: LegAccount,
    cfg: PostureSearchCfg | None = None,
) -> Advice | str:
    """Return a cooler stance, or the reason why this log does not determine it.

    Args:
        model: model of a log that the best explanation explains.
        suspects: explanations of the log.
        account: losses under the best explanation.
        cfg: limits of the search; None: the defaults, from the stance of the log alone.
    """
    if suspects.probability_of(LOAD_CAUSE) > NAMED:
        return "the robot probably carries a load, and its place is unknown"
    robot, up = model.robot, model.up(suspects.fit)
    q = model.true_angles(suspects.fit)
    evaluator = _Evaluator(model, account, up)
    slope_deg = evaluator.slope_deg(q)
    cfg = cfg or PostureSearchCfg(slope_deg=slope_deg, starts=1)
    wanted = symmetric_stance(robot, q)
    try:
        found = search_posture(robot, wanted, cfg)
    except NoPostureFound as error:
        return f"every stance near this one violates: {'; '.join(error.violations)}"
    except BadInput as error:
        return str(error).rstrip(".")
    if found.wanted.at_stop:
        joints = ", ".join(found.wanted.at_stop)
        return f"{joints} may rest on the joint stop, which carries part of the load"
    change = STEP_DEG * np.round(
        np.rad2deg(found.found.angles - wanted.angles) / STEP_DEG
    )
    every = [q, *_rival_angles(model, suspects)]
    now = evaluator.at(every, np.zeros(len(q)))
    then = evaluator.at(every, DEGREE * change)
    if then.com_margin_m < MIN_MARGIN_M:
        return "its centre of mass may be at the edge of the support polygon"
    if then.high_w > (1.0 - MIN_SAVED) * now.low_w:
        change = np.zeros(len(q))
    return Advice(
        change_deg={
            robot.joint_names[j]: round(float(change[j]), 1)
            for j in np.flatnonzero(change)
        },
        now=now,
        then=then,
        within_deg=float(np.rad2deg(cfg.within_rad)),
        slope_deg=cfg.slope_deg,
    )


def _rival_angles(model: StandingModel, suspects: Suspects) -> list[FloatArray]:
    """Return the true angles of the other plausible explanations."""
    found = []
    for rival in suspects.rivals:
        q = model.q.copy()
        for error in rival.errors:
            joints = suspects.ankles.get(error.joint, (error.joint,))
            for joint in joints:
                q[model.robot.joint_index(joint)] += DEGREE * error.degrees
        found.append(q)
    return found


class _Evaluator:
    """Needed loss and margin of stances on the ground of one log."""

    def __init__(
        self, model: StandingModel, account: LegAccount, up: FloatArray
    ) -> None:
        self._robot, self._account, self._up = model.robot, account, up
        self._sole = model.soles[0].link
        self._dynamics = Dynamics(model.robot, sole_points(model.robot))
        self._loss = joule_loss(model.robot)

    def slope_deg(self, q: FloatArray) -> float:
        """Return the slope of the ground under the soles, as in `PostureSearchCfg`."""
        self._dynamics.update(q)
        return Stance(self._robot, self._dynamics, 0.0).at().slope_deg(self._up)

    def at(self, every: list[FloatArray], change: FloatArray) -> StanceHeat:
        """Return the heat of the stance, first of `every`, after a change of angles.

        Args:
            every: (n_joints,) possible true angles in rad, the most likely ones first.
            change: (n_joints,) in rad.
        """
        losses, margins, motors = [], [], []
        for q in every:
            slope_deg = self.slope_deg(q)
            turn = self._dynamics.link_rotation(self._sole).copy()
            self._dynamics.update(q + change)
            turn = self._dynamics.link_rotation(self._sole) @ turn.T
            body = Stance(self._robot, self._dynamics, slope_deg).at()
            order = hull_order(body.corners)
            margins.append(distances_to_edges(body.corners, order, body.com).min())
            least = self._account.least_at(q + change, turn @ self._up)
            losses.append(least.loss_w)
            motors.append(self._loss * least.motor_effort**2)
        return StanceHeat(
            needed_w=losses[0],
            low_w=min(losses),
            high_w=max(losses),
            motors_w={
                self._robot.motor_names[m]: float(motors[0][m])
                for m in np.flatnonzero(self._loss > 0.0)
            },
            com_margin_m=float(min(margins)),
        )
