"""Stiffness controller: steps 610 to 690 and 320 of ES2659053.

Read `smart_stiffness.py` first, then `equilibrium.py`, which runs the steps in order.
The package exports the configurations, the laws and the results.
"""

from nao_testbed.controllers.stiffness.contact_forces import ContactForceCfg
from nao_testbed.controllers.stiffness.contacts import ContactCfg, PostureCfg
from nao_testbed.controllers.stiffness.dynamics import GRAVITY, Dynamics, ExternalLoad
from nao_testbed.controllers.stiffness.dynamics.disturbance import DisturbanceCfg
from nao_testbed.controllers.stiffness.dynamics.equation_of_motion import MotionCfg
from nao_testbed.controllers.stiffness.equilibrium import SmartStiffnessCfg
from nao_testbed.controllers.stiffness.flags import StiffnessFlag, flag_names
from nao_testbed.controllers.stiffness.ground_plane import (
    GravityFilterCfg,
    GroundPlaneCfg,
)
from nao_testbed.controllers.stiffness.guard import Guard, Guarded
from nao_testbed.controllers.stiffness.guard.thresholds import GuardCfg
from nao_testbed.controllers.stiffness.offset import (
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
from nao_testbed.controllers.stiffness.smart_stiffness import (
    PayloadStiffness,
    SmartStiffness,
    StiffnessReport,
)
from nao_testbed.controllers.stiffness.stiffness_law import (
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
