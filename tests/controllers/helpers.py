"""Types and functions shared by the tests of controllers."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers import (
    Observation,
    SmartStiffness,
    SmartStiffnessCfg,
    StiffnessReport,
)
from nao_testbed.models import Robot

FloatArray: TypeAlias = NDArray[np.float64]
Observe: TypeAlias = Callable[..., Observation]
Points: TypeAlias = list[tuple[float, float]]


def smart(robot: Robot, **cfg: Any) -> SmartStiffness:
    """Return the controller, reset for `robot`, with these configuration fields."""
    controller = SmartStiffness(SmartStiffnessCfg(**cfg))
    controller.reset(robot)
    return controller


def report_of(controller: SmartStiffness) -> StiffnessReport:
    """Return the report of the last step; a step must have been made."""
    assert controller.report is not None
    return controller.report
