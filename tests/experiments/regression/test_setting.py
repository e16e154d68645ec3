"""Settings of a standing trial; invalid values are refused."""

from pathlib import Path
from typing import Any

import pytest
from pytest_regressions.data_regression import DataRegressionFixture

from nao_testbed.experiments.regression import Push, StandingCfg, run_standing_trial
from nao_testbed.experiments.regression.run_standing import choose_controller
from nao_testbed.experiments.regression.setting import make_setting
from nao_testbed.models import BadInput, Robot
from tests.experiments.common.known_names import without_lists


def test_every_value_reaches_the_trial() -> None:
    setting = make_setting(
        {
            "seconds": 30,
            "posture": "Stand",
            "misalignment_deg": {"LAnklePitch": 2},
            "start_degc": {"LAnklePitch": 50.0},
            "slope_deg": 1,
            "friction": 0.5,
            "pushes": Push(at_s=7.0),
            "seed": 3,
            "fast_forward": False,
            "protection": "nao",
            "ambient_degc": 20,
            "effort_limits": {"LKneePitch": 3},
        },
        "here",
    )
    trial = setting.plan("smart")
    simulation = trial.simulation
    assert trial.controller == "smart"
    assert trial.duration_s == 30.0
    assert trial.posture == "Stand"
    assert trial.pushes == (Push(at_s=7.0),)
    assert trial.fast_forward is None
    assert trial.exact
    assert simulation.misalignment_deg == {"LAnklePitch": 2.0}
    assert simulation.start_degc == {"LAnklePitch": 50.0}
    assert simulation.seed == 3
    assert simulation.protection == "nao"
    assert simulation.heating.ambient_degc == 20.0
    assert trial.effort_limits == {"LKneePitch": 3.0}
    assert (simulation.world.slope_deg, simulation.world.friction) == (1.0, 0.5)


MEANINGLESS: list[dict[str, Any]] = [
    {"second": 3.0},
    {"seconds": 0.0},
    {"seconds": float("nan")},
    {"seconds": 1e9},
    {"seconds": "20"},
    {"ambient_degc": "20"},
    {"protection": "noa"},
    {"slope_deg": True},
    {"slope_deg": 80.0},
    {"friction": -1.0},
    {"misalignment_deg": 2.0},
    {"misalignment_deg": {"LAnkelPitch": 2.0}},
    {"misalignment_deg": {"LAnklePitch": 900.0}},
    {"start_degc": {"LAnklePitch": 900.0}},
    {"posture": "PoseZeroo"},
    {"preset": "documnet"},
    {"seed": -1},
    {"pushes": 5.0},
    {"pushes": Push(at_s=19.9)},
    {"pushes": Push(link="Torso")},
    {"robot": "/nowhere"},
]


def test_invalid_value_is_refused(
    data_regression: DataRegressionFixture,
) -> None:
    """`pytest --regen-all` rewrites the expected messages."""
    said = {}
    for values in MEANINGLESS:
        with pytest.raises(BadInput) as refused:
            make_setting(values, "here").plan()
        said[str(values)] = without_lists(str(refused.value))
    data_regression.check(said)


def test_description_adds_non_default_settings() -> None:
    always = make_setting({"friction": 0.7}, "here").as_json()
    assert "gear_friction" not in always
    assert make_setting({"gear_friction": 0.5}, "here").as_json() == always | {
        "gear_friction": 0.5
    }


def test_settings_are_equal_by_their_values() -> None:
    same = [
        make_setting({"slope_deg": slope, "misalignment_deg": joints}, "here").key
        for slope, joints in (
            (1, {"LHipRoll": 1.0, "RHipRoll": 2.0}),
            (1.0, {"RHipRoll": 2, "LHipRoll": 1}),
        )
    ]
    assert same[0] == same[1]
    assert make_setting({"slope_deg": 1.5}, "here").key != same[0]


class Nameless:
    name = ""

    def reset(self, robot: Robot) -> None: ...

    def step(self, observation: object) -> None: ...


def fails() -> Any:
    raise ValueError("no gains")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("smrt", "Did you mean 'smart'"),
        ("constant:much", "has no number"),
        (3, "controller is 3; give a name such as 'smart'"),
        (Nameless, "controller Nameless has name ''"),
        (fails, "fails creates no controller: ValueError: no gains"),
        (dict, "dict returns {}, which is not a controller"),
    ],
)
def test_invalid_controller_is_refused(
    choice: Any, message: str, short: StandingCfg, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=message):
        run_standing_trial(choice, short, tmp_path)
    assert not list(tmp_path.iterdir()), "a trial was started"


def test_name_or_factory_is_fresh_and_an_instance_is_not() -> None:
    instance = choose_controller("smart").controller
    assert choose_controller("smart").is_fresh
    assert choose_controller(type(instance)).is_fresh
    chosen = choose_controller(instance)
    assert not chosen.is_fresh
    assert chosen.controller is instance
