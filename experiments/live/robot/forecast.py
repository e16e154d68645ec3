"""Forecast of the motor temperatures by a copy of the robot that runs ahead.

    ask   -> fork: this process and a copy of it: robot, reservations, controller
    copy  -> the requested change, made as by the operator
          -> physics, second by second, until the torques are steady (`Steadiness`);
             without a change they may be steady from the start
          -> heat alone, as in a fast-forward, with physics in between; to the end
    poll  -> a first answer after about a second, better ones while the copy runs

The copy writes only to its pipe, and ends with its parent. If a process cannot be
forked (macOS, Windows), another process is started, which rebuilds the robot at rest
with its angles, set-points, temperatures and controller. This takes some seconds more;
the controller's state and the creep of the soles are lost.

Each temperature has a band. For a linear model, a motor whose R/C is larger by a factor
a and whose rate is larger by a factor b has at time t under τ² the temperature T(b t)
of this motor under a τ². a of each motor and b of each sample are drawn log-normal with
`SPREAD`: no source gives the variation between NAO's motors, and a fit to half an hour
is accurate to some per cent.

A moving robot may end in another state: the mean square m of each motor's future torque
is drawn normal, cut at 0, with a 90 % half-width of

    u = 2 d + 4 m Σd / Σm,

d being the spread of the motor's last three seconds and the sums over all motors, which
share one load. The factors are a choice: over a minute at rest under fixed, smart,
nudge and minheat, the band contained the result within 1.4 K. For steady torques u is
about 0.
"""

import pickle
import time
import zlib
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import Pipe

import numpy as np

from nao_testbed.controllers.registry import check_controllers
from nao_testbed.experiments.closed_loop.fast_forward import (
    FastForwardCfg,
    JumpLength,
    Steadiness,
)
from nao_testbed.experiments.closed_loop.trial_result import SHUT_DOWN_DEGC
from nao_testbed.experiments.common.workers import Send, Worker
from nao_testbed.experiments.live.robot.moment import Forecast
from nao_testbed.experiments.live.robot.operation import Foresee
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.experiments.shared_robot.behaviours import SlotsFailed
from nao_testbed.experiments.shared_robot.robot_with_ledger import RobotWithLedgerCfg
from nao_testbed.models import BadInput, Robot, TestbedError
from nao_testbed.models.system import CAN_FORK, Connection, end_fork, fork, renice
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.robot import SimulatedRobot, Snapshot, misalignment_of
from nao_testbed.sim.thermal.heating import Heating

HORIZON_S = 900.0
GRID_S = 30.0
"""Time between two temperatures of a forecast, in s."""
PAST_S, PAST_EVERY_S = 900.0, 5.0
"""Length and sampling time of the stored past, in s."""
SPREAD = 0.1
"""Standard deviation of ln a and ln b."""
SAMPLES = 100
QUANTILES = (0.05, 0.95)
HALF_WIDTH = 1.645
"""Half-width of that band, in standard deviations."""
OWN_DRIFT, SHARED_DRIFT = 2.0, 4.0
FIRST_S, EVERY_S = 0.8, 1.5
"""Wall time until the first answer, and between later ones, in s."""
MAX_PHYSICS_S = 30.0
"""Maximum physics of a copy in s; an unsteady copy then sends its result."""
RETRY_S = 2.0
"""Wall time after which a copy without an answer is replaced by a new request, in s."""
NICE = 5
"""Niceness of the copy, below the robots."""


