"""Log of one trial: rows and events of its run folder, and its result.

The trial (`experiments.closed_loop.trial`) reports every cycle, block and fast-forward
to the log, which does not affect the robot. `HeatMeter` integrates efforts and heat,
and registers the first time at 80 °C.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from nao_testbed.controllers.heat_minimization.standing_problem import joule_loss
from nao_testbed.controllers.interface.controller import Controller, Limits, has_signals
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.closed_loop.controller_failure import attribute_errors_to
from nao_testbed.experiments.closed_loop.leg_forces import LegsPower, least_powers
from nao_testbed.experiments.closed_loop.loop import Loop
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.closed_loop.trial_result import (
    SHUT_DOWN_DEGC,
    JointResult,
    Pressing,
    TrialResult,
    leg_rise,
)
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.robot import SimulatedRobot


class HeatMeter:
    """Integrals over a run; call `add` after every time interval of any length."""

    def __init__(self, sim: SimulatedRobot) -> None:
        """Start at the robot's present time and temperatures."""
        self._sim = sim
        self._start = sim.heating.temperature.copy()
        self._last = self._start.copy()
        self._begin_s = self._last_s = sim.time_s
        self._effort_time = np.zeros_like(self._start)
        self.reached_s = np.where(self._start >= SHUT_DOWN_DEGC, 0.0, np.inf)
        """(n_motors,) first time at 80 °C in s; inf if not reached."""

    def add(self, mean_abs_torque: FloatArray) -> list[str]:
        """Add the interval since the last call.

        Args:
            mean_abs_torque: (n_motors,) mean |motor torque| over the interval, in N·m.

        Returns:
            The motors that reached 80 °C during the interval.
        """
        sim = self._sim
        temperature, time_s = sim.heating.temperature, sim.time_s
        self._effort_time += mean_abs_torque * (time_s - self._last_s)
        crossing = (temperature >= SHUT_DOWN_DEGC) & np.isinf(self.reached_s)
        reached: list[str] = []
        if crossing.any():
            rise = np.maximum(temperature - self._last, 1e-12)
            part = (SHUT_DOWN_DEGC - self._last) / rise
            at = self._last_s + part * (time_s - self._last_s)
            self.reached_s[crossing] = at[crossing]
            reached = [sim.robot.motor_names[m] for m in np.flatnonzero(crossing)]
        self._last, self._last_s = temperature, time_s
        return reached

    def energy_of(self, joints: Sequence[str]) -> float | None:
        """Return the heat produced in the joints' motors in J; None without joints."""
        motors = self._sim.robot.motors_of(joints)
        if not motors.size:
            return None
        return float(self._sim.heating.joule_energy[motors].sum())

    def results(
        self, mean_square: FloatArray, least_w: FloatArray | None = None
    ) -> dict[str, JointResult]:
        """Return the result of every joint; coupled joints share that of their motor.

        Parallel motors replace their joints (`Robot.heat_names`).

        Args:
            mean_square: (n_motors,) last mean squared torques in N²m², assumed constant
                in the forecasts.
            least_w: (n_motors,) minimum losses in W; None: the robot does not stand.
        """
        sim = self._sim
        heating, robot = sim.heating, sim.robot
        loss = joule_loss(robot)
        least = np.full_like(loss, np.nan) if least_w is None else least_w
        power_w = np.where((loss > 0.0) & ~np.isnan(least), loss * mean_square, np.nan)
        duration = max(self._last_s - self._begin_s, 1e-9)
        steady = heating.steady_state(mean_square)
        ahead = self._last_s + heating.time_to_reach(mean_square, SHUT_DOWN_DEGC)
        forecast = np.where(np.isfinite(self.reached_s), self.reached_s, ahead)
        energy = heating.joule_energy
        results = {}
        for name, m in zip(robot.heat_names, robot.servo_of_joint, strict=True):
            results[name] = JointResult(
                start_degc=float(self._start[m]),
                end_degc=float(self._last[m]),
                rise_k=float(self._last[m] - self._start[m]),
                mean_abs_effort_nm=float(self._effort_time[m] / duration),
                joule_loss_j=float(energy[m]),
                time_to_80_degc_s=_finite(self.reached_s[m]),
                steady_degc=float(steady[m]),
                forecast_80_degc_s=_finite(forecast[m]),
                power_w=_finite(power_w[m]),
                least_w=_finite(least[m]) if loss[m] > 0.0 else None,
            )
        return results


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


