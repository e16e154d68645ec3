import dataclasses
from collections.abc import Callable

import pytest

from nao_testbed.experiments.heat.figures.tables import (
    lifetime_ratio_text,
    lifetime_text,
    steady_state_text,
)
from nao_testbed.experiments.heat.published import HeatResult

Make = Callable[..., HeatResult]


def test_not_reached_differs_from_forecast(make_heat_result: Make) -> None:
    trials = make_heat_result("fixed", "smart").trials
    assert lifetime_text(trials["fixed"]) == "15.0 min"
    assert lifetime_text(trials["smart"]) == "not reached"
    assert steady_state_text(trials["smart"]) == "LAnklePitch 61 °C"
    later = {
        name: dataclasses.replace(joint, time_to_80_degc_s=None)
        for name, joint in trials["fixed"].joints.items()
    }
    forecast = dataclasses.replace(trials["fixed"], joints=later)
    assert lifetime_text(forecast) == "15.0 min (forecast)"
    assert lifetime_ratio_text(trials["smart"], trials["fixed"]) == "∞"
    assert lifetime_ratio_text(trials["fixed"], trials["fixed"]) == "1.0 ×"
    assert lifetime_ratio_text(trials["fixed"], trials["smart"]) == "–"


@pytest.mark.requirement("ST-24")
def test_an_early_ended_robot_has_no_forecast(make_heat_result: Make) -> None:
    """The torques of a limp or fallen robot give no forecast."""
    trials = make_heat_result("fixed", "smart").trials
    fell = dataclasses.replace(trials["smart"], failure="fell at 3.20 s")
    assert lifetime_text(fell) == "ended before"
    assert lifetime_ratio_text(fell, trials["fixed"]) == "–"
    limp = dataclasses.replace(fell, shut_down_s=600.0)
    assert lifetime_text(limp) == "10.0 min (shut down)"
    later = {
        name: dataclasses.replace(joint, forecast_80_degc_s=2400.0)
        for name, joint in trials["smart"].joints.items()
    }
    cool = dataclasses.replace(trials["smart"], joints=later)
    assert lifetime_ratio_text(cool, limp) == "4.0 ×"
