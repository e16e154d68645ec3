"""Recording of a run into its folder.

One row per control period with physics, one per second in fast-forward. A row has the
controller's observation with its time, and its decision (shifts of the set-points and
current limits only in runs that use them): enough for a replay (`sim.replayed_robot`).
It also has the ground truth: pose of the base, torques and temperatures.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.controllers.interface.controller import Limits
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.closed_loop.controller_failure import ControllerFailed
from nao_testbed.experiments.common.signals import stop_reason
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.effectors import colour_names
from nao_testbed.sim.recording.channels import (
    AXES,
    CURRENT_LIMIT,
    EFFORT,
    LIMITS,
    OBSERVED,
    RECORDED,
    SHIFT,
    Channel,
    channel_of,
    observation_channels,
    obstacle_channel,
)
from nao_testbed.sim.recording.recorder import Recorder
from nao_testbed.sim.recording.run_meta import describe_run, robot_data
from nao_testbed.sim.robot import SimulatedRobot

if TYPE_CHECKING:
    import pandas as pd


BASE_POSITION, BASE_QUATERNION = "base_position", "base_quaternion"
"""True pose of the base link's frame in the world: m, and a unit quaternion."""
QUATERNION = ("x", "y", "z", "w")


def channels(
    robot: Robot,
    *,
    exact: bool = False,
    with_leds: bool = False,
    signals: Sequence[str] = (),
) -> tuple[Channel, ...]:
    """Return the channels of a row: the observation, and the truth for reports.

    `effort` is the torque on each joint: the motor's torque after gear friction.
    `base_position` and `base_quaternion` are the true pose of the base link's frame in
    the world. `true_temperature` is that of the heating model, without the sensor's
    steps. `motor_torque` is the torque of the last tick, or in fast-forward the torque
    that heated the motors since the previous row. `leds` (optional) is the mean
    brightness of each LED group and colour. `signal` has the signals of the controller,
    each with its unit in its name. In a world with obstacles, `obstacle_force` is added
    with the first row.
    """
    motors = robot.motor_names
    leds = Channel(
        name="leds",
        unit="1",
        members=colour_names(robot.leds),
        about="Mean brightness of each group of LEDs and colour.",
    )
    signal = Channel(
        name="signal",
        unit="1",
        members=tuple(signals),
        about="Signals of the controller, with the unit in each name.",
    )
    return (
        *observation_channels(robot, exact=exact),
        OBSERVED,
        channel_of(robot, LIMITS, exact=exact),
        Channel(
            name=BASE_POSITION,
            unit="m",
            members=AXES,
            about="True position of the base link's frame in the world.",
        ),
        Channel(
            name=BASE_QUATERNION,
            unit="1",
            members=QUATERNION,
            about="True attitude of the base link's frame in the world.",
        ),
        Channel(
            name="true_temperature",
            unit="degC",
            members=motors,
            about="Temperature of the heating model, without sensor quantization.",
        ),
        Channel(
            name="motor_torque",
            unit="N·m",
            members=motors,
            about="Motor torque at the joint at the end of the period; in fast-forward "
            "the root mean square.",
        ),
        *((leds,) if with_leds else ()),
        *((signal,) if signals else ()),
    )


def recorded_channel(
    frame: "pd.DataFrame", channel: str, members: Iterable[str]
) -> FloatArray | None:
    """Return the columns of a channel in recorded rows, (n_rows, n_members).

    None if a column is missing.
    """
    columns = [f"{channel}.{member}" for member in members]
    if not set(columns) <= set(frame.columns):
        return None
    return frame[columns].to_numpy(dtype=np.float64)


def base_pose_of(frame: "pd.DataFrame") -> tuple[FloatArray, FloatArray] | None:
    """Return the true positions (n, 3) in m and quaternions (n, 4) of the base.

    None if a row lacks them, as in older runs.
    """
    position = recorded_channel(frame, BASE_POSITION, AXES)
    quaternion = recorded_channel(frame, BASE_QUATERNION, QUATERNION)
    if position is None or quaternion is None:
        return None
    known = np.isfinite(position).all() and np.isfinite(quaternion).all()
    return (position, quaternion) if known else None


