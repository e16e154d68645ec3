"""ALMotion, combined from its parts."""

from nao_testbed.experiments.server.naoqi.services.motion.cartesian import Cartesian
from nao_testbed.experiments.server.naoqi.services.motion.joints import Tasks
from nao_testbed.experiments.server.naoqi.services.motion.reflexes import Reflexes
from nao_testbed.experiments.server.naoqi.services.motion.state import BodyState
from nao_testbed.experiments.server.naoqi.services.motion.stiffness import Stiffness
from nao_testbed.experiments.server.naoqi.services.motion.walking import Walking


class ALMotion(Stiffness, Tasks, BodyState, Reflexes, Cartesian, Walking):
    """Motions of the robot's joints; the robot does not walk."""

    NAME = "ALMotion"
