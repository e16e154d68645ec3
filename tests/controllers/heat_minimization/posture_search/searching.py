"""Helper that runs a posture search in one call."""

from typing import Any

import numpy as np

from nao_testbed.controllers.heat_minimization.posture_search.search import (
    FoundPosture,
    search_posture,
)
from nao_testbed.controllers.heat_minimization.posture_search.search_space import (
    PostureSearchCfg,
)
from nao_testbed.models import Robot


def search(robot: Robot, posture: str, **cfg: Any) -> FoundPosture:
    """Return the coolest posture near a stored one; two starts by default."""
    cfg = {"starts": 2, **cfg}
    if "within_deg" in cfg:
        cfg["within_rad"] = np.deg2rad(cfg.pop("within_deg"))
    return search_posture(robot, robot.posture(posture), PostureSearchCfg(**cfg))
