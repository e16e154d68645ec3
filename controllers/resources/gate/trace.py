"""What the gate tells: every command that came, and how it ended.

Commands are numbered in the order in which they come to all gates of a ledger. Where
nobody listens no event is made.
"""

from collections.abc import Collection, Iterable

from controllers.resources.ledger import Ledger
from controllers.resources.tokens import Token
from controllers.resources.trace import (
    Commanded,
    Event,
    Executed,
    LeftOut,
    MadeSafe,
    Rejected,
    Unshifted,
)
from controllers.resources.words import Refusal


class GateTrace:
    """Tells the ledger's listeners of the commands of one gate."""

    __slots__ = ("_ledger", "_listeners", "_tells_all")

    def __init__(self, ledger: Ledger) -> None:
        """Tell on behalf of one gate."""
        self._ledger = ledger
        self._listeners = ledger.listeners
        self._tells_all = ledger.cfg.tells_commands

    def is_read(self) -> bool:
        """Whether anybody is told of commands that are written."""
        return self._tells_all and bool(self._listeners)

    def commanded(
        self,
        token: Token | None,
        leaf: str,
        *,
        is_refused: bool = False,
        is_shift: bool = False,
    ) -> int:
        """Tell that a command has come; return its number."""
        number = self._ledger.next_command()
        if self._listeners and (self._tells_all or is_refused):
            self._emit(
                Commanded(
                    tick=self._ledger.tick,
                    command=number,
                    token=None if token is None else token.id,
                    is_genuine=self._ledger.is_genuine(token),
                    resource=leaf,
                    is_shift=is_shift,
                )
            )
        return number

    def refused(
        self,
        token: Token | None,
        leaf: str,
        reason: Refusal,
        *,
        is_shift: bool = False,
    ) -> Rejected:
        """Tell that a command has come and is refused at once."""
        number = self.commanded(token, leaf, is_refused=True, is_shift=is_shift)
        return self.rejected(number, token, leaf, reason)

    def rejected(
        self, command: int, token: Token | None, leaf: str, reason: Refusal
    ) -> Rejected:
        """Tell that a command is refused; return it for its sender."""
        rejected = Rejected(
            tick=self._ledger.tick,
            command=command,
            token=None if token is None else token.id,
            resource=leaf,
            reason=reason,
        )
        self._emit(rejected)
        return rejected

    def executed(self, command: int, token: Token, leaf: str) -> None:
        """Tell that a command was written."""
        tick = self._ledger.tick
        self._emit(Executed(tick=tick, command=command, token=token.id, resource=leaf))

    def left_out(self, command: int, motors: Iterable[str]) -> None:
        """Tell that a limit, told next as written, is none of these motors'."""
        tick, leaves = self._ledger.tick, tuple(sorted(motors))
        self._emit(LeftOut(tick=tick, command=command, leaves=leaves))

    def unshifted(self, leaves: Collection[str]) -> None:
        """Tell that the shift of leaves is taken back."""
        if leaves and self._listeners:
            tick = self._ledger.tick
            self._emit(Unshifted(tick=tick, leaves=tuple(sorted(leaves))))

    def made_safe(self, leaves: Iterable[str]) -> None:
        """Tell that leaves got their safe set-point."""
        if self._listeners:
            tick = self._ledger.tick
            self._emit(MadeSafe(tick=tick, leaves=tuple(sorted(leaves))))

    def _emit(self, event: Event) -> None:
        self._ledger.tell(event)
