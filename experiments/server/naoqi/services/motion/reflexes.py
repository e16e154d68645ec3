"""ALMotion: reflexes and idle motions of a standing robot."""

from typing import Any

import numpy as np

from nao_testbed.experiments.server.naoqi.arguments import Value, number, text
from nao_testbed.experiments.server.naoqi.service import ALService, NotSimulated
from nao_testbed.experiments.server.naoqi.services.motion.heat_effect import HeatEffect
from nao_testbed.experiments.server.naoqi.services.motion.settings import (
    ARMS,
    CHAINS,
    EXTERNAL,
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

    def getFallManagerEnabled(self) -> bool:
        """Return true: the fall manager is on."""
        return self._settings.fall_manager

    def setDiagnosisEffectEnabled(self, pEnable: bool) -> None:
        """Enable or disable the loss of stiffness of hot chains."""
        self._parts.get(HeatEffect).is_on = pEnable

    def getDiagnosisEffectEnabled(self) -> bool:
        """Return true if hot chains lose their stiffness."""
        return self._parts.get(HeatEffect).is_on

    def setIdlePostureEnabled(self, chainName: str, isEnabled: bool) -> None:
        """Store the switch; an idle chain keeps its position in any case."""
        check_chain(chainName, CHAINS)
        self._settings.idle[chainName] = isEnabled
        self._client.pretended["ALMotion.setIdlePostureEnabled"] += 1

    def getIdlePostureEnabled(self, chainName: str) -> bool:
        """Return the switch."""
        check_chain(chainName, CHAINS)
        return self._settings.idle[chainName]

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

    def setCollisionProtectionEnabled(self, pChainName: str, pEnable: bool) -> bool:
        """Store the switch and return true; self-collisions are not prevented."""
        check_chain(pChainName, ARMS)
        for arm in ("LArm", "RArm") if pChainName == "Arms" else (pChainName,):
            self._settings.collision[arm] = pEnable
        self._client.pretended["ALMotion.setCollisionProtectionEnabled"] += 1
        return True

    def getCollisionProtectionEnabled(self, pChainName: str) -> bool:
        """Return the switch."""
        check_chain(pChainName, ARMS)
        arms = ("LArm", "RArm") if pChainName == "Arms" else (pChainName,)
        return all(self._settings.collision[arm] for arm in arms)

    def isCollision(self, pChainName: str) -> str:
        """Refuse: distances between arms and body are not computed."""
        check_chain(pChainName, ARMS)
        raise NotSimulated("the distance of an arm to the body")

    def setExternalCollisionProtectionEnabled(self, pName: str, pEnable: bool) -> None:
        """Store the switch; obstacles are not detected."""
        check_chain(pName, EXTERNAL)
        for name in EXTERNAL if pName == "All" else (pName,):
            self._settings.external[name] = pEnable
        self._client.pretended["ALMotion.setExternalCollisionProtectionEnabled"] += 1

    def getExternalCollisionProtectionEnabled(self, pName: str) -> bool:
        """Return the switch."""
        check_chain(pName, EXTERNAL)
        return self._settings.external[pName]

    def setOrthogonalSecurityDistance(self, securityDistance: float) -> None:
        """Store a distance in m; it has no effect on a standing robot."""
        self._distance("Orthogonal", securityDistance)

    def getOrthogonalSecurityDistance(self) -> float:
        """Return the distance in m."""
        return self._settings.distances["Orthogonal"]

    def setTangentialSecurityDistance(self, securityDistance: float) -> None:
        """Store a distance in m; it has no effect on a standing robot."""
        self._distance("Tangential", securityDistance)

    def getTangentialSecurityDistance(self) -> float:
        """Return the distance in m."""
        return self._settings.distances["Tangential"]

    @property
    def _settings(self) -> MotionSettings:
        return self._parts.get(MotionSettings)

    def _distance(self, name: str, distance: float) -> None:
        check_range("securityDistance", distance, 0.0, np.inf)
        self._settings.distances[name] = distance
        self._client.pretended[f"ALMotion.set{name}SecurityDistance"] += 1
