"""Conditions on which the supervisor ends a run."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.live.real_robot.supervisor import (
    Supervisor,
    SupervisorCfg,
    SupervisorStop,
)
from nao_testbed.models import load_robot
from tests.messages import Messages, each

NAO = load_robot()


def seen(time_s: float = 0.0, **values: Any) -> Observation:
    n, m = len(NAO.joints), len(NAO.motors)
    rest = Observation(
        time_s=time_s,
        q=np.zeros(n),
        v=np.zeros(n),
        target=np.zeros(n),
        stiffness=np.ones(n),
        temperature=np.full(m, 40.0),
        current=np.zeros(m),
        fsr=np.full(len(NAO.force_sensors), 6.0),
        gyro=np.zeros(3),
        accelerometer=np.array([0.0, 0.0, 9.81]),
    )
    return replace(rest, **values)


def test_standing_robot_continues() -> None:
    supervisor = Supervisor(NAO)
    for i in range(100):
        supervisor.check(seen(0.02 * i), np.zeros(len(NAO.joints)), 0.099)


def test_hot_motor_ends_the_run_with_its_name() -> None:
    degc = np.full(len(NAO.motors), 40.0)
    degc[NAO.motor_index("LAnklePitch")] = 80.0
    with pytest.raises(SupervisorStop, match="hot: LAnklePitch is at 80"):
        Supervisor(NAO).check(seen(temperature=degc))


@pytest.mark.parametrize("way", [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)])
def test_leaning_body_counts_as_fallen(way: tuple[float, float]) -> None:
    supervisor = Supervisor(NAO)

    def lean(degrees: float, time_s: float) -> None:
        up = np.cos(np.deg2rad(degrees))
        level = np.sin(np.deg2rad(degrees)) * np.array(way)
        supervisor.check(seen(time_s, accelerometer=9.81 * np.array([*level, up])))

    for i in range(100):
        lean(35.0, 0.02 * i)
    for i in range(100, 130):  # the filter settles within half a second
        with suppress(SupervisorStop):
            lean(60.0, 0.02 * i)
    with pytest.raises(SupervisorStop, match="fallen"):
        lean(60.0, 2.6)


def test_foreign_set_point_ends_the_run_after_a_delay() -> None:
    supervisor, knee = Supervisor(NAO), NAO.joint_index("RKneePitch")
    written = np.zeros(len(NAO.joints))
    target = written.copy()
    target[knee] = 0.05
    supervisor.check(seen(0.0, target=target), written)
    supervisor.check(seen(0.2, target=written), written)  # only a late write
    supervisor.check(seen(0.4, target=target), written)
    supervisor.check(seen(0.6, target=target), written)
    with pytest.raises(SupervisorStop, match="disobeyed: the set-point of RKneePitch"):
        supervisor.check(seen(0.8, target=target), written)


def test_messages(messages: Messages) -> None:
    messages(
        old_values_end_it=lambda: Supervisor(NAO).check(seen(), None, 0.12),
        a_bound_without_meaning=each(
            SupervisorCfg, late_s=[0.0, float("nan")], hottest_degc=[500.0]
        ),
    )
