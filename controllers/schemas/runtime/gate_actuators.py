"""Actuators of schemas on a robot: the gate and the command controller."""

# ruff: noqa: D102  # documented in `Actuators`

from collections.abc import Mapping

from nao_testbed.controllers.arbitration.events import Rejected
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.gate.writers import Value
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.schemas.actuators import NotStarted, Playing
from nao_testbed.controllers.transmitter.commands.order import OutputSet, PlacedOrder
from nao_testbed.controllers.transmitter.commands.pipeline import (
    CommandController,
)
from nao_testbed.models.library import LightPattern, Motion, Sound


class GateActuators:
    """Actuators that send values to the gate, and orders to the command controller."""

    def __init__(self, gate: Gate, commands: CommandController, ledger: Ledger) -> None:
        """Create actuators for a gate and a command controller.

        Args:
            gate: gate of the robot.
            commands: command controller of the same gate.
            ledger: ledger of both; it counts the slots.
        """
        self._gate = gate
        self._commands = commands
        self._ledger = ledger

    def submit(self, token: Token | None, leaf: str, value: Value) -> Rejected | None:
        return self._gate.submit(token, leaf, value)

    def submit_all(
        self, token: Token | None, values: Mapping[str, Value]
    ) -> Rejected | None:
        return self._gate.submit_all(token, values)

    def play(self, token: Token | None, motion: str | Motion, tick: int) -> Playing:
        """Play a motion from the present position, without a way to its start."""
        if isinstance(motion, str):
            motion = self._commands.library.motion(motion)
        return self._place(OutputSet(name=motion.name, motion=motion), token, tick)

    def light(
        self, token: Token | None, pattern: str | LightPattern, tick: int
    ) -> Playing:
        if isinstance(pattern, str):
            pattern = self._commands.library.light(pattern)
        return self._place(OutputSet(name=pattern.name, light=pattern), token, tick)

    def sound(self, token: Token | None, sound: str | Sound, tick: int) -> Playing:
        if isinstance(sound, str):
            sound = self._commands.library.sound(sound)
        return self._place(OutputSet(name=sound.name, sound=sound), token, tick)

    def command(
        self, token: Token | None, name: str, tick: int, group: str | None = None
    ) -> Playing:
        if token is None:
            return NotStarted("it has no token")
        handle = self._commands.submit(name, token, tick, group=group)
        return _OrderView(handle, self._commands, self._ledger)

    def interrupt(self, token: Token | None, name: str, tick: int) -> Playing:
        if token is None:
            return NotStarted("it has no token")
        handle = self._commands.interrupt(name, token, tick)
        return _OrderView(handle, self._commands, self._ledger)

    def _place(self, outputs: OutputSet, token: Token | None, tick: int) -> Playing:
        if token is None:
            return NotStarted("it has no token")
        handle = self._commands.submit(outputs, token, tick, prepares=False)
        return _OrderView(handle, self._commands, self._ledger)


class _OrderView:
    """View of an order for its schema."""

    __slots__ = ("_commands", "_handle", "_ledger")

    def __init__(
        self, handle: PlacedOrder, commands: CommandController, ledger: Ledger
    ) -> None:
        self._handle = handle
        self._commands = commands
        self._ledger = ledger

    @property
    def is_over(self) -> bool:
        """True if no further part of it will be sent.

        An order deleted during its initial motion ends with that motion, since the
        robot must not stop between two postures.
        """
        handle = self._handle
        initial = handle.initial
        return handle.is_over and (initial is None or initial.is_over)

    @property
    def has_failed(self) -> bool:
        """True if the order ended before its completion."""
        return self.is_over and self._handle.has_failed

    @property
    def reason(self) -> str:
        """Reason of the failure, or ""."""
        if not self._handle.has_failed:
            return ""
        handle = self._handle
        why = handle.refused or handle.reason
        return f"{why}: {handle.detail}" if handle.detail else str(why)

    def end(self) -> None:
        """Cancel the order."""
        self._commands.withdraw(self._handle, self._ledger.tick)
