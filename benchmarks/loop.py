"""Time of the loop, relative to the bare engine; of servos; of controllers' steps.

The bare engine steps the same world: after every block of the loop, its state is
restored and the recorded torques of the block (last-second ring) are applied again.
Only the calls of the engine's step are timed, with about 0.2 µs for the clock. The
comparison is rejected unless the block ends in the same angles, bit for bit.

The step of a stiffness controller is compared with its minimum: Pinocchio and one nnls.
Both get the same observations of the standing robot, in alternating blocks, without
physics in between. The reference computes the gravity term and both feet's Jacobians at
the measured angles, and solves one contact problem built beforehand. It selects no
contacts, posture or plane, and keeps no report.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import numpy as np
import pinocchio as pin
from scipy.optimize import nnls

from benchmarks.figures import Figure, figure, median_us, ratio
from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.registry import make_controller
from nao_testbed.controllers.stiffness.contact_forces import (
    ContactForceCfg,
    ContactProblem,
    build_contact_problem,
)
from nao_testbed.controllers.stiffness.dynamics import GRAVITY, Dynamics
from nao_testbed.experiments.closed_loop.controller_failure import attribute_errors_to
from nao_testbed.experiments.closed_loop.loop import Loop, TimedController, run_for
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.models import Robot, TestbedError
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.interface import Engine
from nao_testbed.sim.engine.world import WorldCfg, default_engine, ticks_of
from nao_testbed.sim.recording.run_folder import plain_name
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg, Snapshot
from nao_testbed.sim.servo import SERVOS, ServoCfg

POSTURE = "PoseInit"
MAX_OVER_BARE = 1.25
"""Largest accepted ratio of the full loop to the bare engine."""
BLOCK_S = 0.25
"""Simulated time of a block in s, short enough that load on the machine affects both
sides."""


@dataclass(frozen=True, kw_only=True)
class LoopMeasure:
    """Result of `measure_loop`."""

    figures: tuple[Figure, ...]
    observations: tuple[Observation, ...]
    """Observations of the last block of the standing robot."""


class MeasuredLoop:
    """Standing robot under `smart` on one engine, measured block by block.

    It owns the engine; `close` releases it.
    """

    def __init__(
        self, robot: Robot, folder: Path, *, settle_s: float, engine: EngineName
    ) -> None:
        """Bring the robot into its posture.

        Args:
            robot: the robot.
            folder: empty folder for the recorder.
            settle_s: simulated time to take the posture, in s.
            engine: of the physics.
        """
        self.controller = TimedController(make_controller("smart"))
        self._ends = ExitStack()
        cfg = SimulationCfg(world=WorldCfg(engine=engine))
        self.sim = self._ends.enter_context(
            closing(SimulatedRobot(robot, cfg, POSTURE))
        )
        self.recording = self._ends.enter_context(_recording(folder, self.sim))
        self.loop = Loop(self.sim, self.controller, robot.posture(POSTURE).angles)
        self._ticks = ticks_of("control period", CONTROL_PERIOD, self.sim.dt)
        run_for(self.loop, settle_s)
        self.observations: list[Observation] = []
        """Observations of the last block."""
        self.loop_us: list[float] = []
        """Time per tick of the full loop, one value per block."""
        self.bare_us: list[float] = []
        """Time per tick of the bare engine, one value per block."""
        self.controller_us: list[float] = []
        """Time per step of the controller, one value per block."""

    def block(self, cycles: int) -> None:
        """Run a block of the loop, then the bare engine over the same ticks."""
        sim = self.sim
        begin = sim.snapshot()
        self.observations, times_s = _run_loop(self.loop, self.recording, cycles)
        end = sim.snapshot()
        self.loop_us.append(median_us(times_s) / self._ticks)
        self.controller_us.append(median_us(self.controller.times_s[-cycles:]))
        self.bare_us.append(repeat_bare(sim, begin, cycles, self._ticks))
        sim.restore(end)
        sim.forget(begin)
        sim.forget(end)

    def close(self) -> None:
        """End the recording and release the engine."""
        self._ends.close()


def measure_loop(
    robot: Robot, folder: Path, *, seconds: float, settle_s: float
) -> LoopMeasure:
    """Measure the loop with `smart`, sensors, ring and recorder, and the bare engine.

    Args:
        robot: the robot.
        folder: an empty one for the recorder.
        seconds: simulated time to measure, in s.
        settle_s: simulated time before that, in s.
    """
    measured = MeasuredLoop(robot, folder, settle_s=settle_s, engine=default_engine())
    with closing(measured):
        for _ in range(blocks_in(seconds)):
            measured.block(cycles_in(seconds))
    whole, bare = measured.loop_us, measured.bare_us
    return LoopMeasure(
        figures=(
            ratio(
                "loop_over_bare",
                "full loop / bare engine",
                whole,
                bare,
                MAX_OVER_BARE,
            ),
            figure("loop_us", "full loop, per tick", "µs", whole),
            figure("bare_us", "bare engine, per tick", "µs", bare),
            figure(
                "smart_in_loop_us",
                "smart, per step in the loop",
                "µs",
                measured.controller_us,
            ),
        ),
        observations=tuple(measured.observations),
    )


def measure_servos(robot: Robot, *, seconds: float, settle_s: float) -> list[Figure]:
    """Measure the torque servo, per tick, and one with PyBullet's own motors."""
    blocks: dict[str, list[float]] = {kind: [] for kind in SERVOS}
    with ExitStack() as stack:
        standing = {
            kind: stack.enter_context(closing(_standing_robot(robot, kind, settle_s)))
            for kind in SERVOS
        }
        for _ in range(blocks_in(seconds)):
            for kind, sim in standing.items():
                blocks[kind].append(_step_sim(sim, cycles_in(seconds)))
    own, bullet = blocks["torque"], blocks["pybullet"]
    return [
        ratio("servo_over_pybullet", "torque servo / PyBullet's motors", own, bullet),
        figure("torque_servo_us", "torque servo, per tick", "µs", own),
        figure("pybullet_servo_us", "PyBullet's motors, per tick", "µs", bullet),
    ]


