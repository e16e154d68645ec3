"""All services that are registered, and the parts that begin with the robot."""

from collections.abc import Callable
from typing import Any

from experiments.server.naoqi.client import Parts
from experiments.server.naoqi.service import Service
from experiments.server.naoqi.services.al_memory import ALMemory
from experiments.server.naoqi.services.motion.al_motion import ALMotion
from experiments.server.naoqi.services.motion.heat_effect import HeatEffect
from experiments.server.naoqi.services.motion.postures import Postures
from experiments.server.naoqi.services.posture import ALRobotPosture
from experiments.server.naoqi.services.speech import ALAnimatedSpeech, ALTextToSpeech

SERVICES: tuple[type[Service], ...] = (
    ALMotion,
    ALRobotPosture,
    ALMemory,
    ALTextToSpeech,
    ALAnimatedSpeech,
)
BEGUN: tuple[Callable[[Parts], Any], ...] = (HeatEffect, Postures)
"""Parts that watch the robot from its start, whether a client asks or not."""
