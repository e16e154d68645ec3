"""The cooler stance: its changes, conditions, and power in simulation."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nao_testbed.controllers import PostureSearchCfg, search_posture
from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.heat.posture_search import write_robot_folder
from nao_testbed.experiments.heat.xray import advice as advice_module
from nao_testbed.experiments.heat.xray.advice import Advice, find_advice
from nao_testbed.experiments.heat.xray.losses import LegAccount
from nao_testbed.experiments.heat.xray.results.tables import (
    advice_text,
    heat_table,
    unknown_table,
)
from nao_testbed.experiments.heat.xray.standing import Standing
from nao_testbed.experiments.heat.xray.standing_model import StandingModel
from nao_testbed.experiments.heat.xray.suspects import LOAD_CAUSE, Suspects
from nao_testbed.experiments.heat.xray.xray import Xray, XrayCfg, xray
from nao_testbed.models import Robot, default_robot_folder, load_robot


@pytest.fixture(scope="module")
def account(model: StandingModel, standing: Standing, suspects: Suspects) -> LegAccount:
    return LegAccount(model, standing, suspects.fit)


@pytest.fixture(scope="module")
def found(
    model: StandingModel, standing: Standing, suspects: Suspects, account: LegAccount
) -> Xray:
    return Xray(
        standing=standing,
        model=model,
        suspects=suspects,
        losses=account.losses(),
        saving=None,
    )


def test_the_stance_is_that_of_a_search_from_the_aligned_posture(
    found: Xray, robot: Robot
) -> None:
    """The ankle's error and the noise hardly change the watts.

    The angle of the trunk is nearly free: 2° of it cost 1 % of the heat.
    """
    advice = found.advice
    assert isinstance(advice, Advice)
    wanted = robot.posture("PoseInit")
    best = search_posture(robot, wanted, PostureSearchCfg()).found
    assert advice.now.needed_w == pytest.approx(found.losses.needed_w)
    assert advice.then.needed_w == pytest.approx(best.least.loss_w, rel=0.05)
    change = np.rad2deg(best.angles - wanted.angles)
    for name, degrees in advice.change_deg.items():
        assert degrees == pytest.approx(change[robot.joint_index(name)], abs=2.0), name
    assert sum(advice.then.motors_w.values()) == pytest.approx(advice.then.needed_w)
    assert advice.then.com_margin_m > 0.02
    text = advice_text(found)
    assert "LKneePitch, RKneePitch -5.0°" in text
    assert "mm inside the support polygon" in text
    table = heat_table(found)
    place = [column.label for column in table.columns].index("cooler")
    assert table.rows[-1].cells[place] == f"{advice.then.needed_w:.2f}"


def test_a_robot_with_estimated_motors_has_percent(found: Xray, robot: Robot) -> None:
    guessed = replace(robot, thermal="estimate")
    model = StandingModel(guessed, found.standing, found.model.assumptions)
    other = replace(found, model=model)
    assert isinstance(other.advice, Advice)
    share = 100.0 * other.advice.then.needed_w / found.losses.loss_w
    text = advice_text(other)
    assert f"within 5° of this stance {share:.0f} %" in text
    assert " W" not in text


def test_an_unexplained_log_gives_no_stance(found: Xray, suspects: Suspects) -> None:
    worse = [replace(one, misfit=1458.0) for one in suspects.explanations]
    other = replace(found, suspects=replace(suspects, explanations=tuple(worse)))
    assert advice_text(other) == ""
    rows = [row.cells[0] for row in unknown_table(other).rows]
    assert any("a cooler stance: no combination of errors" in row for row in rows)
    assert other.as_json()["cooler_stance"] is None


def test_a_load_or_a_joint_at_its_stop_is_the_reason(
    model: StandingModel,
    suspects: Suspects,
    account: LegAccount,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = replace(suspects, causes={**suspects.causes, LOAD_CAUSE: 0.9})
    assert "carries a load" in str(find_advice(model, loaded, account))

    def at_stop(*args: object) -> object:
        result = search_posture(*args)  # type: ignore[arg-type]  # passed on
        wanted = replace(result.wanted, at_stop=("LKneePitch",))
        return replace(result, wanted=wanted)

    monkeypatch.setattr(advice_module, "search_posture", at_stop)
    reason = find_advice(model, suspects, account)
    assert "LKneePitch may rest on the joint stop" in str(reason)


def test_a_contradicting_rival_withholds_the_stance(
    model: StandingModel,
    suspects: Suspects,
    account: LegAccount,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rival's knee angles are so far off that bent knees are hotter."""
    rival = model.q.copy()
    knees = [k for k, n in enumerate(model.robot.joint_names) if "Knee" in n]
    rival[knees] -= 0.35
    monkeypatch.setattr(advice_module, "_rival_angles", lambda *_: [rival])
    advice = find_advice(model, suspects, account)
    assert isinstance(advice, str) or not advice.change_deg


CASES = {
    "nao": ("PoseInit", {"LHipPitch": 1.4}),
    "g1": ("bent", {"left_ankle_pitch": 1.5}),
}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
@pytest.mark.parametrize("name", list(CASES))
def test_simulated_power_matches_the_prediction(
    name: str, engine: EngineName, tmp_path: Path
) -> None:
    """Without the joint's error; 8 % allow for sag and ground friction."""
    posture, error = CASES[name]
    folder = default_robot_folder().with_name(name)
    robot = load_robot(folder)
    (tmp_path / "log").mkdir()
    stand(folder, posture, error, engine, 8.0, tmp_path / "log")
    advice = xray(XrayCfg(source=tmp_path / "log"), robot).advice
    assert isinstance(advice, Advice)
    angles = robot.posture(posture).angles.copy()
    for joint, degrees in advice.change_deg.items():
        angles[robot.joint_index(joint)] += np.deg2rad(degrees)
    made = tmp_path / "robot"
    write_robot_folder(robot, robot.posture(posture), "Cooler", angles, made)
    for wrong in ({}, error):
        hot = stand(made, posture, wrong, engine, 20.0)
        cool = stand(made, "Cooler", wrong, engine, 20.0)
        assert cool[0] < hot[0]
        assert cool[1] == pytest.approx(advice.then.needed_w, rel=0.08)


def stand(
    robot: Path,
    posture: str,
    error: dict[str, float],
    engine: EngineName,
    seconds: float,
    folder: Path | None = None,
) -> tuple[float, float]:
    """Return the final power of the legs and its minimum, in W."""
    setting = RobotSetting(robot=robot, misalignment_deg=error, engine=engine, seed=3)
    cfg = TrialCfg.of(
        setting,
        controller="fixed",
        posture=posture,
        duration_s=seconds,
        fast_forward=None if folder else FastForwardCfg(),
        folder=folder,
    )
    result = run_trial(cfg)
    assert result.failure is None
    assert result.legs_power_w is not None
    assert result.least_power_w is not None
    return result.legs_power_w, result.least_power_w
