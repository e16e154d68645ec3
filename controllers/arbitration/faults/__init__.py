"""Faults and states of the body: virtual owners, and the active state.

virtual_owners     occupy parts that are absent, hot, broken or in energy-saving mode
posture_monitor    determines the robot's state from attitude and legs
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
