"""The stiffness controller: steps 610 to 690 and 320 of ES2659053.

Read `smart_stiffness.py` first, then `equilibrium.py`, which goes through the steps.
What a user chooses or reads can be imported from here.
"""

from controllers.stiffness.contact_forces import ContactForceCfg
from controllers.stiffness.contacts import ContactCfg, PostureCfg
from controllers.stiffness.dynamics import GRAVITY, Dynamics, ExternalLoad
from controllers.stiffness.dynamics.disturbance import DisturbanceCfg
from controllers.stiffness.dynamics.equation_of_motion import MotionCfg
from controllers.stiffness.equilibrium import SmartStiffnessCfg
from controllers.stiffness.flags import StiffnessFlag, flag_names
from controllers.stiffness.ground_plane import GravityFilterCfg, GroundPlaneCfg
from controllers.stiffness.guard import Guard, Guarded
from controllers.stiffness.guard.thresholds import GuardCfg
from controllers.stiffness.offset import (
    ApproachOffset,
    BlockedJointOffset,
    ConstantOffset,
    FootOffset,
    OffsetContext,
    OffsetLaw,
    PostureOffset,
    WarmJointOffset,
    read_offset,
)
from controllers.stiffness.smart_stiffness import (
    PayloadStiffness,
    SmartStiffness,
    StiffnessReport,
)
from controllers.stiffness.stiffness_law import (
    ES2659053Policy,
    PostureTuning,
    ProductPolicy,
    StiffnessPolicy,
)

__all__ = [
    "GRAVITY",
    "ApproachOffset",
    "BlockedJointOffset",
    "ConstantOffset",
    "ContactCfg",
    "ContactForceCfg",
    "DisturbanceCfg",
    "Dynamics",
    "ES2659053Policy",
    "ExternalLoad",
    "FootOffset",
    "GravityFilterCfg",
    "GroundPlaneCfg",
    "Guard",
    "GuardCfg",
    "Guarded",
    "MotionCfg",
    "OffsetContext",
    "OffsetLaw",
    "PayloadStiffness",
    "PostureCfg",
    "PostureOffset",
    "PostureTuning",
    "ProductPolicy",
    "SmartStiffness",
    "SmartStiffnessCfg",
    "StiffnessFlag",
    "StiffnessPolicy",
    "StiffnessReport",
    "WarmJointOffset",
    "flag_names",
    "read_offset",
]
