"""Everything that can be chosen about the stiffness controller."""

from dataclasses import dataclass, field
from typing import Literal

from controllers.stiffness.contact_forces import ContactForceCfg
from controllers.stiffness.contacts import ContactCfg
from controllers.stiffness.ground_plane import GroundPlaneCfg
from controllers.stiffness.motion import MotionCfg
from controllers.stiffness.offset import OffsetLaw, PostureOffset
from controllers.stiffness.policy import DocumentPolicy, StiffnessPolicy
from controllers.stiffness.postures import PostureCfg
from models import BadInput


@dataclass(frozen=True, kw_only=True)
class SmartStiffnessCfg:
    """Choices of both logics; the defaults are the document's."""

    name: str = "smart"
    """Name of the controller in tables and run folders."""
    model: Literal["simplified", "full"] = "simplified"
    """`simplified`: gravity and contacts (ST-6). `full`: accelerations, Coriolis and
    centrifugal terms too (ST-5)."""
    add_friction: bool = False
    """Add the joint's Coulomb friction to |τ|: the motor must overcome it to move;
    else the offset stands for it."""
    ground: GroundPlaneCfg = field(default_factory=GroundPlaneCfg)
    contacts: ContactCfg = field(default_factory=ContactCfg)
    postures: PostureCfg = field(default_factory=PostureCfg)
    forces: ContactForceCfg = field(default_factory=ContactForceCfg)
    motion: MotionCfg = field(default_factory=MotionCfg)
    offset: OffsetLaw = field(default_factory=PostureOffset)
    """Give each controller its own: a law may keep state."""
    policy: StiffnessPolicy = field(default_factory=DocumentPolicy)
    """Likewise."""

    def __post_init__(self) -> None:
        """Refuse an unknown model."""
        if self.model not in ("simplified", "full"):
            raise BadInput(f"model {self.model!r}; give 'simplified' or 'full'.")
