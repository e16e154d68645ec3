"""Settings that are stored and returned, without an effect.

Programs set them at start and stop if a method is missing. A row of `methods.csv` has
the getter of a setting and its setters. The record of a client counts each call of a
setter as pretended.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nao_testbed.experiments.server.naoqi.arguments import (
    Value,
    flag,
    known,
    number,
    text,
)
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.service import ALService
from nao_testbed.models import BadInput

MAX_LETTERS = 60
"""Maximum length of a text."""
ARMS = {"LArm", "RArm"}


class StoredValues:
    """Stored settings of all services, for all clients."""

    def __init__(self, parts: Parts) -> None:
        """Start with the default settings."""
        del parts
        self.values: dict[tuple[str, str, str], Any] = {}
        """Value by service, getter, and name of the setting."""


@dataclass(frozen=True, kw_only=True)
class StoredSetting:
    """Setting of a service, or one for each of some names."""

    service: str
    getter: str
    default: Any
    """Value before the first call of a setter; gives the type."""
    choices: tuple[str, ...]
    """Accepted texts; empty: all."""
    names: tuple[str, ...]
    """Names, each with a setting; `All` and `Arms` stand for several of them."""

    @staticmethod
    def parse(service: str, getter: str, answer: str) -> "StoredSetting":
        """Read `DEFAULT` or `DEFAULT of NAME ...`; a list has the choices."""
        default, _, names = answer.partition(" of ")
        value = json.loads(default)
        return StoredSetting(
            service=service,
            getter=getter,
            default=value[0] if isinstance(value, list) else value,
            choices=tuple(value) if isinstance(value, list) else (),
            names=tuple(names.split()),
        )

    def method(self, name: str) -> Callable[..., Any]:
        """Return the getter, or the setter with a name."""
        return _setter(self, name) if name.startswith("set") else _getter(self)

    def name(self, args: Sequence[Any], more: int) -> str:
        """Return the name among the arguments, which are `more` besides."""
        n = more + bool(self.names)
        if len(args) != n:
            raise BadInput(f"it takes {n} arguments, not {len(args)}.")
        if not self.names:
            return ""
        return known("Name", text(args[0]), self.names, self.service)

    def below(self, name: str) -> list[str]:
        """Return the names that a name stands for."""
        several = {"All": set(self.names) - {name}, "Arms": ARMS & set(self.names)}
        return sorted(several.get(name) or {name})

    def accepted(self, value: object) -> Any:
        """Return a value of the type of the default."""
        if isinstance(self.default, bool):
            return flag(value)
        if isinstance(self.default, str):
            said = text(value)
            if not 0 < len(said) <= MAX_LETTERS:
                raise BadInput(f"it has {len(said)} letters; give 1 to {MAX_LETTERS}.")
            if self.choices and said not in self.choices:
                raise BadInput(f"it is {said!r}; give {' or '.join(self.choices)}.")
            return said
        if (found := number(value)) < 0.0:
            raise BadInput(f"it is {found:g}; give 0 or more.")
        return type(self.default)(found)


def _getter(one: StoredSetting) -> Callable[..., Any]:
    def get(self: ALService, *args: Value) -> Any:
        """Return the stored setting."""
        values = self._parts.get(StoredValues).values
        below = one.below(one.name(args, 0))
        found = [values.get((one.service, one.getter, x), one.default) for x in below]
        return all(found) if len(found) > 1 else found[0]

    return get


def _setter(one: StoredSetting, method: str) -> Callable[..., bool]:
    def put(self: ALService, *args: Value) -> bool:
        """Store the setting, without an effect; return true."""
        name, value = one.name(args, 1), one.accepted(args[-1])
        self._client.pretended[f"{one.service}.{method}"] += 1
        values = self._parts.get(StoredValues).values
        for each in {name, *one.below(name)}:
            values[one.service, one.getter, each] = value
        return True

    return put


def put_value(service: str, answer: str) -> Callable[[ALService], None]:
    """Return a method that stores a value: `GETTER VALUE`."""
    getter, value = answer.split()

    def put(self: ALService) -> None:
        """Store the setting, without an effect."""
        key = service, getter, ""
        self._parts.get(StoredValues).values[key] = json.loads(value)

    return put


class ALBasicAwareness(ALService):
    """Turning to people; vision is not simulated."""

    NAME = "ALBasicAwareness"

    def isRunning(self, *id: Value) -> Any:  # as published
        """Return true if awareness is on; with a call number, if the call runs."""
        return super().isRunning(int(id[0])) if id else self._call("isEnabled", ())
