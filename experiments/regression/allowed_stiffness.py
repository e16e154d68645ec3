"""The stiffness that a controller is allowed, step by step.

A limit is a number, a number a joint, or another controller: then it is what that one
answers to the very same observations, replayed from the trial's recording.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.replay.answers import answer
from experiments.replay.run import ReplayCfg, open_recording
from models import BadInput, UnknownName

FloatArray = NDArray[np.float64]

Limit = float | Mapping[str, float]


def limit_of(limit: Limit, joint_names: tuple[str, ...]) -> FloatArray:
    """Return the largest stiffness of each joint, (n_joints,); 1 where none is given.

    Raises:
        BadInput: a limit is no number from 0 to 1, or of an unknown joint.
    """
    if not isinstance(limit, Mapping):
        return np.full(len(joint_names), _checked(limit))
    allowed = np.ones(len(joint_names))
    for name, value in limit.items():
        if name not in joint_names:
            raise UnknownName("Joint", name, joint_names, "the robot of the trial")
        allowed[joint_names.index(name)] = _checked(value)
    return allowed


def answers_of(controller: str, folder: Path) -> FloatArray:
    """Return what a controller answers to a recording, (m, n_joints).

    Args:
        controller: as `controllers.make_controller` takes it.
        folder: of a run that was recorded with all its digits.

    Raises:
        BadInput: there is no such controller, or it fails on the recording.
    """
    recording = open_recording(ReplayCfg(folder=folder, controllers=(controller,)))
    seen = recording.observations
    answers = answer(seen, controller, lambda _name, _share: None)
    if answers.failure is not None:
        raise BadInput(f"{controller}, asked for its limits, {answers.failure}")
    return answers.stiffness


def are_of(
    joints: Sequence[str] | None, joint_names: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Return which joints are named, (n_joints,); None names all.

    Raises:
        UnknownName: a joint is unknown.
    """
    if joints is None:
        return np.full(len(joint_names), True)
    for name in joints:
        if name not in joint_names:
            raise UnknownName("Joint", name, joint_names, "the robot of the trial")
    return np.array([name in joints for name in joint_names])


def _checked(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise BadInput(f"limit is {value!r}; give a stiffness from 0 to 1.")
    if not 0.0 <= value <= 1.0:  # NaN too
        raise BadInput(f"limit is {value}; give a stiffness from 0 to 1.")
    return float(value)
