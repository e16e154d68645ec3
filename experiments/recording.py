"""What of an arm goes into its run folder.

One row every 20 ms with physics, one every second in fast-forward.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from controllers.robot_interface import Observation
from models import Robot
from sim.channels import Channel, observation_channels
from sim.recorder import Recorder
from sim.run_meta import describe_run
from sim.simulated_robot import SimulatedRobot


def channels(robot: Robot) -> tuple[Channel, ...]:
    """Return what a row holds: the observation, and the truth that a report needs.

    `effort` is the motor's share on each joint, gear friction taken off;
    `true_temperature` is that of the heating model, without the sensor's steps.
    """
    return (
        *observation_channels(robot),
        Channel(name="true_temperature", unit="degC", members=robot.motor_names),
        Channel(name="motor_torque", unit="N·m", members=robot.motor_names),
    )


class RunRecording:
    """Writes an arm's rows and events; without a folder it does nothing."""

    def __init__(self, recorder: Recorder | None) -> None:
        """Take a recorder, or None to record nothing."""
        self._recorder = recorder

    @classmethod
    def open(
        cls,
        folder: Path | None,
        robot: Robot,
        *,
        seed: int,
        config: object,
        command: Sequence[str],
    ) -> "RunRecording":
        """Start recording into an empty folder.

        Args:
            folder: from `sim.run_folder.create_run_folder`; None records nothing.
            robot: whose joints and motors name the columns.
            seed: of the run.
            config: the run's dataclass, kept in `meta.json`.
            command: the command line, kept likewise.
        """
        if folder is None:
            return cls(None)
        meta = describe_run(
            experiment="heat",
            robot=robot.name,
            seed=seed,
            config=config,
            command=command,
        )
        return cls(Recorder(folder, channels(robot), meta))

    def row(self, sim: SimulatedRobot, seen: Observation) -> None:
        """Record the present moment and what the sensors last said."""
        if self._recorder is None:
            return
        self._recorder.append(
            sim.time_s,
            seen.q,
            seen.v,
            seen.target,
            sim.joint_torque,
            seen.stiffness,
            seen.temperature,
            seen.current,
            seen.fsr,
            seen.gyro,
            seen.accelerometer,
            sim.heating.temperature,
            sim.motor_torque,
        )

    def event(self, kind: str, time_s: float, **data: object) -> None:
        """Record that something happened."""
        if self._recorder is not None:
            self._recorder.event(kind, time_s, **data)

    def counts(self, kind: str, time_s: float, counts: Mapping[str, int]) -> None:
        """Record counters, if any counted."""
        if counts:
            self.event(kind, time_s, **counts)

    def save_last_second(self, sim: SimulatedRobot) -> None:
        """Keep the last second at full rate: for a run that diverged."""
        if self._recorder is not None:
            sim.last_second.save(self._recorder.folder)

    def close(self, reason: str) -> None:
        """Write what waits and how the run ended; may be called twice."""
        if self._recorder is not None:
            self._recorder.close(reason)
