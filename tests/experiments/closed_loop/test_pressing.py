"""Obstacle contacts in the run folder and in the result of a trial."""

import dataclasses
from pathlib import Path

import pytest

from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.sim.recording.run_folder import read_run

RAISED = {"LShoulderPitch": -30.0}
"""The arm is 30 degrees higher than its encoder reads: it rises under the edge."""
TABLE = {"table": "0.3,0.6,0.02@0.27,0,0.3"}


def trial(setting: RobotSetting, folder: Path | None = None) -> TrialCfg:
    return TrialCfg.of(
        setting,
        posture="Stand",
        controller="fixed",
        duration_s=1.6,
        fast_forward=None,
        folder=folder,
    )


@pytest.mark.requirement("ST-27")
def test_a_run_records_obstacle_contacts(tmp_path: Path) -> None:
    setting = RobotSetting(misalignment_deg=RAISED, obstacles=TABLE)
    result = run_trial(trial(setting, tmp_path))
    (who,) = result.pressing
    one = result.pressing[who]
    assert who == "l_wrist on table"
    frame = read_run(tmp_path).frame
    forces = frame["obstacle_force.table.l_wrist"]
    assert 0.5 < one.first_s < 1.5
    assert (forces[frame.index < one.first_s - 1e-6] == 0.0).all()
    assert forces.iloc[-1] == pytest.approx(one.last_n, rel=1e-6)
    assert forces.max() == pytest.approx(one.largest_n, rel=1e-6)
    assert 4.0 < one.last_n < 8.0  # τ_max of the shoulder over a lever of 0.2 m
    others = frame.filter(like="obstacle_force.").drop(columns=forces.name)
    assert (others == 0.0).all(axis=None)
    assert result.least_power_w is None  # the soles alone do not carry the robot


EDGE = {"edge": "0.1,0.3,0.02@0.25,0.2,0.1"}
"""A table's edge above the left shin of a robot that sits."""


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("ST-27")
def test_a_free_leg_under_an_edge_presses_up_to_its_limit() -> None:
    """A knee commanded to stretch by 40 degrees presses with its torque limit."""
    setting = RobotSetting(misalignment_deg={"LKneePitch": -40.0}, obstacles=EDGE)
    heat, force = {}, {}
    for controller in ("fixed", "smart-document"):
        cfg = dataclasses.replace(
            trial(setting), posture="Sit", controller=controller, duration_s=3.0
        )
        result = run_trial(cfg)
        assert not result.fell
        heat[controller] = result.legs_power_w or 0.0
        force[controller] = sum(one.last_n for one in result.pressing.values())
    assert force["fixed"] > 20.0
    assert 0.5 < force["smart-document"] < 0.3 * force["fixed"]
    assert 0.0 < heat["smart-document"] < 0.4 * heat["fixed"]


def test_a_run_without_obstacles_records_no_contacts(tmp_path: Path) -> None:
    result = run_trial(trial(RobotSetting(), tmp_path))
    assert result.pressing == {}
    assert result.least_power_w is not None
    assert read_run(tmp_path).frame.filter(like="obstacle").empty