class RunRecording:
    """Writer of a run's rows and events; without a folder it does nothing."""

    def __init__(
        self,
        recorder: Recorder | None,
        n_joints: int = 0,
        *,
        with_leds: bool = False,
        signals: Sequence[str] = (),
        shift: Channel | None = None,
    ) -> None:
        """Wrap a recorder; None: record nothing.

        Args:
            recorder: recorder with the channels of `channels`.
            n_joints: number of joints of the robot.
            with_leds: True if the channels include the LEDs.
            signals: names of the controller's signals.
            shift: channel that is added with the first shift.
        """
        self._recorder = recorder
        self._with_leds = with_leds
        self._shift = shift
        self._has_shift = False
        self._has_current = False
        self._is_current_first = False
        self._pressed: dict[tuple[str, str], int] = {}
        self._none = np.full(n_joints, np.nan)
        self._no_signals = (np.nan,) * len(signals)

    @classmethod
    def open(
        cls,
        folder: Path | None,
        robot: Robot,
        *,
        seed: int,
        config: object,
        command: Sequence[str],
        experiment: str = "heat",
        exact: bool = False,
        with_leds: bool = False,
        signals: Sequence[str] = (),
    ) -> "RunRecording":
        """Start recording into an empty folder.

        Args:
            folder: folder from `sim.create_run_folder`; None: record nothing.
            robot: robot whose joints and motors name the columns.
            seed: seed of the run.
            config: configuration of the run, a dataclass, stored in `meta.json`.
            command: command line, stored in `meta.json`.
            experiment: kind of run.
            exact: True: store every digit of the controller's observation; see
                `sim.recording.channels.observation_channels`.
            with_leds: True: record the LEDs too.
            signals: names of the controller's signals
                (`controllers.interface.controller.SignalSource`).
        """
        if folder is None:
            return cls(None)
        meta = describe_run(
            experiment=experiment,
            robot=robot.name,
            seed=seed,
            config=config,
            command=command,
            robot_data=robot_data(robot),
        )
        with_leds = with_leds and bool(robot.leds)
        columns = channels(robot, exact=exact, with_leds=with_leds, signals=signals)
        recorder = Recorder(folder, columns, meta)
        return cls(
            recorder,
            len(robot.joints),
            with_leds=with_leds,
            signals=signals,
            shift=channel_of(robot, SHIFT, exact=exact),
        )

    def row(
        self,
        sim: SimulatedRobot,
        seen: Observation,
        decided: Limits | None = None,
        signals: Sequence[float] | None = None,
        motor_torque: FloatArray | None = None,
    ) -> None:
        """Record the present state and the last sensor values.

        Args:
            sim: robot after the period that began with `seen`.
            seen: observation at the beginning of the period.
            decided: the stiffness controller's decision on `seen`, before any
                limitation; None if it was not called.
            signals: signals of the controller; None if it was not called.
            motor_torque: (n_motors,) torque in N·m that heated the motors since the
                previous row; None: that of the last tick.
        """
        if self._recorder is None:
            return
        obstacles = sim.cfg.world.obstacles
        if obstacles and not self._pressed:
            self._begin_forces(sim.robot, [one.name for one in obstacles])
        shift = None if decided is None else decided.shift
        if shift is not None and not self._has_shift and self._shift is not None:
            self._recorder.add(self._shift)
            self._has_shift = True
        if not self._has_current and sim.limits_current:
            self._recorder.add(channel_of(sim.robot, CURRENT_LIMIT))
            self._has_current = True
            self._is_current_first = not self._has_shift
        later = [self._none if shift is None else shift] if self._has_shift else []
        later += [sim.current_limit] if self._has_current else []
        position, quaternion = sim.engine.base_pose()
        self._recorder.append(
            sim.time_s,
            *(
                sim.joint_torque if name == EFFORT else getattr(seen, name)
                for name in RECORDED
            ),
            seen.time_s,
            self._none if decided is None else decided.stiffness,
            position,
            quaternion,
            sim.heating.temperature,
            sim.motor_torque if motor_torque is None else motor_torque,
            *((sim.leds.means(),) if self._with_leds else ()),
            *(
                (self._no_signals if signals is None else signals,)
                if self._no_signals
                else ()
            ),
            *((self._forces(sim),) if obstacles else ()),
            *(later[::-1] if self._is_current_first else later),
        )

    def _begin_forces(self, robot: Robot, obstacles: Sequence[str]) -> None:
        """Record the forces on obstacles from the first row on."""
        if self._recorder is not None:
            self._recorder.add(obstacle_channel(robot, obstacles))
        pairs = [(name, link.name) for name in obstacles for link in robot.links]
        self._pressed = {pair: k for k, pair in enumerate(pairs)}

    def _forces(self, sim: SimulatedRobot) -> FloatArray:
        """Return the force of each link on each obstacle, in N."""
        forces = np.zeros(len(self._pressed))
        for pair, force in sim.engine.obstacle_forces().items():
            forces[self._pressed[pair]] = force
        return forces

    def event(self, kind: str, time_s: float, /, **data: object) -> None:
        """Record an event."""
        if self._recorder is not None:
            self._recorder.event(kind, time_s, **data)

    def counts(self, kind: str, time_s: float, counts: Mapping[str, int]) -> None:
        """Record counters that are not 0."""
        if counts:
            self.event(kind, time_s, **counts)

    def flush(self) -> None:
        """Write the pending rows as a separate part."""
        if self._recorder is not None:
            self._recorder.flush()

    def save_last_second(self, sim: SimulatedRobot) -> None:
        """Save the last second at full rate, after a divergence."""
        if self._recorder is not None:
            sim.last_second.save(self._recorder.folder)

    def close(self, reason: str) -> None:
        """Write pending rows and the final state; may be called twice."""
        if self._recorder is not None:
            self._recorder.close(reason)

    @contextmanager
    def close_on_error(self) -> Iterator[None]:
        """Close with the reason if the context ends with an error."""
        try:
            yield
        except KeyboardInterrupt as stop:
            self.close(f"failed: {stop_reason(stop)}")
            raise
        except ControllerFailed as error:
            self.save_traceback(error)
            self.close(f"failed: {error}")
            raise
        except Exception as error:
            self.close(f"failed: {error}")
            raise

    def save_traceback(self, error: ControllerFailed) -> None:
        """Write the traceback of a controller error into the run folder."""
        if self._recorder is not None:
            error.save_traceback(self._recorder.folder)
