"""Detection of a robot at rest, and of the feet that it stands on."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers import Observation
from nao_testbed.controllers.heat_minimization.stillness import (
    Stillness,
    StillnessCfg,
    sensors_of_feet,
)
from nao_testbed.models import load_robot
from tests.controllers.conftest import make_observation

NAO = load_robot()
CFG = StillnessCfg()
STILL = make_observation(NAO)


def watch(stillness: Stillness, begin_s: float, end_s: float, **seen: Any) -> None:
    for k in range(round((end_s - begin_s) / 0.02)):
        changes: dict[str, Any] = {"time_s": begin_s + 0.02 * k, **seen}
        observation: Observation = dataclasses.replace(STILL, **changes)
        stillness.step(observation, observation.target)


def test_calm_time_grows_while_nothing_moves() -> None:
    stillness = Stillness(NAO, CFG)
    watch(stillness, 0.0, 2.0)
    assert np.isclose(stillness.calm_s, 1.98)


@pytest.mark.parametrize(
    "seen",
    [
        {"gyro": np.array((0.0, 2.0 * CFG.gyro_threshold, 0.0))},
        {"v": np.full(len(NAO.joints), 2.0 * CFG.velocity_threshold)},
        {"target": STILL.target + 2.0 * CFG.request_threshold_rad},
    ],
    ids=["body", "joint", "posture"],
)
def test_motion_of_body_joint_or_posture_resets_calm_time(
    seen: dict[str, object],
) -> None:
    stillness = Stillness(NAO, CFG)
    watch(stillness, 0.0, 2.0)
    watch(stillness, 2.0, 2.3, **seen)
    assert stillness.calm_s < 0.3


def test_one_encoder_step_is_not_a_motion() -> None:
    stillness = Stillness(NAO, CFG)
    watch(stillness, 0.0, 2.0)
    v = np.zeros(len(NAO.joints))
    v[0] = NAO.joints[0].encoder_step / 0.02  # for one cycle
    watch(stillness, 2.0, 2.02, v=v)
    watch(stillness, 2.02, 2.1)
    assert stillness.calm_s > 2.0


def test_foot_contact_has_hysteresis() -> None:
    stillness = Stillness(NAO, CFG)
    left = sensors_of_feet(NAO)[0] > 0.0

    def loaded(newton: float) -> bool:
        fsr = np.where(left, newton / 4.0, 6.0)
        watch(stillness, 0.0, 0.02, fsr=fsr)
        assert np.isclose(stillness.foot_loads[0], newton)
        assert stillness.is_pressed[1]
        return bool(stillness.is_pressed[0])

    assert [loaded(x) for x in (20.0, 1.0, 0.5, 1.0, 1.6, 1.0)] == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]


def test_feet_without_sensors_count_as_pressed() -> None:
    bare = dataclasses.replace(NAO, force_sensors=())
    stillness = Stillness(bare, CFG)
    seen = dataclasses.replace(STILL, fsr=np.zeros(0))
    stillness.step(seen, seen.target)
    assert stillness.is_pressed.all()
