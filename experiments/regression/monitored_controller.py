"""Wrapper of a controller that checks and copies its output and measures its time.

A controller must return `Limits` with finite float64 arrays, one number per joint, and
a stiffness from 0 to 1. It must not change the observation, and must not raise.
"""

import traceback
from dataclasses import dataclass, field, fields
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.interface.controller import (
    Controller,
    ControllerWrapper,
    Limits,
)
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.common.signals import is_stop_signal
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray


def find_breach(answer: Any, robot: Robot) -> tuple[str, str] | None:
    """Return the fault of a step's answer; None if it is valid.

    Args:
        answer: returned object.
        robot: robot with the joints of the arrays.

    Returns:
        The fault, such as `returned None from step`, and the requirement.
    """
    if not isinstance(answer, Limits):
        rule = "it must be Limits(stiffness=...) with one number per joint"
        return f"returned {_type_text(answer)} from step", rule
    wrong = _breach_of_array("a stiffness", answer.stiffness, robot)
    if wrong is None:
        stiffness = answer.stiffness
        outside = np.flatnonzero((stiffness < 0.0) | (stiffness > 1.0))
        if len(outside):
            value = f"{stiffness[outside[0]]:.4g}"
            what = f"returned a stiffness of {value} for {_joints(robot, outside)}"
            return what, "it must be between 0 and 1"
        if answer.shift is not None:
            wrong = _breach_of_array("a shift", answer.shift, robot)
        if wrong is None and answer.target is not None:
            wrong = _breach_of_array("a set-point", answer.target, robot)
    return wrong


def _breach_of_array(what: str, array: Any, robot: Robot) -> tuple[str, str] | None:
    n = len(robot.joints)
    if not isinstance(array, np.ndarray):
        return (
            f"returned {what} that is {_type_text(array)}",
            "it must be a numpy array",
        )
    if array.dtype != np.float64:
        return f"returned {what} of dtype {array.dtype}", "it must be float64"
    if array.shape != (n,):
        rule = f"it must be ({n},), one number per joint of {robot.name}"
        return f"returned {what} of shape {array.shape}", rule
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        value = "NaN" if np.isnan(array[bad[0]]) else f"{array[bad[0]]:g}"
        where = f"returned {what} of {value} for {_joints(robot, bad)}"
        return where, "it must be a finite number"
    return None


def _joints(robot: Robot, which: NDArray[np.intp]) -> str:
    """Return a text with the first joint and the number of further ones."""
    first = robot.joint_names[which[0]]
    return first if len(which) == 1 else f"{first} and {len(which) - 1} more"


def _type_text(value: object) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


_ARRAYS = tuple(f.name for f in fields(Observation) if f.name != "time_s")


class ControllerBreach(BadInput):
    """A controller broke its contract; the trial ends."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Decisions:
    """Answers of a controller in m steps."""

    time_s: FloatArray
    """(m,) times of the observations in s."""
    stiffness: FloatArray
    """(m, n_joints) stiffness."""
    shift: FloatArray
    """(m, n_joints) shift in rad; zero without a shift."""
    joint_names: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class StepTimes:
    """Times of m steps."""

    wall_s: FloatArray
    """(m,) wall times in s."""
    cpu_s: FloatArray
    """(m,) processor times of the calling thread in s."""


class MonitoredController(ControllerWrapper):
    """Wrapper of a controller that checks and copies every answer."""

    name = ""
    """Name in messages; the wrapped controller keeps its own name."""
    breach: str | None = None
    """Sentence about the violated contract; None without a violation."""

    def __init__(self, controller: Controller, name: str) -> None:
        """Wrap a controller under a name for messages."""
        super().__init__(controller)
        self.name = name
        self._time_s: list[float] = []
        self._stiffness: list[FloatArray] = []
        self._shift: list[FloatArray] = []
        self._wall_s: list[float] = []
        self._cpu_s: list[float] = []

    def reset(self, robot: Robot) -> None:
        """Reset the wrapped controller.

        Raises:
            ControllerBreach: the controller raised an error.
        """
        self._robot = robot
        self._no_shift = np.zeros(len(robot.joints))
        try:
            self._wrapped.reset(robot)
        except BaseException as error:  # any exception of a foreign controller
            if is_stop_signal(error):
                raise
            raise self._record_breach(_raised(error, "reset")) from error

    def step(self, observation: Observation) -> Limits:
        """Step the wrapped controller; measure the time and check the answer.

        Raises:
            ControllerBreach: the controller raised an error, changed the observation,
                or returned an invalid answer.
        """
        time_s = observation.time_s
        before = _bytes_of(observation)
        try:
            # The operating system may switch processes at a system call. `thread_time`
            # is one and `perf_counter` is not, so `perf_counter` is the inner call.
            cpu, wall = thread_time(), perf_counter()
            answer = self._wrapped.step(observation)
            wall = perf_counter() - wall
            cpu = thread_time() - cpu
        except BaseException as error:  # any exception of a foreign controller
            if is_stop_signal(error):
                raise
            what = _raised(error, "step")
            raise self._record_breach(f"{what} at {time_s:.2f} s") from error
        written = [n for n, b in _bytes_of(observation).items() if b != before[n]]
        if written:
            raise self._record_breach(
                f"wrote into the observation ({', '.join(written)}) at {time_s:.2f} s; "
                "it must not change it, since the recording reads the same arrays"
            )
        wrong = find_breach(answer, self._robot)
        if wrong is not None:
            what, rule = wrong
            raise self._record_breach(f"{what} at {time_s:.2f} s; {rule}")
        shift = self._no_shift if answer.shift is None else answer.shift.copy()
        self._time_s.append(time_s)
        self._stiffness.append(answer.stiffness.copy())
        self._shift.append(shift)
        self._wall_s.append(wall)
        self._cpu_s.append(cpu)
        return answer

    def decisions(self) -> Decisions:
        """Return its outputs so far."""
        shape = (len(self._time_s), len(self._robot.joints))
        return Decisions(
            time_s=np.array(self._time_s),
            stiffness=np.array(self._stiffness).reshape(shape),
            shift=np.array(self._shift).reshape(shape),
            joint_names=self._robot.joint_names,
        )

    def step_times(self) -> StepTimes:
        """Return the times of its steps so far."""
        return StepTimes(wall_s=np.array(self._wall_s), cpu_s=np.array(self._cpu_s))

    def _record_breach(self, what: str) -> ControllerBreach:
        self.breach = f"{self.name} {what}."
        return ControllerBreach(self.breach)


def _bytes_of(observation: Observation) -> dict[str, bytes]:
    """Return name to bytes of each array, so that NaN equals NaN."""
    return {name: getattr(observation, name).tobytes() for name in _ARRAYS}


def _raised(error: BaseException, method: str) -> str:
    """Return a text with the error and its line in the controller's code."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first frame is ours
    text = str(error).rstrip(".")
    what = f"raised {type(error).__name__}{f': {text}' if text else ''} in {method}"
    if not frames:  # the call itself failed
        return what
    home = Path(frames[0].filename).parent
    own = [f for f in frames if Path(f.filename).is_relative_to(home)]
    return f"{what} ({Path(own[-1].filename).name}:{own[-1].lineno})"
