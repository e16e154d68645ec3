"""Engine-free control: the robot interface and the controllers behind it.

Names are imported when they are first used: who asks another robot for a ball need not
wait for the dynamics.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controllers.cooling.minheat import MinHeat, MinHeatState
    from controllers.cooling.minheat_cfg import MinHeatCfg
    from controllers.cooling.nudge import Nudge
    from controllers.cooling.nudge_cfg import NudgeCfg
    from controllers.cooling.posture_search.cfg import PostureSearchCfg
    from controllers.cooling.posture_search.result import FoundPosture, NoPostureFound
    from controllers.cooling.posture_search.search import search_posture
    from controllers.effectors import LedSetting, SoundChunk
    from controllers.errors import SensorError
    from controllers.plain import ConstantStiffness, FixedStiffness
    from controllers.registry import (
        ENTRY_POINT_GROUP,
        controller_names,
        make_controller,
    )
    from controllers.robot_interface import (
        Command,
        Controller,
        Limits,
        Observation,
        RobotInterface,
    )
    from controllers.stiffness import (
        SmartStiffness,
        SmartStiffnessCfg,
        StiffnessFlag,
        StiffnessReport,
        flag_names,
    )
else:
    _HOMES = {
        "Command": "controllers.robot_interface",
        "ConstantStiffness": "controllers.plain",
        "Controller": "controllers.robot_interface",
        "ENTRY_POINT_GROUP": "controllers.registry",
        "FixedStiffness": "controllers.plain",
        "FoundPosture": "controllers.cooling.posture_search.result",
        "LedSetting": "controllers.effectors",
        "Limits": "controllers.robot_interface",
        "MinHeat": "controllers.cooling.minheat",
        "MinHeatCfg": "controllers.cooling.minheat_cfg",
        "MinHeatState": "controllers.cooling.minheat",
        "NoPostureFound": "controllers.cooling.posture_search.result",
        "Nudge": "controllers.cooling.nudge",
        "NudgeCfg": "controllers.cooling.nudge_cfg",
        "Observation": "controllers.robot_interface",
        "PostureSearchCfg": "controllers.cooling.posture_search.cfg",
        "RobotInterface": "controllers.robot_interface",
        "SensorError": "controllers.errors",
        "SmartStiffness": "controllers.stiffness",
        "SmartStiffnessCfg": "controllers.stiffness",
        "SoundChunk": "controllers.effectors",
        "StiffnessFlag": "controllers.stiffness",
        "StiffnessReport": "controllers.stiffness",
        "controller_names": "controllers.registry",
        "flag_names": "controllers.stiffness",
        "make_controller": "controllers.registry",
        "search_posture": "controllers.cooling.posture_search.search",
    }

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        """Return the public names, for completion in a shell."""
        return sorted(__all__)


__all__ = [
    "ENTRY_POINT_GROUP",
    "Command",
    "ConstantStiffness",
    "Controller",
    "FixedStiffness",
    "FoundPosture",
    "LedSetting",
    "Limits",
    "MinHeat",
    "MinHeatCfg",
    "MinHeatState",
    "NoPostureFound",
    "Nudge",
    "NudgeCfg",
    "Observation",
    "PostureSearchCfg",
    "RobotInterface",
    "SensorError",
    "SmartStiffness",
    "SmartStiffnessCfg",
    "SoundChunk",
    "StiffnessFlag",
    "StiffnessReport",
    "controller_names",
    "flag_names",
    "make_controller",
    "search_posture",
]
