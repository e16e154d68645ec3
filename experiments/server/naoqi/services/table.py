"""Table of all registered services, and of the parts that start with the robot."""

from collections.abc import Callable
from typing import Any

from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.service import ALService
from nao_testbed.experiments.server.naoqi.services import (
    al_memory,
    dcm,
    leds,
    programs,
    resources,
    sensors,
)
from nao_testbed.experiments.server.naoqi.services.audio import sound, speech
from nao_testbed.experiments.server.naoqi.services.monitoring import log_manager, video
from nao_testbed.experiments.server.naoqi.services.motion import (
    al_motion,
    heat_effect,
    postures,
)
from nao_testbed.experiments.server.naoqi.services.stubs import storing
from nao_testbed.experiments.server.naoqi.services.stubs.refusing import (
    PUBLISHED,
    completed,
)

MODULES = (
    *(al_memory, al_motion, dcm, leds, log_manager, postures, programs, resources),
    *(sensors, sound, speech, storing, video),
)
WRITTEN: dict[str, type[ALService]] = {
    kind.NAME: kind
    for module in MODULES
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, ALService) and kind.NAME
}
"""Services with methods of their own, by name."""
SERVICES = tuple(
    completed(name, WRITTEN.get(name, ALService))
    for name in sorted({*PUBLISHED, *WRITTEN})
)
"""All services, with all published methods."""
BEGUN: tuple[Callable[[Parts], Any], ...] = (
    log_manager.ServerLog,
    heat_effect.HeatEffect,
    postures.Postures,
    speech.Speech,
    leds.Leds,
    dcm.Dcm,
    programs.Programs,
    sensors.Senses,
)
"""Parts that run from the start of the robot, even without clients."""
