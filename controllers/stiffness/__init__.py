"""The stiffness controller: steps 610 to 690 and 320 of the document.

Read `controller.py` first; each step it names is a file of its own.
"""

from controllers.stiffness.config import SmartStiffnessCfg
from controllers.stiffness.contact_forces import (
    ContactForceCfg,
    ContactProblem,
    ContactSolution,
    build_contact_problem,
    solve_contact_problem,
)
from controllers.stiffness.contacts import ContactCfg, ContactDetector
from controllers.stiffness.controller import SmartStiffness
from controllers.stiffness.dynamics import GRAVITY, BaseMotion, Dynamics
from controllers.stiffness.equilibrium import Equilibrium, EquilibriumLogic
from controllers.stiffness.flags import (
    DEGENERATE_CONTACTS,
    StiffnessFlag,
    flag_names,
)
from controllers.stiffness.gravity_filter import GravityFilter, GravityFilterCfg
from controllers.stiffness.ground_plane import (
    GroundPlane,
    GroundPlaneCfg,
    VerticalSource,
)
from controllers.stiffness.joint_torques import JointTorques
from controllers.stiffness.loads import ExternalLoad
from controllers.stiffness.motion import MotionCfg
from controllers.stiffness.offset import (
    ApproachOffset,
    ConstantOffset,
    FootOffset,
    OffsetContext,
    OffsetLaw,
    PostureOffset,
    WarmJointOffset,
)
from controllers.stiffness.policy import (
    DocumentPolicy,
    PostureTuning,
    ProductPolicy,
    StiffnessPolicy,
)
from controllers.stiffness.postures import PostureCfg, PostureMatcher
from controllers.stiffness.report import StiffnessReport
from controllers.stiffness.stiffness import StiffnessLaw

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
    "DocumentPolicy",
    "Dynamics",
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