def blocks_in(seconds: float) -> int:
    """Return the number of blocks in a time, at least one."""
    return max(1, round(seconds / BLOCK_S))


def cycles_in(seconds: float) -> int:
    """Return the number of control periods in a block, at least one."""
    return max(1, round(min(BLOCK_S, seconds) / CONTROL_PERIOD))


@contextmanager
def _recording(folder: Path, sim: SimulatedRobot) -> Iterator[RunRecording]:
    recording = RunRecording.open(folder, sim.robot, seed=0, config=sim.cfg, command=())
    try:
        yield recording
    finally:
        recording.close("done")


def _run_loop(
    loop: Loop[SimulatedRobot], recording: RunRecording, cycles: int
) -> tuple[list[Observation], list[float]]:
    """Run a block; return the observations and the time of each cycle in s."""
    seen, times_s = [], []
    for _ in range(cycles):
        begin = perf_counter()
        observation = loop.cycle()
        recording.row(loop.sim, observation, loop.decided)
        times_s.append(perf_counter() - begin)
        seen.append(observation)
    return seen, times_s


def repeat_bare(sim: SimulatedRobot, begin: Snapshot, cycles: int, ticks: int) -> float:
    """Repeat the last block from `begin`; return the median time per tick in µs.

    Args:
        sim: simulator at the end of the block; the state that matters is restored
            afterwards.
        begin: state at the beginning number of control periods of the block.
        cycles: of the block.
        ticks: number of ticks per control period.

    Raises:
        TestbedError: the repeated block ends in another state.
    """
    goal = sim.truth().q
    torques = sim.last_second.newest(cycles * ticks)[:, -len(goal) :].tolist()
    sim.restore(begin)
    engine = sim.engine
    times_s = [
        _step_bare(engine, torques[first : first + ticks])
        for first in range(0, len(torques), ticks)
    ]
    q, v = np.empty_like(goal), np.empty_like(goal)
    engine.read_joints(q, v)
    if not np.array_equal(q, goal):
        raise TestbedError(
            "the bare engine did not reach the joint angles of the loop, so times "
            "cannot be compared. Was the loop changed without the ring?"
        )
    return median_us(times_s) / ticks


