"""ALMotion, whole."""

from experiments.server.naoqi.services.motion.cartesian import Cartesian
from experiments.server.naoqi.services.motion.joints import Joints, Tasks
from experiments.server.naoqi.services.motion.reflexes import Reflexes
from experiments.server.naoqi.services.motion.state import State
from experiments.server.naoqi.services.motion.stiffness import Stiffness
from experiments.server.naoqi.services.motion.walking import Walking


class ALMotion(Joints, Stiffness, Tasks, State, Reflexes, Cartesian, Walking):
    """Moves the robot's joints; a robot that stands."""

    NAME = "ALMotion"
