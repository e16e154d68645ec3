"""File of the simulated robots of a prediction, so that none is simulated twice.

Each robot is a line of JSON, written as soon as its simulation ends. An interrupted
prediction can be resumed, since the same seed draws the same robots. A prediction on
another engine reuses the robots that both need.

    {"format": 1, "setting": "9f2c..."}
    {"engine": "mujoco 4.0.0", "controller": "fixed", "x_deg": [...], "constant": [...]}

`setting` is a digest of all other inputs: the robot's data and the simulation.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.files import (
    cause_of,
    check_writable,
    convert_write_errors,
    read_text,
)
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine import engine_version
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.recording.run_meta import plain, robot_as_json
from nao_testbed.sim.robot import SimulationCfg

FORMAT = 1
_Key = tuple[str, str, tuple[float, ...]]


class RobotCache:
    """Store of simulated robots, in a file or in memory.

    `close` closes the file.
    """

    def __init__(self, path: Path | None, robot: Robot) -> None:
        """Read or create the file.

        Args:
            path: path of the file; None: memory only.
            robot: common data of all robots, without misalignments.

        Raises:
            BadInput: the file cannot be read or written, or has other contents.
        """
        self._known: dict[_Key, FloatArray | None] = {}
        self._version: dict[EngineName, str] = {}
        self._file: IO[str] | None = None
        self._path = path
        if path is None:
            return
        check_writable("--keep", path)
        setting = _setting(robot)
        text = _text(path)
        whole = text[: text.rfind("\n") + 1]  # the last line may be cut
        if text:
            self._read(path, whole or text, setting)
        with convert_write_errors(path):
            self._file = path.open("a", encoding="utf-8")
            if text:
                self._file.truncate(len(whole.encode()))
            else:
                head = {"format": FORMAT, "setting": setting}
                self._file.write(json.dumps(head) + "\n")
                self._file.flush()

    def _read(self, path: Path, text: str, setting: str) -> None:
        made_with = None
        for number, line in enumerate(text.splitlines(), start=1):
            try:
                row = json.loads(line)
                if number == 1:
                    made_with = (row["format"], row["setting"])
                    continue
                key = row["engine"], row["controller"], tuple(map(float, row["x_deg"]))
                found = row["constant"]
                self._known[key] = None if found is None else np.array(found, float)
            except (ValueError, KeyError, TypeError) as error:
                raise BadInput(
                    f"--keep {path}: line {number} is not a saved robot "
                    f"({type(error).__name__}: {error}). Give another file."
                ) from error
        if made_with != (FORMAT, setting):
            raise BadInput(
                f"--keep {path}: its robots were simulated with other robot "
                "data or another simulation. Give another file."
            )

    def constants(
        self,
        x: FloatArray,
        controller: str,
        engine: EngineName,
        simulate: Callable[[], FloatArray | None],
    ) -> FloatArray | None:
        """Return the constants of a robot; simulate it if they are not stored.

        Args:
            x: (n,) misalignments in degrees.
            controller: name of the controller.
            engine: physics engine.
            simulate: function that returns the constants (4,), or None if the robot
                fell.

        Raises:
            WriteError: the operating system cannot write the file.
        """
        if engine not in self._version:
            self._version[engine] = engine_version(engine)
        key = self._version[engine], controller, tuple(map(float, x))
        if key not in self._known:
            found = self._known[key] = simulate()
            if self._file is not None and self._path is not None:
                row = {
                    "engine": key[0],
                    "controller": controller,
                    "x_deg": key[2],
                    "constant": None if found is None else found.tolist(),
                }
                with convert_write_errors(self._path):
                    self._file.write(json.dumps(row) + "\n")
                    self._file.flush()
        return self._known[key]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _text(path: Path) -> str:
    """Return the text of a file; empty if there is none."""
    if not path.exists():
        return ""
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"--keep {path} cannot be read: {cause_of(error)}. Give another file."
        ) from error


def _setting(robot: Robot) -> str:
    """Return a digest of robot data and simulation settings."""
    data = robot_as_json(robot)
    for where in ("folder", "urdf"):
        del data[where]
    simulation = plain(SimulationCfg(world=WorldCfg(engine="mujoco")))
    text = json.dumps([data, robot.urdf.read_text("utf-8"), simulation], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
