"""What the legs of an arm had to do, in one number for tables."""

import math
from collections.abc import Sequence

from experiments.standing.results import ArmResult


def mean_effort(arm: ArmResult, names: Sequence[str]) -> float:
    """Return the mean |torque| of the joints named in N·m; NaN without any."""
    efforts = [arm.joints[n].mean_abs_effort_nm for n in names if n in arm.joints]
    return sum(efforts) / len(efforts) if efforts else math.nan


def legs_loss(arm: ArmResult, names: Sequence[str]) -> float:
    """Return the Joule loss of the legs in J; without it that of the joints named."""
    if arm.legs_joule_loss_j is not None:
        return arm.legs_joule_loss_j
    return sum(arm.joints[n].joule_loss_j for n in names if n in arm.joints)
