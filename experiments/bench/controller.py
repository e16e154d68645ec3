"""The stiffness step against the least that it needs: Pinocchio and one nnls.

Both see the same observations of the standing robot, one after another without the
physics in between, in alternating blocks. The reference computes the gravity term and
both feet's Jacobians at the measured angles and solves one contact problem that was
built beforehand; it chooses no contacts, no posture, no plane, and keeps no report.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray
from scipy.optimize import nnls

from controllers.interface.robot_interface import Observation
from controllers.registry import make_controller
from controllers.stiffness.contact_forces import (
    ContactForceCfg,
    ContactProblem,
    build_contact_problem,
)
from controllers.stiffness.dynamics import GRAVITY, Dynamics
from experiments.bench.figures import Figure, figure, median_us, ratio
from experiments.controller_failed import blamed_on
from experiments.loop import CONTROL_PERIOD
from models import Robot
from sim.recording.run_folder import plain_name

FloatArray = NDArray[np.float64]
Step = Callable[[Observation], object]

CONTROLLERS = ("smart", "smart-full", "minheat")
ALONE = "Pinocchio and nnls"
UP = np.array([0.0, 0.0, 1.0])


class PinocchioAlone:
    """Gravity term, Jacobians of both feet, and one nnls."""

    def __init__(self, robot: Robot, q: FloatArray) -> None:
        """Build the model, and the contact problem at `q`, (n_joints,) in rad."""
        self._model = pin.buildModelFromUrdf(
            str(robot.urdf), pin.JointModelFreeFlyer(), mimic=False
        )
        self._data = self._model.createData()
        names = [self._model.getJointId(name) for name in robot.joint_names]
        self._iq = np.array([self._model.idx_qs[j] for j in names])
        self._q = pin.neutral(self._model)
        points = [p for p in robot.contact_points if p.effector in robot.feet]
        links = dict.fromkeys(point.link for point in points)
        self._feet = [self._model.getFrameId(link, pin.BODY) for link in links]
        dynamics = Dynamics(robot, points)
        dynamics.update(q)
        self._stacked, self._right = stack(
            build_contact_problem(
                dynamics.point_positions,
                dynamics.com,
                UP,
                weight=dynamics.mass * GRAVITY,
                cfg=ContactForceCfg(),
            )
        )

    def step(self, observation: Observation) -> FloatArray:
        """Compute all three; return the contact forces in N."""
        model, data, q = self._model, self._data, self._q
        q[self._iq] = observation.q
        pin.computeGeneralizedGravity(model, data, q)
        pin.computeJointJacobians(model, data, q)
        for foot in self._feet:
            pin.getFrameJacobian(model, data, foot, pin.LOCAL_WORLD_ALIGNED)
        forces, _ = nnls(self._stacked, self._right)
        return np.asarray(forces)


def stack(problem: ContactProblem) -> tuple[FloatArray, FloatArray]:
    """Return [√Q A; √R] and [√Q B; 0], the problem as nonnegative least squares."""
    root_q = np.sqrt(problem.Q)
    stacked = np.vstack([root_q[:, None] * problem.A, np.diag(np.sqrt(problem.R))])
    right = np.concatenate([root_q * problem.B, np.zeros(len(problem.R))])
    return stacked, right


@dataclass(kw_only=True)
class _Times:
    """Steps of one subject."""

    medians_us: list[float]
    all_s: list[float]


def measure_controllers(
    robot: Robot,
    observations: Sequence[Observation],
    *,
    blocks: int,
    controllers: Sequence[str] = CONTROLLERS,
) -> list[Figure]:
    """Measure the steps of controllers and of the reference.

    Args:
        robot: the robot.
        observations: of the standing robot, 20 ms apart.
        blocks: how often all observations are gone through.
        controllers: their names.
    """
    alone = PinocchioAlone(robot, observations[-1].q)
    steps: dict[str, Step] = {ALONE: alone.step}
    made = {name: make_controller(name) for name in controllers}
    for name, controller in made.items():
        with blamed_on(controller, "reset"):
            controller.reset(robot)
        steps[name] = controller.step
    times = {name: _Times(medians_us=[], all_s=[]) for name in steps}
    duration = len(observations) * CONTROL_PERIOD
    for block in range(blocks):
        # Later at each round: a controller does not expect time to run backwards.
        seen = [
            replace(o, time_s=o.time_s + block * duration, q=o.q.copy())
            for o in observations
        ]
        for name, step in steps.items():
            blamed = blamed_on(made[name], "a step") if name in made else nullcontext()
            with blamed:
                times_s = [_time(step, observation) for observation in seen]
            times[name].medians_us.append(median_us(times_s))
            times[name].all_s += times_s
    return _figures(times)


def _time(step: Step, observation: Observation) -> float:
    begin = perf_counter()
    step(observation)
    return perf_counter() - begin


def _figures(times: dict[str, _Times]) -> list[Figure]:
    alone = times[ALONE].medians_us
    figures = [
        figure("alone_us", "Pinocchio and nnls alone, a step", "µs", alone),
    ]
    for name in (name for name in times if name != ALONE):
        own, key = times[name], plain_name(name).replace("-", "_")
        median = own.medians_us
        p99 = float(np.percentile(own.all_s, 99.0)) * 1e6
        target = 150.0 if name == "smart" else None
        most = 2000.0 if name == "minheat" else None  # one step in five solves
        share = [time_us / (CONTROL_PERIOD * 1e4) for time_us in median]
        figures += [
            figure(f"{key}_us", f"{name}, a step", "µs", median, target),
            figure(f"{key}_p99_us", f"{name}, 99 % of steps within", "µs", [p99], most),
            ratio(f"{key}_over_alone", f"{name} / Pinocchio and nnls", median, alone),
            figure(f"{key}_share", f"{name}, share of a 20 ms cycle", "%", share),
        ]
    return figures
