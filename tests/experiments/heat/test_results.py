"""The outcome as data: sums of the legs, and the documented JSON."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.experiments.closed_loop.trial_result import (
    LEG_JOINTS,
    JointResult,
    leg_rise,
)
from nao_testbed.experiments.heat.experiment import (
    HeatCfg,
    failures,
    plan_trials,
    settings_of_run,
)
from nao_testbed.experiments.heat.figures.tables import hottest
from nao_testbed.experiments.heat.published import PUBLISHED, HeatResult, differences
from nao_testbed.models import load_robot

Make = Callable[..., HeatResult]
PLAIN = JointResult(
    start_degc=30.0,
    end_degc=30.0,
    rise_k=0.0,
    mean_abs_effort_nm=0.0,
    joule_loss_j=0.0,
    time_to_80_degc_s=None,
    steady_degc=27.0,
    forecast_80_degc_s=None,
)


@pytest.mark.requirement("ST-23", "ST-24")
@given(st.lists(st.floats(-10.0, 60.0), min_size=5, max_size=5))
def test_a_leg_sums_its_five_joints_and_no_other(rises: list[float]) -> None:
    joints = {
        f"L{name}": replace(PLAIN, rise_k=rise)
        for name, rise in zip(LEG_JOINTS, rises, strict=True)
    }
    joints["LHipYawPitch"] = joints["RHipRoll"] = replace(PLAIN, rise_k=1000.0)
    nao = load_robot()
    assert leg_rise(joints, nao.leg("left")) == pytest.approx(math.fsum(rises))
    assert leg_rise(joints, nao.leg("right")) is None
    assert leg_rise(joints, ()) is None  # a robot without the role `legs`


@pytest.mark.requirement("ST-24")
def test_the_published_numbers_match_the_document() -> None:
    """Figures 4a to 5b: end temperatures and sums of rises, without and with."""
    without, with_method = PUBLISHED["fixed"], PUBLISHED["smart"]
    assert without.end_degc == {"RHipPitch": 60.0, "LAnklePitch": 80.0}
    assert with_method.end_degc == {"RHipPitch": 42.0, "LAnklePitch": 48.0}
    assert (without.right_leg_rise_k, without.left_leg_rise_k) == (50.0, 109.0)
    assert (with_method.right_leg_rise_k, with_method.left_leg_rise_k) == (28.0, 42.0)


def test_json_keeps_the_contract(make_heat_result: Make) -> None:
    result = make_heat_result("fixed", "smart")
    text = json.dumps(result.as_json(), allow_nan=False)
    data = json.loads(text)
    contract = {"experiment", "minutes", "posture", "seed", "misalignment_deg"}
    assert contract | {"trials", "published"} <= set(data)
    assert data["experiment"] == "heat"
    assert data["misalignment_deg"] == result.misalignment_deg
    assert set(data["trials"]) == {"fixed", "smart"}
    trial = data["trials"]["fixed"]
    assert {
        "joints",
        "left_leg_rise_k",
        "right_leg_rise_k",
        "fell",
        "sim_s",
        "wall_s",
    } <= set(trial)
    assert {
        "start_degc",
        "end_degc",
        "rise_k",
        "mean_abs_effort_nm",
        "joule_loss_j",
        "time_to_80_degc_s",
    } <= set(trial["joints"]["LAnklePitch"])
    assert trial["left_leg_rise_k"] == 109.0
    assert data["published"]["smart"]["end_degc"]["LAnklePitch"] == 48.0
    assert data["not_comparable"] is None


@pytest.mark.requirement("ST-24")
def test_json_holds_published_numbers_of_that_experiment_only(
    other_experiment: tuple[str, HeatResult],
) -> None:
    why, result = other_experiment
    data = result.as_json()
    assert data["published"] == {}
    assert why in data["not_comparable"]


@pytest.mark.requirement("ST-24")
def test_a_fallen_robot_is_not_compared(make_heat_result: Make) -> None:
    result = make_heat_result("fixed", "constant:0.3")
    fell: dict[str, Any] = {"fell": True, "failure": "fell at 3.20 s", "sim_s": 4.2}

    def with_fallen(name: str) -> HeatResult:
        trial = replace(result.trials[name], **fell)
        return replace(result, trials={**result.trials, name: trial})

    assert with_fallen("constant:0.3").published.keys() == {"fixed"}
    assert with_fallen("fixed").not_comparable == (
        "Not compared with the published experiment: fixed ended after 4.2 s."
    )


@pytest.mark.requirement("ST-24")
def test_unchanged_preset_is_the_published_experiment() -> None:
    """Changed settings are not."""

    def differs(cfg: HeatCfg) -> tuple[str, ...]:
        trial = plan_trials(cfg)[0]
        return differences(
            trial.posture,
            trial.duration_s / 60.0,
            trial.simulation.misalignment_deg,
            settings_of_run(cfg, trial),
        )

    assert differs(HeatCfg(preset="document", seed=3, full=True)) == ()
    assert differs(HeatCfg())[0] == "no joint is misaligned"
    others: tuple[dict[str, Any], ...] = (
        {"slope_deg": 1.0},
        {"servo": "pybullet"},
        {"heating": "two-node"},
        {"heating": "bare-motor"},
        {"copper": True},
        {"payload_kg": {"torso": 1.0}},
        {"obstacles": {"wall": "0.1,2,1@1,0,0.5"}},
        {"control_period": 0.01},
        {"start_degc": {"HeadYaw": 31.0}},
        {"misalignment_deg": {"LAnklePitch": 0.7}},
    )
    for other in others:
        assert len(differs(HeatCfg(preset="document", **other))) == 1, other


def test_json_has_null_for_never(make_heat_result: Make) -> None:
    result = make_heat_result("fixed")
    trial = result.trials["fixed"]
    burning = replace(trial.joints["LAnklePitch"], steady_degc=math.inf)
    trial = replace(trial, joints={**trial.joints, "LAnklePitch": burning})
    joints = replace(result, trials={"fixed": trial}).as_json()["trials"]["fixed"][
        "joints"
    ]
    assert joints["HeadYaw"]["time_to_80_degc_s"] is None
    assert joints["HeadYaw"]["forecast_80_degc_s"] is None
    assert joints["LAnklePitch"]["steady_degc"] is None
    assert joints["HeadYaw"]["steady_degc"] == 32.0


def test_failures_name_the_trials_that_ended_early(two_leg_result: HeatResult) -> None:
    assert failures(two_leg_result) == {"smart": "fell at 3.20 s"}
    assert hottest(two_leg_result.trials["fixed"])[0] == "right_knee"
