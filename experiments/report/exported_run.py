"""Recorded run in a form for all export formats."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from nao_testbed.experiments.closed_loop.recording import base_pose_of, recorded_channel
from nao_testbed.experiments.report.replay.rig import read_tree, turns
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.run_folder import Run, read_run
from nao_testbed.sim.recording.run_meta import recorded_robot

WORLD = "world"
"""Name of the parent frame of the base; the other frames have the names of their
links."""
OK, WARN, ERROR = 0, 1, 2
"""Levels of `diagnostic_msgs/DiagnosticStatus`."""
DIAGNOSTICS_S = 1.0
"""Time between two diagnostics in s, that of the temperature readings."""


@dataclass(frozen=True, kw_only=True)
class Transform:
    """Pose of one frame in another over time."""

    parent: str
    child: str
    translation: FloatArray
    """(n, 3) translations in m."""
    quaternion: FloatArray
    """(n, 4) quaternions x y z w."""


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """Diagnostic status of one motor, or of the run, at one time."""

    name: str
    level: int
    """`OK`, `WARN` or `ERROR`."""
    message: str
    values: Mapping[str, str]


class ExportedRun:
    """Recorded run whose arrays have one row per row of the run."""

    def __init__(self, folder: Path, robot_folder: Path | None = None) -> None:
        """Read a run.

        Args:
            folder: folder of the run.
            robot_folder: folder of the robot; None: the folder named by the run.

        Raises:
            BadInput: it is not a run, has no rows, or its robot is missing.
        """
        self.run: Run = read_run(folder)
        self.robot: Robot = recorded_robot(self.run.meta, robot_folder)
        self.frame = self.run.frame
        if self.frame.empty:
            raise BadInput(f"{folder} has no rows yet; there is nothing to export.")
        if self.joints("q") is None:
            raise BadInput(
                f"{folder} lacks columns such as q.{self.robot.joint_names[0]}; give "
                "a run with joint angles."
            )

    @property
    def time_s(self) -> FloatArray:
        """(n,) simulated times in s."""
        return self.frame.index.to_numpy(dtype=np.float64)

    def joints(self, channel: str) -> FloatArray | None:
        """Return (n, n_joints) of a channel of joints; None if the run lacks it."""
        return recorded_channel(self.frame, channel, self.robot.joint_names)

    def motors(self, channel: str) -> FloatArray | None:
        """Return (n, n_motors) of a channel of motors; None if the run lacks it."""
        return recorded_channel(self.frame, channel, self.robot.motor_names)

    @cached_property
    def transforms(self) -> tuple[Transform, ...]:
        """Transforms of the base in the world, if recorded, and of each link.

        Transforms of links use the encoder angles, as on a real robot.
        """
        n, robot = len(self.frame), self.robot
        found: list[Transform] = []
        base = base_pose_of(self.frame)
        if base is not None:
            place = {"translation": base[0], "quaternion": base[1]}
            found.append(Transform(parent=WORLD, child=robot.base_link, **place))
        q = self.joints("q")
        assert q is not None, "checked before"
        column = {name: q[:, i] for i, name in enumerate(robot.joint_names)}
        for joint in read_tree(robot.urdf):
            rotation = Rotation.from_matrix(turns(joint, column.get(joint.name), n))
            found.append(
                Transform(
                    parent=joint.parent,
                    child=joint.child,
                    translation=np.broadcast_to(joint.position, (n, 3)),
                    quaternion=rotation.as_quat(),
                )
            )
        return tuple(found)

    def diagnostics(self) -> Iterator[tuple[float, list[Diagnostic]]]:
        """Yield times in s with the diagnostics of the run and of each motor."""
        own = self.robot.protection
        warn, error, _ = (np.inf,) * 3 if own is None else own.onset_degc
        degc = self.motors("temperature")
        stiffness = self.joints("stiffness")
        lead = self.robot.lead_joints
        next_s = -np.inf
        for i, now in enumerate(self.time_s.tolist()):
            if now < next_s:
                continue
            next_s = now + DIAGNOSTICS_S - 1e-9
            said = [self._of_run()]
            for m, name in enumerate(self.robot.motor_names):
                if degc is None:
                    break
                hot = float(degc[i, m])
                level = ERROR if hot >= error else WARN if hot >= warn else OK
                values = {"temperature_degc": f"{hot:g}"}
                if stiffness is not None:
                    values["stiffness"] = f"{stiffness[i, lead[m]]:g}"
                message = ("ok", f"above {warn:g} °C", f"above {error:g} °C")[level]
                said.append(
                    Diagnostic(
                        name=f"motor {name}",
                        level=level,
                        message=message,
                        values=values,
                    )
                )
            yield now, said

    def _of_run(self) -> Diagnostic:
        meta, state = self.run.meta, self.run.state
        return Diagnostic(
            name="run",
            level=ERROR if state.startswith("failed") else OK,
            message=state,
            values={
                "experiment": meta.experiment,
                "robot": meta.robot,
                "seed": str(meta.seed),
                "commit": str(meta.commit),
            },
        )
