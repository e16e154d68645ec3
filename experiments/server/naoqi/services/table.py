"""Table of all registered services, and of the parts that start with the robot."""

from collections.abc import Callable
from typing import Any

from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.service import ALService
from nao_testbed.experiments.server.naoqi.services.al_memory import ALMemory
from nao_testbed.experiments.server.naoqi.services.audio.sound import (
    ALAudioDevice,
    ALAudioPlayer,
)
from nao_testbed.experiments.server.naoqi.services.audio.speech import (
    ALAnimatedSpeech,
    ALDialog,
    ALTextToSpeech,
    Speech,
)
from nao_testbed.experiments.server.naoqi.services.dcm import DCM, Dcm
from nao_testbed.experiments.server.naoqi.services.leds import ALLeds, Leds
from nao_testbed.experiments.server.naoqi.services.monitoring.log_manager import (
    LogManager,
    ServerLog,
)
from nao_testbed.experiments.server.naoqi.services.monitoring.video import ALVideoDevice
from nao_testbed.experiments.server.naoqi.services.motion.al_motion import ALMotion
from nao_testbed.experiments.server.naoqi.services.motion.heat_effect import HeatEffect
from nao_testbed.experiments.server.naoqi.services.motion.postures import (
    ALRobotPosture,
    Postures,
)
from nao_testbed.experiments.server.naoqi.services.programs import (
    ALAnimationPlayer,
    ALAutonomousLife,
    ALBehaviorManager,
    ALRobotModel,
    ALSystem,
    Programs,
)
from nao_testbed.experiments.server.naoqi.services.resources import ALResourceManager
from nao_testbed.experiments.server.naoqi.services.sensors import (
    ALBattery,
    ALBodyTemperature,
    ALDiagnosis,
    ALFsr,
    ALSensors,
    ALSonar,
    ALTouch,
    Senses,
)
from nao_testbed.experiments.server.naoqi.services.stubs.refusing import (
    PUBLISHED,
    completed,
)
from nao_testbed.experiments.server.naoqi.services.stubs.storing import ALBasicAwareness

WRITTEN: tuple[type[ALService], ...] = (
    ALMotion,
    ALRobotPosture,
    ALMemory,
    ALTextToSpeech,
    ALAnimatedSpeech,
    ALLeds,
    ALResourceManager,
    ALBodyTemperature,
    ALDiagnosis,
    ALBattery,
    ALSonar,
    ALSensors,
    ALFsr,
    ALTouch,
    ALAudioPlayer,
    ALAudioDevice,
    ALBehaviorManager,
    ALAnimationPlayer,
    ALAutonomousLife,
    ALSystem,
    ALRobotModel,
    LogManager,
    DCM,
    ALDialog,
    ALVideoDevice,
    ALBasicAwareness,
)
"""Services with methods of their own."""
SERVICES = tuple(
    completed(name, {one.NAME: one for one in WRITTEN}.get(name, ALService))
    for name in sorted({*PUBLISHED, *(one.NAME for one in WRITTEN)})
)
"""All services, with all published methods."""
BEGUN: tuple[Callable[[Parts], Any], ...] = (
    ServerLog,
    HeatEffect,
    Postures,
    Speech,
    Leds,
    Dcm,
    Programs,
    Senses,
)
"""Parts that run from the start of the robot, even without clients."""
