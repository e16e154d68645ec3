"""Recording of a run on a robot: sensors and controller outputs, no ground truth.

The rows have the format of any run, so that `report`, `replay` and `xray` read them.
The simulator's true torques are replaced by estimates from the currents:

    motor_torque = K I

with K, the torque on the joint's side per current, from the robot's data. The share of
the gears' friction is unknown, so `effort` has no values.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nao_testbed.controllers.interface.controller import Limits
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.models import Robot
from nao_testbed.sim.recording.channels import (
    EFFORT,
    LIMITS,
    OBSERVED,
    RECORDED,
    SHIFT,
    Channel,
    channel_of,
    observation_channels,
)
from nao_testbed.sim.recording.recorder import Recorder
from nao_testbed.sim.recording.run_meta import describe_run, robot_data

AGE = Channel(
    name="age_s",
    unit="s",
    about="Age of the sensor values on arrival: time since the call that first "
    "returned them was sent.",
)


class SensorRecording:
    """Recording of a run without ground truth; `row` each period, `close` once."""

    def __init__(
        self,
        folder: Path,
        robot: Robot,
        *,
        config: object,
        command: Sequence[str],
        signals: Sequence[str] = (),
    ) -> None:
        """Start recording into an empty folder.

        Args:
            folder: folder from `create_run_folder` of `sim`.
            robot: its joints and motors name the columns.
            config: the run's dataclass, stored in `meta.json`.
            command: the command line, stored in `meta.json`.
            signals: names of the controller's signals.
        """
        meta = describe_run(
            experiment="robot",
            robot=robot.name,
            seed=0,
            config=config,
            command=command,
            robot_data=robot_data(robot),
        )
        torque = Channel(
            name="motor_torque",
            unit="N·m",
            members=robot.motor_names,
            about="Motor torque from the current, on the joint side.",
        )
        said = Channel(
            name="signal",
            unit="1",
            members=tuple(signals),
            about="Signals of the controller; the unit is in each name.",
        )
        self._signals = (said,) if signals else ()
        self._recorder = Recorder(
            folder,
            (
                *observation_channels(robot, exact=True),
                OBSERVED,
                channel_of(robot, LIMITS, exact=True),
                torque,
                AGE,
                channel_of(robot, SHIFT, exact=True),
                *self._signals,
            ),
            meta,
        )
        self._none = np.full(len(robot.joints), np.nan)
        self._torque_constant = np.array(
            [motor.one_node.torque_constant for motor in robot.motors]
        )
        self._last_s = -np.inf
        self.folder = folder

    def row(
        self,
        seen: Observation,
        decided: Limits,
        period_s: float,
        age_s: float,
        signals: Sequence[float] = (),
    ) -> None:
        """Record a period; one that began no later than the last is omitted.

        Args:
            seen: sensor values at its start.
            decided: output of the controller.
            period_s: its length in s.
            age_s: age of the sensor values in s.
            signals: values of the controller's signals.
        """
        if seen.time_s <= self._last_s:
            return
        self._last_s = seen.time_s
        self._recorder.append(
            seen.time_s + period_s,
            *(self._none if n == EFFORT else getattr(seen, n) for n in RECORDED),
            seen.time_s,
            decided.stiffness,
            self._torque_constant * seen.current,
            age_s,
            self._none if decided.shift is None else decided.shift,
            *((np.array(signals),) if self._signals else ()),
        )

    def event(self, kind: str, time_s: float, /, **data: object) -> None:
        """Record an event."""
        self._recorder.event(kind, time_s, **data)

    def close(self, reason: str) -> None:
        """Write buffered rows and the end of the run; may be called twice."""
        self._recorder.close(reason)
