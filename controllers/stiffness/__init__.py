"""The stiffness controller: steps 610 to 690 and 320 of ES2659053.

Read `smart_stiffness.py` first, then `equilibrium.py`, which goes through the steps.
"""

from controllers.stiffness.contact_forces import (
    ContactForceCfg,
    ContactProblem,
    ContactSolution,
    build_contact_problem,
    solve_contact_problem,
)
from controllers.stiffness.contacts import (
    ContactCfg,
    ContactDetector,
    PostureCfg,
    PostureMatcher,
)
from controllers.stiffness.dynamics import GRAVITY, BaseMotion, Dynamics
from controllers.stiffness.equation_of_motion import (
    ExternalLoad,
    JointTorques,
    MotionCfg,
)
from controllers.stiffness.equilibrium import (
    Equilibrium,
    EquilibriumLogic,
    SmartStiffnessCfg,
)
from controllers.stiffness.flags import DEGENERATE_CONTACTS, StiffnessFlag, flag_names
from controllers.stiffness.ground_plane import (
    GravityFilter,
    GravityFilterCfg,
    GroundPlane,
    GroundPlaneCfg,
    VerticalSource,
)
from controllers.stiffness.offset import (
    ApproachOffset,
    ConstantOffset,
    FootOffset,
    OffsetContext,
    OffsetLaw,
    PostureOffset,
    WarmJointOffset,
)
from controllers.stiffness.smart_stiffness import SmartStiffness, StiffnessReport
from controllers.stiffness.stiffness_law import (
    ES2659053Policy,
    PostureTuning,
    ProductPolicy,
    StiffnessLaw,
    StiffnessPolicy,
)

__all__ = [
    "DEGENERATE_CONTACTS",
    "GRAVITY",
    "ApproachOffset",
    "BaseMotion",
    "ConstantOffset",
    "ContactCfg",
    "ContactDetector",
    "ContactForceCfg",
    "ContactProblem",
    "ContactSolution",
    "Dynamics",
    "ES2659053Policy",
    "Equilibrium",
    "EquilibriumLogic",
    "ExternalLoad",
    "FootOffset",
    "GravityFilter",
    "GravityFilterCfg",
    "GroundPlane",
    "GroundPlaneCfg",
    "JointTorques",
    "MotionCfg",
    "OffsetContext",
    "OffsetLaw",
    "PostureCfg",
    "PostureMatcher",
    "PostureOffset",
    "PostureTuning",
    "ProductPolicy",
    "SmartStiffness",
    "SmartStiffnessCfg",
    "StiffnessFlag",
    "StiffnessLaw",
    "StiffnessPolicy",
    "StiffnessReport",
    "VerticalSource",
    "WarmJointOffset",
    "build_contact_problem",
    "flag_names",
    "solve_contact_problem",
]
