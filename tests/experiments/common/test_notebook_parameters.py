"""Errors for invalid notebook parameters state name, value and range."""

from typing import Any

import numpy as np
import pytest

from nao_testbed.experiments.report.notebook_parameters import (
    ComparisonStory,
    ForceStory,
    HeatStory,
    IdentificationStory,
)
from nao_testbed.experiments.scenarios.timeline.holding_story import HoldingStory
from nao_testbed.models import BadInput, UnknownName

GOOD: dict[type, dict[str, Any]] = {
    HeatStory: {
        "minutes": 15.0,
        "preset": "document",
        "controllers": ("fixed", "smart"),
        "seed": 0,
    },
    ForceStory: {
        "joint": "LAnklePitch",
        "misalignment_deg": -2,
        "controllers": ("fixed", "constant:0.6"),
        "minutes": 0.5,
        "seed": 3,
    },
    IdentificationStory: {
        "joints": ("LHipPitch", "RKneePitch"),
        "controller": "smart",
        "minutes": 15,
        "learn_until_s": 2100.0,
        "ambient_degc": 25.0,
    },
    ComparisonStory: {
        "robots": 10,
        "largest_deg": 1.0,
        "controllers": ("smart",),
        "seconds": 12.0,
        "seed": 0,
    },
    HoldingStory: {"scenario": "head_queue", "controller": None, "seed": 0},
}
OUT_OF_RANGE = [
    (HeatStory, "minutes", 0.1, "give 0.5 to 60"),
    (HeatStory, "minutes", np.nan, "give 0.5 to 60"),
    (HeatStory, "minutes", "15", "give 0.5 to 60"),
    (HeatStory, "minutes", True, "give 0.5 to 60"),
    (HeatStory, "seed", -1, "a whole number from 0 up to 2.14748e+09"),
    (HeatStory, "seed", 1.5, "a whole number from 0 up to 2.14748e+09"),
    (HeatStory, "controllers", (), "give names, each once"),
    (HeatStory, "controllers", "fixed", "give names, each once"),
    (ForceStory, "controllers", ("fixed", "fixed"), "give names, each once"),
    (ForceStory, "misalignment_deg", 10.0, "give -3 to 3"),
    (ForceStory, "misalignment_deg", 0.0, "at least 0.5° of either sign"),
    (ForceStory, "minutes", np.inf, "give 0.25 to 15"),
    (IdentificationStory, "joints", ("LHipPitch",), "two joints or more"),
    (IdentificationStory, "joints", ("LHipPitch", "LHipRoll"), "motors of one kind"),
    (IdentificationStory, "minutes", 1.0, "give 3 to 60"),
    (IdentificationStory, "learn_until_s", 3600.0, "give 300 to 3400"),
    (IdentificationStory, "ambient_degc", 77.0, "give -10 to 50"),
    (ComparisonStory, "robots", 1, "a whole number from 2 up to 200"),
    (HoldingStory, "seed", None, "a whole number from 0 up to 2.14748e+09"),
]
UNKNOWN = [
    (HeatStory, "preset", "dokument", "document"),
    (HeatStory, "controllers", ("fixed", "smrt"), "smart"),
    (ForceStory, "joint", "LAnklePich", "LAnklePitch"),
    (ForceStory, "joint", "HeadYaw", None),
    (IdentificationStory, "joints", ("LHipPitch", "LKneePich"), "LKneePitch"),
    (IdentificationStory, "controller", "smrt", "smart"),
    (HoldingStory, "controller", "smrt", "smart"),
    (IdentificationStory, "controller", None, None),
    (HoldingStory, "controller", ("fixed",), None),
    (HoldingStory, "scenario", "head_que", "head_queue"),
]


@pytest.mark.parametrize("story", GOOD, ids=lambda story: story.__name__)
def test_default_notebook_parameters_are_accepted(story: type) -> None:
    story(**GOOD[story])


@pytest.mark.parametrize(("story", "name", "value", "accepted"), OUT_OF_RANGE)
def test_value_out_of_range_is_reported(
    story: type, name: str, value: object, accepted: str
) -> None:
    with pytest.raises(BadInput) as error:
        story(**{**GOOD[story], name: value})
    message = str(error.value)
    assert message.startswith(f"{name} = ")
    assert str(value) in message
    assert accepted in message


@pytest.mark.parametrize(("story", "name", "value", "meant"), UNKNOWN)
def test_unknown_name_is_reported(
    story: type, name: str, value: object, meant: str | None
) -> None:
    with pytest.raises(UnknownName) as error:
        story(**{**GOOD[story], name: value})
    if meant:
        assert f"Did you mean {meant!r}" in str(error.value)
