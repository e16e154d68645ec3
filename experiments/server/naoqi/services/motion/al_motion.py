"""ALMotion, whole."""

from experiments.server.naoqi.services.motion.joints import Joints
from experiments.server.naoqi.services.motion.stiffness import Stiffness


class ALMotion(Joints, Stiffness):
    """Moves the robot's joints."""

    NAME = "ALMotion"
