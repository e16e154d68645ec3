"""Configurations reject values out of range and name the field."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import Field

from nao_testbed.controllers import MinHeatCfg, PostureSearchCfg, SmartStiffnessCfg
from nao_testbed.controllers.heat_minimization.leg_relief import TemperatureWeightsCfg
from nao_testbed.controllers.heat_minimization.nudge import NudgeCfg
from nao_testbed.controllers.heat_minimization.set_point_shift import SetPointShiftCfg
from nao_testbed.controllers.heat_minimization.stillness import StillnessCfg
from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.stiffness import (
    ApproachOffset,
    ConstantOffset,
    ContactCfg,
    ContactForceCfg,
    FootOffset,
    GravityFilterCfg,
    GroundPlaneCfg,
    MotionCfg,
    PostureCfg,
    PostureOffset,
    PostureTuning,
    ProductPolicy,
    WarmJointOffset,
)
from nao_testbed.models import BadInput
from tests.messages import Messages, each

POSITIVE = {
    ContactForceCfg: "force_weight moment_weight regularisation tolerance_m",
    GravityFilterCfg: "time_constant_s trust_fraction stale_after_s",
    GroundPlaneCfg: "doubt_rad doubt_ends",
    MotionCfg: "time_constant_s gain_time_constant_s",
    ProductPolicy: "moving_rad_s",
    ApproachOffset: "time_constant_s",
    SetPointShiftCfg: "time_constant_s rate_rad_s bound_rad",
    StillnessCfg: "request_threshold_rad gyro_threshold velocity_threshold "
    "time_constant_s",
    MinHeatCfg: "period_s current_time_constant_s friction",
    NudgeCfg: "period_s small_step_rad large_step_rad bound_rad return_s "
    "current_time_constant_s",
    PostureSearchCfg: "friction torque_share",
}
NOT_NEGATIVE = {
    ContactCfg: "part_reach_m on_newton off_newton threshold_m widest_m",
    PostureCfg: "threshold_rad",
    ProductPolicy: "hold_s",
    PostureTuning: "minimum maximum",
    FootOffset: "on_ground airborne",
    ConstantOffset: "value",
    SetPointShiftCfg: "gear_share",
    StillnessCfg: "lifted_newton pressed_newton",
    MinHeatCfg: "calm_s least_on_feet",
    NudgeCfg: "threshold_share high_shift_rad high_threshold_share calm_s",
    PostureSearchCfg: "com_margin_m joint_margin_rad clearance_m",
}
BAD = [
    *((cls, f, v) for cls in POSITIVE for f in POSITIVE[cls].split() for v in (0, -1)),
    *((cls, f, -0.01) for cls in NOT_NEGATIVE for f in NOT_NEGATIVE[cls].split()),
]


@pytest.mark.parametrize(("cls", "field", "value"), BAD)
def test_number_out_of_range_is_rejected(
    cls: type[Checked], field: str, value: float
) -> None:
    for bad in (float(value), np.nan, np.inf):
        with pytest.raises(BadInput, match=f"{field} = {bad}.*; give .*0"):
            cls(**{field: bad})


@dataclass(frozen=True, kw_only=True)
class Numbers(Checked):
    angle: Annotated[float, Field(gt=0.0, lt=180.0)] = 25.0
    sweeps: Annotated[int, Field(ge=1)] = 50
    weight: Annotated[float, Field(ge=0.0)] = 9.81


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"angle": 180.0}, "angle = 180.0; give a finite number above 0 and below 180"),
        ({"angle": 0.0}, "above 0 and below 180"),
        ({"sweeps": 1.5}, "sweeps = 1.5; give a whole number, 1 or more"),
        ({"sweeps": 0}, "a whole number, 1 or more"),
        ({"weight": np.inf}, "weight = inf; give a finite number, 0 or more"),
    ],
)
def test_range_may_be_open_and_numbers_whole(
    fields: dict[str, Any], words: str
) -> None:
    assert Numbers(angle=179.9, sweeps=1, weight=0.0).sweeps == 1
    with pytest.raises(BadInput, match=words):
        Numbers(**fields)


def test_messages(messages: Messages) -> None:
    messages(
        invalid_values=each(
            lambda cls, fields: cls(**fields),
            (ContactForceCfg, {"tolerance_m": 0}),
            (PostureTuning, {"maximum": "1"}),
            (FootOffset, {"airborne": 1.5}),
            (ConstantOffset, {"value": 0, "by_joint": {"HeadYaw": 2}}),
            (PostureOffset, {"table": {"Sit": 2.0}}),
            (PostureTuning, {"extra": 2.0}),
            (GroundPlaneCfg, {"doubt_rad": 4.0}),
            (GroundPlaneCfg, {"doubt_ends": 2.0}),
            (MinHeatCfg, {"least_on_feet": 2.0}),
            (SetPointShiftCfg, {"gear_share": 1.5}),
            (TemperatureWeightsCfg, {"largest": 0.5}),
            (PostureSearchCfg, {"torque_share": 1.5}),
            (PostureSearchCfg, {"within_rad": 0.0}),
            (PostureSearchCfg, {"starts": 0}),
            (PostureSearchCfg, {"seed": -1}),
            (SmartStiffnessCfg, {"model": "half"}),
            (ContactCfg, {"criterion": "touch"}),
            (ContactCfg, {"sensor_scope": "leg"}),
            (GroundPlaneCfg, {"on_doubt": "soles"}),
            (ProductPolicy, {"while_moving": "some"}),
            (ContactCfg, {"on_newton": 1.0, "off_newton": 2.0}),
            (PostureTuning, {"minimum": 0.6, "maximum": 0.5}),
            (WarmJointOffset, {"begin_degc": 80.0}),
            (TemperatureWeightsCfg, {"limit_degc": 30.0}),
            (StillnessCfg, {"lifted_newton": 3.0}),
            (NudgeCfg, {"high_threshold_share": 0.04}),
            (NudgeCfg, {"small_step_rad": 0.01}),
            (PostureSearchCfg, {"slope_deg": 40.0}),
        )
    )
