"""The body's part in arbitration: virtual owners, and which state is active.

virtual_owners     occupy parts that are absent, hot, broken or to be spared
posture_monitor    says in which state the robot is, from its attitude and its legs
"""

from nao_testbed.controllers.arbitration.faults.posture_monitor import PostureMonitor
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    BrokenPart,
    DegradedModes,
    HotEngine,
    HotEngineCfg,
    VirtualOwner,
    change_absent,
    freeze_absent,
)

__all__ = [
    "BrokenPart",
    "DegradedModes",
    "HotEngine",
    "HotEngineCfg",
    "PostureMonitor",
    "VirtualOwner",
    "change_absent",
    "freeze_absent",
]
