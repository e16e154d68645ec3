"""Services that only store settings.

Programs fetch these services at start and stop if one is missing. A stub stores a
switch and returns it; the record of its client counts each call as pretended.
"""

from typing import Any

from nao_testbed.experiments.server.naoqi.arguments import Value
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.service import ALService
from nao_testbed.models import BadInput

SWITCHES = {
    "ALBackgroundMovement": False,
    "ALListeningMovement": False,
    "ALAutonomousBlinking": False,
    "ALSpeakingMovement": False,
    "ALBasicAwareness": False,
    "ALAutonomousMoves": False,
}


class Switches:
    """Stored settings of all stubs, for all clients."""

    def __init__(self, parts: Parts) -> None:
        """Create the default settings."""
        del parts
        self.enabled = dict(SWITCHES)
        self.values: dict[str, Any] = {}


class _Stub(ALService):
    """Service that stores a switch without effect."""

    def setEnabled(self, enabled: bool) -> None:
        """Store the switch; it has no effect."""
        self._count("setEnabled")
        self._switches.enabled[self.NAME] = enabled

    def isEnabled(self) -> bool:
        """Return the switch."""
        self._count("isEnabled")
        return self._switches.enabled[self.NAME]

    @property
    def _switches(self) -> Switches:
        return self._parts.get(Switches)

    def _count(self, method: str) -> None:
        self._client.pretended[f"{self.NAME}.{method}"] += 1

    def _stored(self, method: str, before: Any) -> Any:
        """Return the value of a setter, or the default before its first call."""
        self._count(method.replace("set", "get", 1))
        return self._switches.values.get(f"{self.NAME}.{method}", before)

    def _store(self, method: str, value: Any) -> None:
        self._count(method)
        self._switches.values[f"{self.NAME}.{method}"] = value


class ALBackgroundMovement(_Stub):
    """Small motions of a waiting robot."""

    NAME = "ALBackgroundMovement"


class ALListeningMovement(_Stub):
    """Small motions of a listening robot."""

    NAME = "ALListeningMovement"


class ALAutonomousBlinking(_Stub):
    """Blinking eyes."""

    NAME = "ALAutonomousBlinking"


class ALSpeakingMovement(_Stub):
    """Small motions of a speaking robot."""

    NAME = "ALSpeakingMovement"

    def setMode(self, mode: str) -> None:
        """Store the mode; it has no effect."""
        self._store("setMode", mode)

    def getMode(self) -> str:
        """Return the mode that was stored."""
        return str(self._stored("setMode", "contextual"))

    def addTagsToWords(self, tagsToWords: Value) -> None:
        """Store tags; they have no effect."""
        self._store("addTagsToWords", tagsToWords)


class ALBasicAwareness(_Stub):
    """Turning to people; vision is not simulated."""

    NAME = "ALBasicAwareness"

    def startAwareness(self) -> None:
        """Switch awareness on; it has no effect."""
        self.setEnabled(True)

    def stopAwareness(self) -> None:
        """Switch awareness off."""
        self.setEnabled(False)

    def isAwarenessRunning(self) -> bool:
        """Return the switch."""
        return self.isEnabled()

    def isRunning(self, *id: Value) -> bool:  # as published
        """Return the switch; with a call number, true if the call runs."""
        return super().isRunning(int(id[0])) if id else self.isEnabled()

    def pauseAwareness(self) -> None:
        """Store the pause."""
        self._store("pause", value=True)

    def resumeAwareness(self) -> None:
        """Store the end of a pause."""
        self._store("pause", value=False)

    def setEngagementMode(self, modeName: str) -> None:
        """Store the mode; it has no effect."""
        self._store("setEngagementMode", modeName)

    def getEngagementMode(self) -> str:
        """Return the mode that was stored."""
        return str(self._stored("setEngagementMode", "Unengaged"))

    def setTrackingMode(self, modeName: str) -> None:
        """Store the mode; it has no effect."""
        self._store("setTrackingMode", modeName)

    def getTrackingMode(self) -> str:
        """Return the mode that was stored."""
        return str(self._stored("setTrackingMode", "Head"))

    def setStimulusDetectionEnabled(self, stimulusName: str, enabled: bool) -> None:
        """Store the switch; it has no effect."""
        self._store(f"setStimulusDetectionEnabled {stimulusName}", enabled)

    def isStimulusDetectionEnabled(self, stimulusName: str) -> bool:
        """Return the switch."""
        return bool(self._stored(f"setStimulusDetectionEnabled {stimulusName}", True))


class ALAutonomousMoves(_Stub):
    """Small motions of an idle robot."""

    NAME = "ALAutonomousMoves"

    def setExpressiveListeningEnabled(self, enable: bool) -> None:
        """Store the switch; it has no effect."""
        self._store("setExpressiveListeningEnabled", enable)

    def getExpressiveListeningEnabled(self) -> bool:
        """Return the switch."""
        return bool(self._stored("setExpressiveListeningEnabled", before=False))

    def setBackgroundStrategy(self, strategy: str) -> None:
        """Store the strategy; it has no effect."""
        if strategy not in {"none", "backToNeutral"}:
            raise BadInput(f"strategy is {strategy!r}; give none or backToNeutral.")
        self._store("setBackgroundStrategy", strategy)

    def getBackgroundStrategy(self) -> str:
        """Return the strategy that was stored."""
        return str(self._stored("setBackgroundStrategy", "none"))


class PackageManager(ALService):
    """Installed packages: none."""

    NAME = "PackageManager"

    def packages(self) -> list[str]:
        """Return an empty list."""
        self._client.pretended["PackageManager.packages"] += 1
        return []


STUBS: tuple[type[ALService], ...] = (
    ALBackgroundMovement,
    ALListeningMovement,
    ALAutonomousBlinking,
    ALSpeakingMovement,
    ALBasicAwareness,
    ALAutonomousMoves,
    PackageManager,
)
