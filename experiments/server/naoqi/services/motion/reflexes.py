"""ALMotion: reflexes and idle motions of a standing robot."""

from typing import Any

from nao_testbed.experiments.server.naoqi.arguments import Value, number, text
from nao_testbed.experiments.server.naoqi.service import ALService, NotSimulated
from nao_testbed.experiments.server.naoqi.services.motion.heat_effect import HeatEffect
from nao_testbed.experiments.server.naoqi.services.motion.settings import (
    ARMS,
    CHAINS,
    MotionSettings,
    check_chain,
    check_range,
)
from nao_testbed.models import BadInput


class Reflexes(ALService):
    """Methods of ALMotion about reflexes."""

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
        check_chain(chainName, CHAINS)
        return self._settings.breath[chainName]

    def setBreathConfig(self, pConfig: Value) -> None:
        """Set breaths per minute (Bpm, 5 to 30) and Amplitude (0 to 1)."""
        bounds = {"Bpm": (5.0, 30.0), "Amplitude": (0.0, 1.0)}
        if not isinstance(pConfig, list):
            raise BadInput(
                'pConfig is not a list; give [["Bpm", 12], ["Amplitude", 0.5]].'
            )
        for pair in pConfig:
            if not isinstance(pair, list) or len(pair) != 2:
                raise BadInput(f"{pair!r} is not a pair of a name and a number.")
            name = text(pair[0])
            check_chain(name, tuple(bounds))
            value = check_range(name, number(pair[1]), *bounds[name])
            self._settings.breath_config[name] = value

    def getBreathConfig(self) -> list[list[Any]]:
        """Return breaths per minute and amplitude."""
        return [[name, value] for name, value in self._settings.breath_config.items()]

    def isCollision(self, pChainName: str) -> str:
        """Refuse: distances between arms and body are not computed."""
        check_chain(pChainName, ARMS)
        raise NotSimulated("the distance of an arm to the body")

    @property
    def _settings(self) -> MotionSettings:
        return self._parts.get(MotionSettings)
