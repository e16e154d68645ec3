"""Settings that are stored and returned, without an effect.

Programs set them at start and stop if a method is missing. The record of a client
counts each call of a setter as pretended.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nao_testbed.experiments.server.naoqi.arguments import Value, flag, text
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.service import ALService
from nao_testbed.models import BadInput


@dataclass(frozen=True, kw_only=True)
class StoredSetting:
    """Setter and getter of a setting."""

    setter: str
    getter: str
    default: bool | str
    """Value before the first call of the setter; gives the type."""
    choices: tuple[str, ...] = ()
    """Accepted values; empty: all of the type."""
    has_name: bool = False
    """True if the first argument of setter and getter names one of many settings."""


ENABLED = StoredSetting(setter="setEnabled", getter="isEnabled", default=False)
SETTINGS: Mapping[str, tuple[StoredSetting, ...]] = {
    "ALBackgroundMovement": (ENABLED,),
    "ALListeningMovement": (ENABLED,),
    "ALAutonomousBlinking": (ENABLED,),
    "ALSpeakingMovement": (
        ENABLED,
        StoredSetting(setter="setMode", getter="getMode", default="contextual"),
    ),
    "ALBasicAwareness": (
        ENABLED,
        StoredSetting(
            setter="setEngagementMode", getter="getEngagementMode", default="Unengaged"
        ),
        StoredSetting(
            setter="setTrackingMode", getter="getTrackingMode", default="Head"
        ),
        StoredSetting(
            setter="setStimulusDetectionEnabled",
            getter="isStimulusDetectionEnabled",
            default=True,
            has_name=True,
        ),
    ),
    "ALAutonomousMoves": (
        ENABLED,
        StoredSetting(
            setter="setExpressiveListeningEnabled",
            getter="getExpressiveListeningEnabled",
            default=False,
        ),
        StoredSetting(
            setter="setBackgroundStrategy",
            getter="getBackgroundStrategy",
            default="none",
            choices=("none", "backToNeutral"),
        ),
    ),
}
"""Settings by service."""


class StoredValues:
    """Stored settings of all services, for all clients."""

    def __init__(self, parts: Parts) -> None:
        """Start with the default settings."""
        del parts
        self.values: dict[tuple[str, ...], bool | str] = {}


def _setter(service: str, one: StoredSetting) -> Callable[..., None]:
    parse = flag if isinstance(one.default, bool) else text

    def put(self: ALService, *args: Value) -> None:
        """Store the setting; it has no effect."""
        *name, value = _checked(args, 1 + one.has_name)
        value, name = parse(value), [text(part) for part in name]
        if one.choices and value not in one.choices:
            raise BadInput(f"it is {value!r}; give {' or '.join(one.choices)}.")
        self._client.pretended[f"{service}.{one.setter}"] += 1
        self._parts.get(StoredValues).values[service, one.setter, *name] = value

    return put


def _getter(service: str, one: StoredSetting) -> Callable[..., Any]:
    def get(self: ALService, *args: Value) -> Any:
        """Return the stored setting."""
        values = self._parts.get(StoredValues).values
        name = _checked(args, int(one.has_name))
        return values.get((service, one.setter, *map(text, name)), one.default)

    return get


def _checked(args: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    if len(args) != n:
        raise BadInput(f"it takes {n} arguments, not {len(args)}.")
    return args


def _storing(service: str) -> type[ALService]:
    """Return a service with the setters and getters of its settings."""
    methods: dict[str, Any] = {}
    for one in SETTINGS[service]:
        methods[one.setter] = _setter(service, one)
        methods[one.getter] = _getter(service, one)
    said = "Settings without an effect."
    return type(service, (ALService,), {"NAME": service, "__doc__": said, **methods})


class ALBasicAwareness(_storing("ALBasicAwareness")):  # type: ignore[misc]
    """Turning to people; vision is not simulated."""

    def startAwareness(self) -> None:
        """Switch awareness on; it has no effect."""
        self._call("setEnabled", (True,))

    def stopAwareness(self) -> None:
        """Switch awareness off."""
        self._call("setEnabled", (False,))

    def isAwarenessRunning(self) -> Any:
        """Return the switch."""
        return self._call("isEnabled", ())

    def isRunning(self, *id: Value) -> Any:  # as published
        """Return the switch; with a call number, true if the call runs."""
        return super().isRunning(int(id[0])) if id else self.isAwarenessRunning()

    def pauseAwareness(self) -> None:
        """Store the pause."""
        self._values["ALBasicAwareness", "pause"] = True

    def resumeAwareness(self) -> None:
        """Store the end of a pause."""
        self._values["ALBasicAwareness", "pause"] = False

    def isAwarenessPaused(self) -> bool:
        """Return true if awareness is paused."""
        return bool(self._values.get(("ALBasicAwareness", "pause")))

    @property
    def _values(self) -> dict[tuple[str, ...], bool | str]:
        stored: StoredValues = self._parts.get(StoredValues)
        return stored.values


STORING: tuple[type[ALService], ...] = (
    ALBasicAwareness,
    *(_storing(name) for name in SETTINGS if name != "ALBasicAwareness"),
)
"""Services of this module."""