class Forecaster:
    """Past temperatures of a robot, and one copy of it that runs ahead."""

    def __init__(self, setup: Setup) -> None:
        """Attach to a robot; call `note` each slot."""
        self._setup = setup
        self._past: deque[tuple[float, FloatArray]] = deque(
            maxlen=round(PAST_S / PAST_EVERY_S)
        )
        self._past_slots = round(PAST_EVERY_S / setup.tick_s)
        self._steadiness = Steadiness(FastForwardCfg())
        self._second_slots = round(self._steadiness.block_s / setup.tick_s)
        self._total = np.zeros_like(setup.body.sim.mean_square)
        self._pid = 0
        self._link: Connection | None = None
        self._worker: Worker[bool] | None = None
        """Replaces pid and link if a process cannot be forked."""
        self._has_answered, self._asked_s = True, 0.0

    def note(self) -> None:
        """Store the motor heating, and periodically the temperatures."""
        setup, sim = self._setup, self._setup.body.sim
        self._total += sim.mean_square
        if setup.tick % self._second_slots == 0:
            mean_square = self._total / self._second_slots
            self._steadiness.add(mean_square, setup.stiffness.shift)
            self._total[:] = 0.0
        if setup.tick % self._past_slots == 0:
            self._past.append((sim.time_s, _of_joints(setup)))

    def ask(self, action: Foresee) -> str:
        """Start a copy; return a text for the operator.

        Raises:
            UnknownName: the controller or joint does not exist.
            BadInput: the robot has fallen, or the last copy is recent and has not
                answered.
        """
        setup = self._setup
        if action.controller is not None:
            check_controllers([action.controller], setup.robot)
        if action.joint is not None:
            misalignment_of(setup.robot, {action.joint: action.error_deg})
        if setup.body.sim.has_fallen():
            raise BadInput("there is no forecast for a fallen robot.")
        if not self._has_answered and time.monotonic() < self._asked_s + RETRY_S:
            raise BadInput(
                "the last forecast is still being computed; try again in a second."
            )
        self.close()
        steadiness = None if action != Foresee() else self._steadiness
        past = tuple(self._past)
        if CAN_FORK:
            link, theirs = Pipe(duplex=False)
            self._link = link
            ahead = RunAhead(setup, action, past, theirs.send, steadiness)
            self._pid = fork(lambda: _run_copy(ahead, link))
            theirs.close()
        else:
            rebuilt = Rebuilt.of(setup, action, past, steadiness)
            self._worker = Worker(partial(_run_rebuilt, rebuilt.packed()))
        self._has_answered, self._asked_s = False, time.monotonic()
        return f"forecast: {label_of(action)}"

    def poll(self) -> Forecast | None:
        """Return a new answer; None without one."""
        if self._worker is not None:
            return self._poll_worker(self._worker)
        if self._link is None:
            return None
        try:
            if not self._link.poll():
                return None
            answer: Forecast = self._link.recv()
        except (EOFError, OSError):
            self.close()
            return None
        self._has_answered = True
        return answer

    def _poll_worker(self, worker: "Worker[bool]") -> Forecast | None:
        has_ended, answers = worker.has_ended, worker.messages()
        if has_ended and not answers:
            self.close()
        if not answers:
            return None
        self._has_answered = True
        newest: Forecast = answers[-1]
        return newest

    def close(self) -> None:
        """End the copy, if there is one."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None
        if self._link is not None:
            self._link.close()
            self._link = None
            end_fork(self._pid, at_once=True)
        self._has_answered = True


def label_of(action: Foresee) -> str:
    """Return a short description of the change."""
    changes = [action.controller] if action.controller is not None else []
    if action.joint is not None:
        changes.append(f"error of {action.joint} {action.error_deg:g}°")
    return ", ".join(changes) or "unchanged"


def _of_joints(setup: Setup) -> FloatArray:
    return setup.robot.largest_of_joint(setup.true_degc())


def _run_copy(ahead: "RunAhead", link: Connection) -> None:
    """Run ahead in the copied process, and answer."""
    link.close()  # then the pipe breaks when its reader closes
    renice(NICE)
    ahead.run()


@dataclass(frozen=True, kw_only=True)
class Rebuilt:
    """Data for rebuilding a robot in its present state, and running it ahead."""

    robot: Robot
    cfg: RobotWithLedgerCfg
    controller: str
    period_s: float
    """Period of the controller, in s."""
    state: Snapshot
    q: FloatArray
    position: FloatArray
    quaternion: FloatArray
    """Orientation of the base, in the format of `Engine.place`."""
    action: Foresee
    past: tuple[tuple[float, FloatArray], ...]
    steadiness: Steadiness | None

    @classmethod
    def of(
        cls,
        setup: Setup,
        action: Foresee,
        past: tuple[tuple[float, FloatArray], ...],
        steadiness: Steadiness | None,
    ) -> "Rebuilt":
        """Collect the data from a robot."""
        sim, names = setup.body.sim, setup.robot.joint_names
        errors = np.rad2deg(sim.misalignment).tolist()
        simulation = replace(
            sim.cfg,
            world=sim.engine.cfg,  # includes changes of the ground
            misalignment_deg=dict(zip(names, errors, strict=True)),
        )
        state = sim.snapshot()
        sim.forget(state)
        position, quaternion = sim.engine.base_pose()
        return cls(
            robot=setup.robot,
            cfg=replace(setup.body.cfg, simulation=simulation),
            controller=setup.controller,
            period_s=setup.control_ticks * setup.tick_s,
            state=state,
            q=sim.q.copy(),
            position=position,
            quaternion=quaternion,
            action=action,
            past=past,
            steadiness=steadiness,
        )

    def packed(self) -> bytes:
        """Return the data pickled and compressed, so that the pipe does not block."""
        return zlib.compress(pickle.dumps(self))

    def setup(self) -> Setup:
        """Build the robot."""
        posture = self.robot.posture_name(self.cfg.posture, "upright")
        sim = SimulatedRobot(self.robot, self.cfg.simulation, posture)
        sim.engine.place(self.q, self.position, self.quaternion)
        sim.restore(replace(self.state, engine=sim.engine.save()))
        return Setup(
            self.robot,
            self.cfg,
            controller=self.controller,
            control_period=self.period_s,
            sim=sim,
        )


def _run_rebuilt(packed: bytes, send: Send) -> bool:
    """Rebuild the robot in another process, run ahead, and answer."""
    rebuilt: Rebuilt = pickle.loads(zlib.decompress(packed))
    renice(NICE)
    setup = rebuilt.setup()
    RunAhead(setup, rebuilt.action, rebuilt.past, send, rebuilt.steadiness).run()
    return True


@dataclass(eq=False)
class RunAhead:
    """Robot that is run ahead of its time; unusable afterwards."""

    setup: Setup
    action: Foresee
    past: tuple[tuple[float, FloatArray], ...]
    send: Callable[[Forecast], None]
    steadiness: Steadiness | None = None
    """Steadiness of the preceding seconds; None: they are irrelevant."""
    horizon_s: float = HORIZON_S
    pieces: list[tuple[FloatArray, float]] = field(default_factory=list)
    """Mean squared torques (n_motors,) in N²m² and their durations in s."""
    physics_s: float = 0.0
    """Time simulated with every physics step, in s."""

    def run(self) -> None:
        """Run to the horizon, the fall or `MAX_PHYSICS_S`; send answers on the way."""
        setup, cfg = self.setup, FastForwardCfg()
        self._begin_s = setup.body.time_s
        self._heat = setup.body.sim.heating.state.copy()
        self._change()
        steadiness, jump = self.steadiness or Steadiness(cfg), JumpLength(cfg)
        due = time.monotonic() + FIRST_S
        is_sent = steadiness.is_steady()
        if is_sent:
            self._send_forecast(steadiness, is_steady=True)
        while (left_s := self._left_s()) >= 1.0 and self.physics_s < MAX_PHYSICS_S:
            steadiness.add(self._second(), setup.stiffness.shift)
            if setup.body.sim.has_fallen():
                self._send_forecast(steadiness, is_steady=False)
                return
            is_steady = steadiness.is_steady() and not setup.disturbance.is_turning
            is_due = time.monotonic() >= due and steadiness.spread() is not None
            if (is_steady and not is_sent) or is_due:
                self._send_forecast(steadiness, is_steady=is_steady)
                is_sent, due = True, time.monotonic() + EVERY_S
            if is_steady:
                self._pass_heat(steadiness.mean(), min(jump.take(), left_s - 1.0))
            else:
                jump.restart()
        self._send_forecast(steadiness, is_steady=self._left_s() < 1.0, is_final=True)

    def _change(self) -> None:
        """Apply the requested change, as the operator would."""
        if self.action.controller is not None:
            self.setup.use_controller(self.action.controller)
        if self.action.joint is not None:
            self.setup.disturbance.set_misalignment(
                self.action.joint, self.action.error_deg
            )

    def _left_s(self) -> float:
        return self.horizon_s - (self.setup.body.time_s - self._begin_s)

    def _second(self) -> FloatArray:
        """Run one second of physics; return its mean squared torques."""
        setup, sim = self.setup, self.setup.body.sim
        total = np.zeros_like(sim.mean_square)
        slots = round(1.0 / setup.tick_s)
        for _ in range(slots):
            setup.disturbance.begin(setup.tick)
            with suppress(SlotsFailed):  # reported by the robot itself
                setup.body.slot()
            total += sim.mean_square
        self.physics_s += 1.0
        mean_square: FloatArray = total / slots
        self.pieces.append((mean_square, 1.0))
        return mean_square

    def _pass_heat(self, mean_square: FloatArray, longest_s: float) -> None:
        """Advance the heat until the protection may change something."""
        body = self.setup.body
        begin_s, status = body.time_s, body.sim.protection.status
        with suppress(TestbedError):
            body.pass_heat(
                mean_square,
                float(int(longest_s)),
                lambda: not np.array_equal(body.sim.protection.status, status),
            )
        self.pieces.append((mean_square, body.time_s - begin_s))

    def _send_forecast(
        self, steadiness: Steadiness, *, is_steady: bool, is_final: bool = False
    ) -> None:
        """Send the forecast: the simulated part, then the present heating continued."""
        heating, robot = self.setup.body.sim.heating, self.setup.robot
        left_s, mean_square = self._left_s(), steadiness.mean()
        pieces = self.pieces + ([(mean_square, left_s)] if left_s > 0.0 else [])
        now = heating.state.copy()
        degc, reach_s = fan(
            heating, self._heat, pieces, self.horizon_s, drift=drift_of(steadiness)
        )
        heating.state[:] = self._heat
        before_j = heating.joule_energy
        for square, duration_s in pieces:
            heating.advance(square, duration_s)
        heat_j = float((heating.joule_energy - before_j).sum())
        heating.state[:] = now
        motors = robot.motors_of_joint
        self.send(
            Forecast(
                label=label_of(self.action),
                is_change=self.action != Foresee(),
                time_s=self._begin_s,
                physics_s=self.physics_s,
                is_steady=is_steady,
                is_final=is_final or self.setup.body.sim.has_fallen(),
                falls=self.setup.body.sim.has_fallen(),
                past_s=np.array([time_s for time_s, _ in self.past]),
                past_degc=np.array([degc for _, degc in self.past]),
                ahead_s=grid(self.horizon_s),
                degc=degc[:, :, motors].max(axis=3),
                reach_s=reach_s[:, motors].min(axis=2),
                watts=heat_j / self.horizon_s,
            )
        )


def grid(horizon_s: float) -> FloatArray:
    """Return the times of a forecast, from 0 on, in s."""
    return np.linspace(0.0, horizon_s, round(horizon_s / GRID_S) + 1)


def drift_of(steadiness: Steadiness) -> FloatArray:
    """Return u, (n_motors,) in N²m², the possible drift of mean squared torques.

    With fewer blocks than steadiness needs, as after a fall, it is 0.
    """
    spread, mean = steadiness.spread(), steadiness.mean()
    if spread is None:
        return np.zeros_like(mean)
    shared = spread.sum() / max(float(mean.sum()), 1e-12)
    drift: FloatArray = OWN_DRIFT * spread + SHARED_DRIFT * shared * mean
    return drift


def fan(
    heating: Heating,
    begin: FloatArray,
    pieces: list[tuple[FloatArray, float]],
    horizon_s: float,
    limit_degc: float = SHUT_DOWN_DEGC,
    drift: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Return the temperature bands of the motors, with constants known to `SPREAD`.

    Args:
        heating: heating model of the motors; restored on return.
        begin: state of the model at the start.
        pieces: mean squared torques (n_motors,) in N²m² and their durations in s, which
            fill the horizon.
        horizon_s: horizon in s.
        limit_degc: temperature limit of the motors in °C.
        drift: (n_motors,) half-width in N²m² of the last piece.

    Returns:
        (3, n_times, n_motors) °C on `grid`: lower bound, nominal motor, upper bound;
        and (3, n_motors) s until the limit, from earliest to latest, inf for never,
        with the last piece's torques continued.
    """
    kept = heating.state.copy()
    times = grid(horizon_s)
    cut = _cut(pieces, times)
    n_motors = len(pieces[0][0])
    rng = np.random.default_rng(0)
    power = np.exp(SPREAD * rng.standard_normal((SAMPLES, n_motors)))  # a
    speed = np.exp(SPREAD * rng.standard_normal(SAMPLES))  # b
    more = drift / HALF_WIDTH * rng.standard_normal((SAMPLES, n_motors))
    power[0], speed[0], more[0] = 1.0, 1.0, 0.0  # nominal values
    last = pieces[-1][0]
    degc = np.empty((SAMPLES, len(times), n_motors))
    reach_s = np.empty((SAMPLES, n_motors))
    for k, (a, b) in enumerate(zip(power, speed, strict=True)):
        drifted = np.maximum(last + more[k], 0.0)
        heating.state[:] = begin
        degc[k, 0] = heating.temperature
        for i, part in enumerate(cut, start=1):
            for square, duration_s in part:
                now = drifted if square is last else square
                heating.advance(a * now, b * duration_s)
            degc[k, i] = heating.temperature
        beyond = heating.time_to_reach(a * drifted, limit_degc) / b
        reach_s[k] = _reached(times, degc[k], horizon_s + beyond, limit_degc)
    heating.state[:] = kept
    low, high = np.quantile(degc, QUANTILES, axis=0)
    # Times may be infinite, so quantiles do not interpolate.
    early, late = np.quantile(reach_s, QUANTILES, axis=0, method="nearest")
    return np.stack([low, degc[0], high]), np.stack([early, reach_s[0], late])


