"""A heat result with round numbers, the frames of its runs, and a browser."""

import dataclasses
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nao_testbed.experiments.closed_loop.trial_result import (
    LEG_JOINTS,
    JointResult,
    TrialResult,
    leg_rise,
)
from nao_testbed.experiments.heat.published import HeatResult, load_preset
from tests.experiments.common.browser import browser  # noqa: F401  # a fixture
from tests.experiments.common.recorded_runs import RecordedRuns

ROOT = Path(__file__).resolve().parents[2]
RISES = {
    "fixed": {"RHipRoll": 8, "RHipPitch": 24, "RKneePitch": 6, "RAnkleRoll": 5}
    | {"RAnklePitch": 7, "LHipRoll": 20, "LHipPitch": 12, "LKneePitch": 18}
    | {"LAnkleRoll": 14, "LAnklePitch": 45},
    "smart": {"RHipRoll": 4, "RHipPitch": 9, "RKneePitch": 5, "RAnkleRoll": 3}
    | {"RAnklePitch": 7, "LHipRoll": 7, "LHipPitch": 6, "LKneePitch": 10}
    | {"LAnkleRoll": 6, "LAnklePitch": 13},
}
STARTS = {"LAnklePitch": 35.0, "RHipPitch": 36.0}


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordedRuns]:
    """The recorded runs of this session, of all its processes."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of the session; each process has one below
    runs = RecordedRuns(folder / "recorded")
    yield runs
    assert not runs.changed(), "a test changed a run that others read; copy it"


def joint_result(start_degc: float, rise_k: float) -> JointResult:
    """A joint on its way to twice its rise; 80 °C after a straight line's time."""
    end = start_degc + rise_k
    steady = start_degc + 2.0 * rise_k
    reached = 900.0 * (80.0 - start_degc) / rise_k if rise_k > 0.0 else np.inf
    return JointResult(
        start_degc=start_degc,
        end_degc=end,
        rise_k=rise_k,
        mean_abs_effort_nm=rise_k / 20.0,
        joule_loss_j=30.0 * rise_k,
        time_to_80_degc_s=reached if reached <= 900.0 else None,
        steady_degc=steady,
        forecast_80_degc_s=reached if steady >= 80.0 else None,
    )


def trial_result(controller: str, joints: dict[str, JointResult]) -> TrialResult:
    return TrialResult(
        controller=controller,
        joints=joints,
        left_leg_rise_k=leg_rise(joints, tuple("L" + name for name in LEG_JOINTS)),
        right_leg_rise_k=leg_rise(joints, tuple("R" + name for name in LEG_JOINTS)),
        fell=False,
        failure=None,
        sim_s=900.0,
        wall_s=10.0,
        physics_s=30.0,
    )


def make_result(*controllers: str) -> HeatResult:
    """The published experiment with round heat; others heat as `smart` does."""
    trials = {}
    for controller in controllers:
        rises = RISES.get(controller, RISES["smart"])
        joints = {"HeadYaw": joint_result(30.0, 1.0)}
        joints |= {n: joint_result(STARTS.get(n, 30.0), r) for n, r in rises.items()}
        trials[controller] = trial_result(controller, joints)
    return HeatResult(
        minutes=15.0,
        posture="PoseInit",
        seed=7,
        misalignment_deg=dict(load_preset("document").misalignment_deg),
        trials=trials,
        settings={"preset": "document", "servo": "torque"},
    )


OTHER_EXPERIMENTS: dict[str, dict[str, Any]] = {
    "the duration is 16 min, not 15": {"minutes": 16.0},
    "the posture is Stand, not PoseInit": {"posture": "Stand"},
    "no joint is misaligned": {"misalignment_deg": {}},
    "the misalignment of LHipRoll in degrees is 0, not 0.37": {
        "misalignment_deg": {"LAnklePitch": 2.0}
    },
    "the protection is document, not none": {"settings": {"protection": "document"}},
    "the start temperature of RHipPitch in °C is 25, not 42.3": {
        "settings": {
            "start_degc": load_preset("document").start_degc | {"RHipPitch": 25.0}
        }
    },
    "the torque limit of LHipYawPitch in N·m is the default, not 3.2": {
        "settings": {"effort_limits_nm": {}}
    },
    "the ambient temperature is 10.0, not that of the motor constants": {
        "settings": {"ambient_degc": 10.0}
    },
    "the factor on gear friction is 0.0, not 1": {"settings": {"gear_friction": 0.0}},
    "the gear play in degrees is 0.5, not 0": {"settings": {"gear_play_deg": 0.5}},
}
"""What one line says of an experiment that nobody published, and what makes it so."""


@pytest.fixture(params=OTHER_EXPERIMENTS.items(), ids=lambda item: item[0])
def other_experiment(request: pytest.FixtureRequest) -> tuple[str, HeatResult]:
    """A reason, and the result that is for this reason not the published one."""
    why, changes = request.param
    result = make_result("fixed", "smart")
    if "settings" in changes:
        changes = {"settings": {**result.settings, **changes["settings"]}}
    return why, dataclasses.replace(result, **changes)


@pytest.fixture
def make_heat_result() -> Callable[..., HeatResult]:
    """Call it with the names of the controllers."""
    return make_result


@pytest.fixture
def two_leg_result() -> HeatResult:
    """Of a robot without the document's legs, that fell with `smart`."""
    names = [f"{side}_{j}" for side in ("left", "right") for j in ("hip", "knee")]
    hot = {n: joint_result(30.0, 10.0 * (i + 1)) for i, n in enumerate(names)}
    cool = {n: joint_result(30.0, 2.0 * (i + 1)) for i, n in enumerate(names)}
    fallen = trial_result("smart", cool)
    return HeatResult(
        minutes=15.0,
        posture="Stand",
        seed=0,
        misalignment_deg={},
        trials={
            "fixed": trial_result("fixed", hot),
            "smart": TrialResult(
                **{**vars(fallen), "failure": "fell at 3.20 s", "fell": True}
            ),
        },
    )


@pytest.fixture
def make_frame() -> Callable[[TrialResult], pd.DataFrame]:
    """Make the frame of a trial: temperatures on a straight line, stiffness 0.5."""

    def make(trial: TrialResult) -> pd.DataFrame:
        time_s = np.linspace(0.0, trial.sim_s, 2000)
        columns = {}
        for name, row in trial.joints.items():
            rise = row.rise_k * time_s / trial.sim_s
            columns[f"temperature.{name}"] = row.start_degc + rise
            columns[f"stiffness.{name}"] = np.full_like(time_s, 0.5)
        return pd.DataFrame(columns, index=pd.Index(time_s, name="time_s"))

    return make


@pytest.fixture
def legs() -> tuple[str, ...]:
    """The ten joints that the document draws."""
    return tuple(side + joint for side in "RL" for joint in LEG_JOINTS)