def _step_bare(engine: Engine, torques: Sequence[Sequence[float]]) -> float:
    """Return the time in s of the engine's steps with these torques."""
    total = 0.0
    for torque in torques:
        engine.apply_torques(torque)
        begin = perf_counter()
        engine.step()
        total += perf_counter() - begin
    return total


def _step_sim(sim: SimulatedRobot, cycles: int) -> float:
    """Simulate some control periods; return the median time per tick in µs."""
    ticks = ticks_of("control period", CONTROL_PERIOD, sim.dt)
    times_s = []
    for _ in range(cycles):
        begin = perf_counter()
        sim.step(ticks)
        times_s.append(perf_counter() - begin)
    return median_us(times_s) / ticks


def _standing_robot(robot: Robot, kind: str, settle_s: float) -> SimulatedRobot:
    cfg = SimulationCfg(servo=ServoCfg(kind=kind))
    sim = SimulatedRobot(robot, cfg, POSTURE)
    goal = robot.posture(POSTURE).angles
    run_for(Loop(sim, make_controller("fixed"), goal), settle_s)
    return sim


Step = Callable[[Observation], object]

CONTROLLERS = ("smart", "smart-full", "minheat")
REFERENCE = "Pinocchio and nnls"
UP = np.array([0.0, 0.0, 1.0])


class PinocchioAlone:
    """Reference step: gravity term, Jacobians of both feet, and one nnls."""

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
    """Step times of one subject."""

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
        observations: observations of the standing robot, 20 ms apart.
        blocks: number of passes over all observations.
        controllers: names of the controllers.
    """
    alone = PinocchioAlone(robot, observations[-1].q)
    steps: dict[str, Step] = {REFERENCE: alone.step}
    made = {name: make_controller(name) for name in controllers}
    for name, controller in made.items():
        with attribute_errors_to(controller, "reset"):
            controller.reset(robot)
        steps[name] = controller.step
    times = {name: _Times(medians_us=[], all_s=[]) for name in steps}
    duration = len(observations) * CONTROL_PERIOD
    for block in range(blocks):
        # Time must increase from pass to pass, as controllers assume.
        seen = [
            replace(o, time_s=o.time_s + block * duration, q=o.q.copy())
            for o in observations
        ]
        for name, step in steps.items():
            blamed = (
                attribute_errors_to(made[name], "a step")
                if name in made
                else nullcontext()
            )
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
    alone = times[REFERENCE].medians_us
    figures = [
        figure("alone_us", "Pinocchio and nnls alone, per step", "µs", alone),
    ]
    for name in (name for name in times if name != REFERENCE):
        own, key = times[name], plain_name(name).replace("-", "_")
        median = own.medians_us
        p99 = float(np.percentile(own.all_s, 99.0)) * 1e6
        target = 150.0 if name == "smart" else None
        most = 2000.0 if name == "minheat" else None  # one step in five solves
        share = [time_us / (CONTROL_PERIOD * 1e4) for time_us in median]
        figures += [
            figure(f"{key}_us", f"{name}, per step", "µs", median, target),
            figure(f"{key}_p99_us", f"{name}, 99 % of steps below", "µs", [p99], most),
            ratio(f"{key}_over_alone", f"{name} / Pinocchio and nnls", median, alone),
            figure(f"{key}_share", f"{name}, share of a 20 ms cycle", "%", share),
        ]
    return figures
