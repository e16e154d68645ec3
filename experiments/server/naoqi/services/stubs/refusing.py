"""Published methods that the services do not define: refused, idle, or only stored.

`methods.csv` lists the published methods of all services [naoqi-api][jnaoqi]. Programs
fetch services at start and stop if one is missing. Methods that need a missing part
raise, since an invented answer would mislead. Methods that stop or query such a
function return the idle state.
"""

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nao_testbed.experiments.server.naoqi.arguments import Value
from nao_testbed.experiments.server.naoqi.service import ALService, NotSimulated
from nao_testbed.experiments.server.naoqi.services.stubs.storing import (
    StoredSetting,
    put_value,
)

TABLE = Path(__file__).with_name("methods.csv")
"""Columns: services; answer; methods. The answer is `served` (a method of ours), `as`
with the method that does the same, `=` with the answer of an idle function, `stored`
with the default of a setting (`StoredSetting`), `put` with a getter and the value that
it then returns, or the part that is not simulated."""
SERVED, ALIAS, IDLE, STORED, PUT = "served", "as ", "= ", "stored ", "put "


@dataclass(frozen=True, kw_only=True)
class PublishedMethod:
    """Published method of a service."""

    service: str
    name: str
    answer: str
    """As in `TABLE`."""
    getter: str
    """First method of its row."""

    @property
    def missing_part(self) -> str:
        """Part that the method needs and that is not simulated; empty: none."""
        does = self.answer.startswith((ALIAS, IDLE, STORED, PUT))
        return "" if does or self.answer == SERVED else self.answer

    def substitute(self, written: type[ALService], added: Mapping[str, Any]) -> Any:
        """Return the method, for a class and its other substitutes."""
        if self.missing_part:
            return _refusal(self.answer)
        kind, _, rest = self.answer.partition(" ")
        make: Mapping[str, Callable[[], Any]] = {
            ALIAS: lambda: added.get(rest) or getattr(written, rest),
            IDLE: lambda: _answer(json.loads(rest)),
            STORED: lambda: StoredSetting.parse(self.service, self.getter, rest).method(
                self.name
            ),
            PUT: lambda: put_value(self.service, rest),
        }
        return make[f"{kind} "]()


def read_published() -> Mapping[str, tuple[PublishedMethod, ...]]:
    """Return the published methods by service."""
    found: dict[str, list[PublishedMethod]] = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for service in row["services"].split():
                found.setdefault(service, []).extend(
                    PublishedMethod(
                        service=service,
                        name=name,
                        answer=row["answer"],
                        getter=row["methods"].split()[0],
                    )
                    for name in row["methods"].split()
                )
    return {service: tuple(methods) for service, methods in found.items()}


PUBLISHED = read_published()
"""Published methods by service, without those of every service (`ALService`)."""


def completed(service: str, written: type[ALService]) -> type[ALService]:
    """Return a service with all its published methods.

    Args:
        service: name of the service.
        written: class with the methods that do something.
    """
    methods = PUBLISHED.get(service, ())
    added: dict[str, Any] = {}
    for one in methods:
        if one.answer != SERVED and not hasattr(written, one.name):
            added[one.name] = one.substitute(written, added)
    if written is ALService:
        parts = dict.fromkeys(filter(None, (one.missing_part for one in methods)))
        added["__doc__"] = (
            f"Not simulated: {', '.join(parts)}." if parts else "It has no effect."
        )
    return type(service, (written,), {"NAME": service, **added})


def _refusal(what: str) -> Callable[..., None]:
    def refuse(self: ALService, *args: Value) -> None:  # noqa: ARG001
        raise NotSimulated(what)

    refuse.__doc__ = f"Refuse; not simulated: {what}."
    return refuse


def _answer(value: Any) -> Callable[..., Any]:
    def answer(self: ALService, *args: Value) -> Any:  # noqa: ARG001
        return value

    answer.__doc__ = "Return the answer of the idle function."
    return answer
