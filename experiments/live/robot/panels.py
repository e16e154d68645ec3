"""Safe access to the panels of a robot's controller and schemas.

The panel's code may be foreign: a panel that raises, or is slow repeatedly, is not
called again, and its card on the page shows the reason. The robot continues.
"""

import time
from collections.abc import Iterator
from contextlib import suppress

from nao_testbed.controllers.interface.panel import (
    Panel,
    PanelSource,
    check_panel,
    has_panel,
    has_settings,
)
from nao_testbed.experiments.live.robot.moment import PanelView
from nao_testbed.experiments.live.robot.operation import ChangeSetting
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.models import BadInput, TestbedError

MAX_S, MAX_WAITING_S = 0.005, 0.05
"""Maximum computing time in s, half a slot; and maximum waiting time, which on a
busy machine also affects fast panels."""
MAX_SLOW = 3
"""Number of slow calls after which a panel is disabled."""
BLOCKED_S = 2.0
"""Duration in s after which a panel is disabled at once."""


class Panels:
    """Present panels; call `poll` periodically, `change` on a person's request."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._given_up: dict[int, tuple[object, str]] = {}
        """Disabled panels by identity, with their source, since an identity is
        reused."""
        self._slow: dict[int, int] = {}

    def poll(self) -> tuple[PanelView, ...]:
        """Return the panels of the controller and of every active schema."""
        return tuple(self._views())

    def change(self, action: ChangeSetting) -> str:
        """Change a setting of the controller; return a text for the person.

        Raises:
            UnknownName: the panel has no such setting.
            BadInput: the controller has no settings, the value is invalid, or its code
                fails.
        """
        controller = self._setup.stiffness.controller
        name = controller.name
        taker: object = controller
        if not has_panel(controller) or not has_settings(taker):
            raise BadInput(
                f"controller {name} has no settings; choose another controller."
            )
        try:
            setting = check_panel(controller.panel()).setting(action.setting)
            value = setting.accept(action.value)
            taker.change_setting(setting.name, value)
        except TestbedError:
            raise
        except Exception as error:  # any exception of foreign code
            raise BadInput(
                f"controller {name} rejected {action.setting}: {_said(error)}"
            ) from error
        return f"{setting.name} of controller {name} is {value}"

    def _views(self) -> Iterator[PanelView]:
        setup = self._setup
        controller = setup.stiffness.controller
        name = controller.name
        if has_panel(controller):
            yield self._ask("controller", name, controller)
        for path in setup.schemas.paths:
            one = setup.schemas.instances.find(path)
            if one.is_awake and has_panel(one.schema):
                yield self._ask("schema", path, one.schema)

    def _ask(self, kind: str, name: str, source: PanelSource) -> PanelView:
        if id(source) in self._given_up:
            return PanelView(kind=kind, name=name, fault=self._given_up[id(source)][1])
        begin, computed = time.perf_counter(), time.thread_time()
        panel: Panel | None = None
        fault = ""
        try:
            panel = check_panel(source.panel())
        except Exception as error:  # noqa: BLE001  # whatever foreign code raises
            fault = _said(error)
        computed = time.thread_time() - computed
        took = time.perf_counter() - begin
        if computed > MAX_S or took > MAX_WAITING_S:
            times = self._slow[id(source)] = self._slow.get(id(source), 0) + 1
            if times >= MAX_SLOW or took > BLOCKED_S:
                panel = None
                fault = (
                    f"its panel computed for {1e3 * computed:.0f} ms and took "
                    f"{1e3 * took:.0f} ms, slow {times} of {MAX_SLOW} times; at most "
                    f"{1e3 * MAX_S:.0f} and {1e3 * MAX_WAITING_S:.0f} ms."
                )
        if fault:
            self._given_up[id(source)] = source, fault
        return PanelView(kind=kind, name=name, panel=panel, fault=fault)


def _said(error: Exception) -> str:
    text = ""
    with suppress(Exception):  # str() of a foreign error may raise
        text = str(error)[:200]
    return f"{type(error).__name__}: {text}"