def _cut(
    pieces: list[tuple[FloatArray, float]], times: FloatArray
) -> list[list[tuple[FloatArray, float]]]:
    """Return the pieces divided at the steps of the grid."""
    cut: list[list[tuple[FloatArray, float]]] = [[] for _ in times[1:]]
    at_s = 0.0
    for square, duration_s in pieces:
        end_s = min(at_s + duration_s, times[-1])
        while end_s - at_s > 1e-9:
            i = int(np.searchsorted(times, at_s + 1e-9, side="right")) - 1
            until_s = min(end_s, float(times[i + 1]))
            cut[i].append((square, until_s - at_s))
            at_s = until_s
    return cut


def _reached(
    times: FloatArray, degc: FloatArray, later_s: FloatArray, limit_degc: float
) -> FloatArray:
    """Return (n_motors,) times at which a limit is reached, in the grid or later."""
    is_over = degc >= limit_degc
    i = np.maximum(np.argmax(is_over, axis=0), 1)
    motors = np.arange(degc.shape[1])
    before, after = degc[i - 1, motors], degc[i, motors]
    rise = np.where(after > before, after - before, 1.0)
    share = np.clip((limit_degc - before) / rise, 0.0, 1.0)
    on_the_way = times[i - 1] + share * (times[i] - times[i - 1])
    met = np.where(is_over.any(axis=0), on_the_way, later_s)
    return np.where(is_over[0], 0.0, met)
