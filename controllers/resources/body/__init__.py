"""The body's part in the reservations: virtual owners, and which state is active.

virtual_owner                  occupies parts for a cause, and gives them back
absent_parts, hot_engine, broken_part, degraded_modes    the causes
posture_recogniser, posture_monitor                      the active state
"""

from controllers.resources.body.absent_parts import change_absent, freeze_absent
from controllers.resources.body.broken_part import BrokenPart
from controllers.resources.body.degraded_modes import DegradedModes
from controllers.resources.body.hot_engine import HotEngine, HotEngineCfg
from controllers.resources.body.posture_monitor import PostureMonitor
from controllers.resources.body.virtual_owner import VirtualOwner

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
