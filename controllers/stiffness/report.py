"""What one step of the controller leaves behind for people and recorders."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controllers.stiffness.ground_plane import GroundPlane, VerticalSource
from controllers.stiffness.joint_torques import JointTorques

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class StiffnessReport:
    """How one step came to its stiffness; arrays are not to be written to."""

    time_s: float
    flags: int
    """`StiffnessFlag` bits; `flag_names(report.flags)` spells them out."""
    plane: GroundPlane
    posture: str | None
    """The closest typical posture, if there is one."""
    contact_names: tuple[str, ...]
    """Names of the contact points."""
    contact_forces: FloatArray
    """(n_contacts,) normal forces in N."""
    com: FloatArray
    """(3,) centre of mass in the base frame, in m."""
    torques: JointTorques
    offset: FloatArray
    """(n_joints,) or () the offset."""
    computed: FloatArray
    """(n_joints,) stiffness of step 320, before the policy."""
    stiffness: FloatArray
    """(n_joints,) stiffness returned."""

    @property
    def gravity_source(self) -> VerticalSource:
        """Which vertical was used."""
        return self.plane.source
