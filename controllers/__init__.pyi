from .heat_minimization.minheat import MinHeat as MinHeat
from .heat_minimization.minheat import MinHeatCfg as MinHeatCfg
from .heat_minimization.minheat import MinHeatState as MinHeatState
from .heat_minimization.nudge import Nudge as Nudge
from .heat_minimization.nudge import NudgeCfg as NudgeCfg
from .heat_minimization.posture_search.search import FoundPosture as FoundPosture
from .heat_minimization.posture_search.search import NoPostureFound as NoPostureFound
from .heat_minimization.posture_search.search import search_posture as search_posture
from .heat_minimization.posture_search.search_space import (
    PostureSearchCfg as PostureSearchCfg,
)
from .interface.controller import ConstantStiffness as ConstantStiffness
from .interface.controller import Controller as Controller
from .interface.controller import FixedStiffness as FixedStiffness
from .interface.controller import Limits as Limits
from .interface.controller import SensorError as SensorError
from .interface.robot_interface import Command as Command
from .interface.robot_interface import LedSetting as LedSetting
from .interface.robot_interface import Observation as Observation
from .interface.robot_interface import RobotInterface as RobotInterface
from .interface.robot_interface import ServoGains as ServoGains
from .interface.robot_interface import SoundChunk as SoundChunk
from .policies.onnx_policy import OnnxPolicy as OnnxPolicy
from .policies.policy import Policy as Policy
from .policies.policy import PolicyController as PolicyController
from .registry import ENTRY_POINT_GROUP as ENTRY_POINT_GROUP
from .registry import controller_names as controller_names
from .registry import make_controller as make_controller
from .stiffness import SmartStiffness as SmartStiffness
from .stiffness import SmartStiffnessCfg as SmartStiffnessCfg
from .stiffness import StiffnessFlag as StiffnessFlag
from .stiffness import StiffnessReport as StiffnessReport
from .stiffness import flag_names as flag_names
