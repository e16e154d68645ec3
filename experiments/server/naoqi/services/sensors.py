"""Temperature, diagnosis, battery, touch, sonar, feet: values are in ALMemory."""

from collections import Counter

from nao_testbed.experiments.server.naoqi.arguments import Value
from nao_testbed.experiments.server.naoqi.memory.memory_keys import (
    PREFIX,
    SIDES,
    TOUCHES,
)
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.service import (
    ALService,
    SharedPart,
    check_room,
)
from nao_testbed.experiments.server.naoqi.services.motion.heat_effect import HeatEffect
from nao_testbed.models import BadInput

CONTACT_EVENT = "footContactChanged"
CHARGE_EVENT = "BatteryChargeChanged"
LOOK_S = 0.1
NEAR_M = 0.5
"""Distance in m below which a sonar detects an obstacle: an estimate, the default that
public programs name. Not on the pages of [naoqi-api] that were read."""


class Senses:
    """Source of the events of feet and battery, and list of subscribers."""

    def __init__(self, parts: Parts) -> None:
        """Start watching the sensors."""
        self._parts = parts
        self.subscribers: Counter[tuple[str, str]] = Counter()
        """Service and name of each subscriber."""
        self._last: dict[str, object] = {"falls": False}
        """Value of each poll, by its name."""
        self._touched: set[str] = set()
        """Events of the sensors that a person or a scenario touches."""
        parts.served.each_slot.append(lambda *_: self._feel())
        self._poll()

    def _feel(self) -> None:
        now = {TOUCHES[name] for name in self._parts.served.setup.disturbance.touches}
        for event in now ^ self._touched:
            self._parts.memory.raise_event(event, float(event in now))
        self._touched = now

    def _poll(self) -> None:
        memory, served = self._parts.memory, self._parts.served
        if memory.kind("footContact") is not None:
            contact = bool(memory.get("footContact"))
            if self._has_changed("contact", contact):
                memory.raise_event(CONTACT_EVENT, contact)
                memory.raise_event("ALMotion/RobotIsStand", contact)
        charge = round(100.0 * memory.get(f"{PREFIX}Battery/Charge/Sensor/Value"))
        if self._has_changed("charge", charge):
            memory.raise_event(CHARGE_EVENT, charge)
        falls = served.body.sim.has_fallen()
        if self._has_changed("falls", falls) and falls:
            memory.raise_event("ALMotion/RobotIsFalling", value=True)
            memory.raise_event("robotHasFallen", value=True)
        for side in SIDES.values():
            distance = memory.find(f"{PREFIX}US/{side}/Sensor/Value")
            if distance is not None and self._has_changed(side, distance < NEAR_M):
                what = "Detected" if distance < NEAR_M else "NothingDetected"
                memory.raise_event(f"Sonar{side}{what}", distance)
        served.after(LOOK_S, self._poll)

    def _has_changed(self, name: str, value: object) -> bool:
        before, self._last[name] = self._last.get(name), value
        return before != value


class _Extractor(ALService):
    """Service with subscriptions; its values are always up to date."""

    _senses = SharedPart(Senses)

    def subscribe(self, name: str, *periodAndPrecision: Value) -> None:
        """Accept: values are always up to date."""
        del periodAndPrecision
        subscribers = self._senses.subscribers
        check_room(subscribers, (self.NAME, name), "subscribers")
        subscribers[self.NAME, name] += 1

    def unsubscribe(self, name: str) -> None:
        """End a subscription, which must exist."""
        subscribers = self._senses.subscribers
        if not subscribers[self.NAME, name]:
            raise BadInput(f"{name!r} has not subscribed to {self.NAME}.")
        subscribers[self.NAME, name] -= 1
        subscribers += Counter()  # drops those at 0

    def getSubscribersInfo(self) -> list[list[object]]:
        """Return the subscribers, with period and precision."""
        subscribers = self._senses.subscribers
        return [[n, 0, 1.0] for s, n in subscribers if s == self.NAME]


class ALSonar(_Extractor):
    """Distances to obstacles in front: keys US/Left and US/Right, events by side."""

    NAME = "ALSonar"


class ALSensors(_Extractor):
    """Touch sensors and buttons."""

    NAME = "ALSensors"


class ALFsr(_Extractor):
    """Force sensors of the feet."""

    NAME = "ALFsr"


class ALTouch(ALService):
    """Touch sensors: touched by the page, by scenarios, or by raising their events."""

    NAME = "ALTouch"

    def getSensorList(self) -> list[str]:
        """Return the names of the sensors."""
        return list(TOUCHES)

    def getStatus(self) -> list[list[object]]:
        """Return name and touch state of each sensor."""
        memory = self._parts.memory
        return [[t, bool(memory.get(f"{PREFIX}{t}/Sensor/Value"))] for t in TOUCHES]


class ALBodyTemperature(ALService):
    """Body temperature; temperatures of single joints are in ALMemory."""

    NAME = "ALBodyTemperature"

    def getTemperatureDiagnosis(self) -> list[object]:
        """Return the worst severity, 0 to 2, and the affected chains."""
        return self._parts.get(HeatEffect).diagnosis()


class ALDiagnosis(ALService):
    """Parts with errors: here those that are too hot or broken."""

    NAME = "ALDiagnosis"

    def getDiagnosisStatus(self) -> list[object]:
        """Return the worst severity, and the affected parts."""
        heat = self._parts.get(HeatEffect).diagnosis()
        broken = self._broken()
        return [2, broken] if broken else heat

    def getActiveDiagnosis(self) -> list[object]:
        """Return severity and parts of errors found by a test."""
        broken = self._broken()
        return [2 if broken else 0, broken]

    def _broken(self) -> list[str]:
        with self._served.access():
            return sorted(self._served.body.sim.failed_motors)


class ALBattery(ALService):
    """Charge of the battery."""

    NAME = "ALBattery"

    def getBatteryCharge(self) -> int:
        """Return the charge in percent."""
        key = f"{PREFIX}Battery/Charge/Sensor/Value"
        return round(100.0 * float(self._parts.memory.get(key)))
