"""Errors of a posture search name the constraint or the value to give."""

from typing import Any

import pytest

from nao_testbed.controllers.heat_minimization.posture_search.search import (
    NoPostureFound,
)
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.heat_minimization.posture_search.searching import search


@pytest.mark.parametrize(
    ("cfg", "words"),
    [
        ({"com_margin_m": 0.06}, "centre of mass 60 mm inside its support .by"),
        ({"torque_share": 0.02}, "torque within 0.02 of the limit of LKneePitch"),
    ],
)
def test_infeasible_constraint_is_named(
    nao: Robot, cfg: dict[str, Any], words: str
) -> None:
    with pytest.raises(NoPostureFound, match=words):
        search(nao, "PoseInit", starts=1, **cfg)


def test_invalid_requests_are_rejected(nao: Robot) -> None:
    with pytest.raises(BadInput, match="rests on LButtock"):
        search(nao, "Sit")
    with pytest.raises(BadInput, match="no joint is free"):
        search(nao, "PoseInit", keep=("Legs",))
    with pytest.raises(UnknownName, match="LKneePitch"):
        search(nao, "PoseInit", keep=("LKneePich",))
    with pytest.raises(BadInput, match="no legs"):
        search(nao.with_body("T14"), "PoseInit")
