"""ALMotion: reflexes and idle motions of a standing robot."""

from typing import Any

from nao_testbed.experiments.server.naoqi.arguments import (
    Value,
    in_range,
    known,
    number,
    pairs,
)
from nao_testbed.experiments.server.naoqi.service import ALService, SharedPart
from nao_testbed.experiments.server.naoqi.services.motion.heat_effect import HeatEffect
from nao_testbed.experiments.server.naoqi.services.motion.settings import (
    CHAINS,
    MotionSettings,
)
from nao_testbed.models import BadInput


class Reflexes(ALService):
    """Methods of ALMotion about reflexes."""

    _settings = SharedPart(MotionSettings)

    def setFallManagerEnabled(self, enable: bool) -> None:
        """Accept true; switching the fall manager off is refused, as on a robot."""
        if not enable:
            raise BadInput(
                "the fall manager stays on: the robot's owner has not permitted "
                "switching it off."
            )

    def setDiagnosisEffectEnabled(self, pEnable: bool) -> None:
        """Enable or disable the loss of stiffness of hot chains."""
        self._parts.get(HeatEffect).is_on = pEnable

    def getDiagnosisEffectEnabled(self) -> bool:
        """Return true if hot chains lose their stiffness."""
        return self._parts.get(HeatEffect).is_on

    def setBreathEnabled(self, chainName: str, isEnabled: bool) -> None:
        """Enable or disable a slow sway of idle arms and head; legs stay still."""
        self._settings.set_breath(self._client.name, chainName, is_on=isEnabled)

    def getBreathEnabled(self, chainName: str) -> bool:
        """Return true if the sway of a chain is enabled."""
        known("Name", chainName, CHAINS, "this call")
        return self._settings.breath[chainName]

    def setBreathConfig(self, pConfig: Value) -> None:
        """Set breaths per minute (Bpm, 5 to 30) and Amplitude (0 to 1)."""
        bounds = {"Bpm": (5.0, 30.0), "Amplitude": (0.0, 1.0)}
        for name, given in pairs("pConfig", pConfig):
            known("Name", name, tuple(bounds), "this call")
            value = in_range(name, number(given), *bounds[name])
            self._settings.breath_config[name] = value

    def getBreathConfig(self) -> list[list[Any]]:
        """Return breaths per minute and amplitude."""
        return [[name, value] for name, value in self._settings.breath_config.items()]
