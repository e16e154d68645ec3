"""Robots and observations for the tests of controllers."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers import Observation
from nao_testbed.models import Robot
from tests.controllers.helpers import Observe
from tests.controllers.oracle import PyBulletDynamics

TWO_LEG = Path(__file__).parents[1] / "data" / "two_leg"
UP = (0.0, 0.0, 1.0)


def make_observation(
    robot: Robot,
    posture: str = "PoseInit",
    *,
    time_s: float = 0.0,
    up: Sequence[float] = UP,
    pressed: Sequence[str] | None = None,
    **changes: Any,
) -> Observation:
    """Return the readings of a robot at rest.

    `pressed`: prefixes of the names of the force sensors that read 6 N; all of them
    when None. `up`: the vertical in the base frame.
    """
    q = robot.posture(posture).angles
    n = len(robot.joints)
    load = [
        6.0 if pressed is None or sensor.name.startswith(tuple(pressed)) else 0.0
        for sensor in robot.force_sensors
    ]
    observation = Observation(
        time_s=time_s,
        q=q.copy(),
        v=np.zeros(n),
        target=q.copy(),
        stiffness=np.ones(n),
        current=np.zeros(len(robot.motors)),
        temperature=np.full(len(robot.motors), 30.0),
        gyro=np.zeros(3),
        accelerometer=9.81 * np.asarray(up, dtype=float) / np.linalg.norm(up),
        fsr=np.array(load),
    )
    return dataclasses.replace(observation, **changes)


@pytest.fixture(scope="session")
def observe() -> Observe:
    return make_observation


@pytest.fixture(scope="module")
def engine(nao: Robot) -> Iterator[PyBulletDynamics]:
    dynamics = PyBulletDynamics(nao)
    yield dynamics
    dynamics.close()