PROGRESS_PERIOD_S = 0.2
"""Wall time between two reports of progress, in s."""


class PressMeter:
    """Meter of contacts with obstacles; call `add` each cycle with physics."""

    def __init__(self, sim: SimulatedRobot) -> None:
        """Start without a contact."""
        self._sim = sim
        self._has_obstacles = bool(sim.cfg.world.obstacles)
        self._found: dict[tuple[str, str], Pressing] = {}

    def add(self) -> None:
        """Add the present forces."""
        if not self._has_obstacles:
            return
        forces = self._sim.engine.obstacle_forces()
        for pair in self._found.keys() | forces.keys():
            force_n, time_s = forces.get(pair, 0.0), self._sim.time_s
            last = self._found.get(pair)
            self._found[pair] = Pressing(
                first_s=last.first_s if last else time_s,
                largest_n=max(last.largest_n, force_n) if last else force_n,
                last_n=force_n,
            )

    def results(self) -> dict[str, Pressing]:
        """Return the results, in the order of first contact."""
        rows = sorted(self._found.items(), key=lambda row: (row[1].first_s, row[0]))
        return {f"{link} on {obstacle}": one for (obstacle, link), one in rows}


class TrialLog:
    """Recorder and meter of a robot under a controller.

    Use: `cycle` after each control period with physics, `block` after some of them,
    `still` after each step of a fast-forward and `jump` after it; `close` once.
    """

    def __init__(
        self,
        sim: SimulatedRobot,
        controller: Controller,
        recording: RunRecording,
        on_progress: Callable[[float], None],
    ) -> None:
        """Start at the robot's present temperatures, and start the wall clock.

        Args:
            sim: robot of the trial.
            controller: controller; its signals are recorded too.
            recording: recording of the run; `close` closes it.
            on_progress: function called with the simulated time in s.
        """
        self._begin = time.perf_counter()
        self._sim = sim
        self._controller = controller
        self._signal_source = controller if has_signals(controller) else None
        self._recording = recording
        self._on_progress = on_progress
        self._reported = 0.0
        self._meter = HeatMeter(sim)
        self._legs = LegsPower(sim.robot)
        self._presses = PressMeter(sim)
        self._start = self._place()
        self._mean_square = np.zeros(len(sim.robot.motors))
        self._physics_s = 0.0
        self._largest_shift = 0.0
        self.shut_down_s: float | None = None
        """Time in s at which the protection made the whole robot limp; None: never."""

    def cycle(self, observation: Observation, loop: Loop[SimulatedRobot]) -> None:
        """Add a control period with physics.

        Args:
            observation: observation at the beginning of the period.
            loop: loop with the controller's decision.
        """
        signals: Sequence[float] | None = None
        if self._signal_source is not None:
            with attribute_errors_to(self._controller, "signals"):
                signals = self._signal_source.signals
        self._record(observation, self._sim.motor_torque, loop.decided, signals)
        self._presses.add()
        if loop.shift is not None:
            largest = float(np.abs(loop.shift).max())
            self._largest_shift = max(self._largest_shift, largest)

    def block(self, mean_square: FloatArray, duration_s: float) -> None:
        """Add the mean of some cycles.

        Args:
            mean_square: (n_motors,) mean squared motor torque in N²m².
            duration_s: duration of these cycles, in s.
        """
        self._mean_square = mean_square
        self._physics_s += duration_s
        self._legs.add(self._sim.time_s, mean_square)

    def still(self, torque: FloatArray) -> bool:
        """Add time without physics; return True if a condition changed.

        The conditions are a temperature that crossed a threshold and the state of the
        protection.

        Args:
            torque: (n_motors,) torque that heated the motors, in N·m.
        """
        return self._record(self._sim.read(), torque)

    def jump(self, begin_s: float) -> None:
        """Add a fast-forward from a time in s until now."""
        self._legs.hold(self._sim.time_s)
        self._recording.event("fast-forward", self._sim.time_s, begin_s=begin_s)

    def close(
        self, *, name: str, folder: Path | None, failure: str | None, fell: bool
    ) -> TrialResult:
        """Close the recording and return the results.

        Args:
            name: name of the controller, as requested.
            folder: folder of the recording; None: no recording.
            failure: reason for an early end; None: no early end.
            fell: True if the robot fell.
        """
        sim, recording, robot = self._sim, self._recording, self._sim.robot
        if failure is not None:
            recording.save_last_second(sim)
        flags = dict(getattr(self._controller, "flag_counts", {}))
        recording.counts("controller flags", sim.time_s, flags)
        recording.close(f"failed: {failure}" if failure else "done")
        has_legs = bool(robot.leg_joints) and robot.has_legs
        least = least_powers(sim) if has_legs and failure is None else None
        least_w = None if least is None else least.motors_w
        joints = self._meter.results(self._mean_square, least_w)
        charge, minutes = self._battery()
        return TrialResult(
            controller=name,
            joints=joints,
            left_leg_rise_k=leg_rise(joints, robot.leg("left")),
            right_leg_rise_k=leg_rise(joints, robot.leg("right")),
            fell=fell,
            failure=failure,
            sim_s=sim.time_s,
            wall_s=time.perf_counter() - self._begin,
            physics_s=self._physics_s,
            shut_down_s=self.shut_down_s,
            flags=flags,
            folder=None if folder is None else str(folder),
            legs_joule_loss_j=self._meter.energy_of(robot.leg_joints),
            legs_power_w=self._legs.last_w if has_legs and not fell else None,
            least_power_w=least.without_gears_w if least else None,
            least_with_gears_w=least.with_gears_w if least else None,
            largest_shift_deg=float(np.rad2deg(self._largest_shift)),
            accepted_share=getattr(self._controller, "accepted_share", None),
            battery_charge=charge,
            battery_minutes=minutes,
            pressing=self._presses.results(),
            settled_s=self._legs.settled_s(),
            drift_m=None
            if fell
            else float(np.linalg.norm(self._place() - self._start)),
        )

    def _place(self) -> FloatArray:
        """Return the horizontal position of the base, (2,) in m; a copy."""
        position, _ = self._sim.engine.base_pose()
        return np.array(position[:2])

    def _battery(self) -> tuple[float, float]:
        """Return the remaining charge as a fraction, and the minutes that it lasts."""
        robot, battery = self._sim.robot, self._sim.robot.battery
        heat_w = float(joule_loss(robot, robot.joint_names) @ self._mean_square)
        power_w = battery.idle_watt + heat_w / battery.drive_efficiency
        capacity_j = 3600.0 * battery.capacity_watt_hour
        charge = battery.charge(self._sim.time_s, self._sim.motors_j)
        return charge, charge * capacity_j / power_w / 60.0

    def _record(
        self,
        observation: Observation,
        torque: FloatArray,
        decided: Limits | None = None,
        signals: Sequence[float] | None = None,
    ) -> bool:
        """Record and measure; return True if a threshold was crossed.

        `torque` (n_motors,) in N·m is the torque that heated the motors since the last
        call.
        """
        sim = self._sim
        self._recording.row(sim, observation, decided, signals, motor_torque=torque)
        reached = self._meter.add(np.abs(torque))
        for name in reached:
            self._recording.event("reached 80 °C", sim.time_s, motor=name)
        has_changed = self._record_protection()
        now = time.perf_counter()
        if now - self._reported > PROGRESS_PERIOD_S:
            self._reported = now
            self._on_progress(sim.time_s)
        return bool(reached) or has_changed

    def _record_protection(self) -> bool:
        """Record the events of the protection; return True if there were any."""
        sim = self._sim
        changes = sim.protection.take_events()
        for change in changes:
            self._recording.event(
                "protection",
                sim.time_s,
                motor=change.motor,
                before=change.before,
                status=change.status,
                temperature_degc=change.temperature_degc,
            )
        is_shut_down = bool(changes) and sim.protection.is_shut_down
        if is_shut_down and self.shut_down_s is None:
            self.shut_down_s = sim.time_s
        return bool(changes)
