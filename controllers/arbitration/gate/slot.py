"""Commands of one slot of 10 ms, from their submission to the single write.

A slot is checked as a whole before anything is written, so a batch of commands is
written together or not at all. Every command and its end is an event; commands are
numbered in order of arrival over all gates of a ledger. Without listeners no event is
created.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nao_testbed.controllers.arbitration.events import (
    Commanded,
    Executed,
    MadeSafe,
    Rejected,
    Unshifted,
)
from nao_testbed.controllers.arbitration.gate.writers import DeviceWriter, Value
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.tokens import Refusal, Token
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.values import short

RequiredRights = Sequence[tuple[Token | None, Sequence[str]]]
"""Tokens, and the leaves that each must cover."""


@dataclass(slots=True, eq=False)
class Batch:
    """Commands that are written together or not at all."""

    rights: RequiredRights = ()
    """Further rights that must be valid, without a command."""
    is_strict: bool = False
    """True if any later command on one of its leaves breaks the batch."""
    tested: int = 0
    """Change count of the ledger at the last check."""
    is_broken: bool = False
    """True if one command was refused; then none is written."""
    refused: Rejected | None = None
    """Refused command, or refused use of a right; None: no refusal."""
    why: str = ""
    """Leaf that broke the batch, and the reason; empty while it is intact."""

    def break_by(self, rejected: Rejected) -> None:
        """Break the batch, so that none is written; the first refusal is the reason."""
        self.refused = self.refused or rejected
        self.is_broken = True
        self.why = self.why or f"{rejected.resource}: {rejected.reason}"


@dataclass(slots=True, eq=False, frozen=True)
class Displaced:
    """Command displaced on its line by a later one, if one of the two is in a batch.

    It is written if the later command is not.
    """

    token: Token
    value: Value | None
    command: int
    batch: Batch | None
    below: "Displaced | None"
    """Command that it displaced itself."""


def check_batch(parts: object, rights: object) -> None:
    """Check the form of a batch before any of it is accepted."""
    for part in _pairs(parts, "parts", "(token, {leaf: value})"):
        if not isinstance(part[1], Mapping) or not _are_texts(part[1]):
            raise BadInput(
                f"values of a batch are {short(part[1])}; give a mapping from the name "
                "of each leaf to its value."
            )
    for right in _pairs(rights, "rights", "(token, leaves)"):
        if not isinstance(right[1], Collection) or not _are_texts(right[1]):
            raise BadInput(
                f"leaves of a right are {short(right[1])}; give their names, a tuple."
            )


def _pairs(given: object, what: str, form: str) -> Sequence[tuple[object, object]]:
    if isinstance(given, list | tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 for pair in given
    ):
        return given
    raise BadInput(
        f"{what} of a batch are {short(given)}; give {form} of each, a list."
    )


def _are_texts(names: Collection[object]) -> bool:
    return not isinstance(names, str | bytes) and all(
        isinstance(name, str) for name in names
    )


def check_once(leaves: Sequence[str]) -> None:
    """Raise if a leaf appears twice in one batch."""
    if len(set(leaves)) == len(leaves):
        return
    twice = next(leaf for leaf, count in Counter(leaves).items() if count > 1)
    raise BadInput(
        f"leaf {twice!r} has two commands in one batch; give it one of them."
    )


class GateTrace:
    """Emitter of the events of one gate's commands."""

    __slots__ = ("_emits_commands", "_ledger", "_listeners")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._listeners = ledger.listeners
        self._emits_commands = ledger.cfg.tells_commands

    def is_read(self) -> bool:
        """True if events of written commands are emitted."""
        return self._emits_commands and bool(self._listeners)

    def commanded(
        self,
        token: Token | None,
        leaf: str,
        *,
        is_refused: bool = False,
        is_shift: bool = False,
    ) -> int:
        """Emit the arrival of a command; return its number."""
        number = self._ledger.next_command()
        if self._listeners and (self._emits_commands or is_refused):
            self._ledger.emit(
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
        """Emit the arrival and immediate refusal of a command."""
        number = self.commanded(token, leaf, is_refused=True, is_shift=is_shift)
        return self.rejected(number, token, leaf, reason)

    def rejected(
        self, command: int, token: Token | None, leaf: str, reason: Refusal
    ) -> Rejected:
        """Emit the rejection of a command; return it for its sender."""
        rejected = Rejected(
            tick=self._ledger.tick,
            command=command,
            token=None if token is None else token.id,
            resource=leaf,
            reason=reason,
        )
        self._ledger.emit(rejected)
        return rejected

    def executed(self, line: "Line", command: int, token: Token) -> None:
        """Emit the execution of a command."""
        ledger, leaf = self._ledger, line.name
        tick = ledger.tick
        ledger.emit(Executed(tick=tick, command=command, token=token.id, resource=leaf))

    def of_lines(
        self, event: type[Unshifted | MadeSafe], lines: Iterable["Line"]
    ) -> None:
        """Emit an event for some leaves, if there are any."""
        leaves = tuple(sorted(line.name for line in lines))
        if leaves and self._listeners:
            self._ledger.emit(event(tick=self._ledger.tick, leaves=leaves))


@dataclass(slots=True, eq=False)
class Line:
    """Connection from one leaf to its device, with the pending command."""

    name: str
    writer: DeviceWriter
    token: Token | None = None
    """Token of the pending command; None: no command."""
    value: Value | None = None
    command: int = 0
    """Number of the pending command."""
    tested: int = 0
    """Change count of the ledger when its token was checked."""
    batch: Batch | None = None
    below: Displaced | None = None
    """Command displaced by the pending one."""
    commander: Token | None = None
    """Token of the last written command; None after a safe set-point of the gate."""


class Slot:
    """At most one command per line: `take`, then `test_again`, then `put`."""

    __slots__ = ("_displaced", "_ledger", "_overlaps", "_queue", "_watched", "trace")

    def __init__(self, ledger: Ledger, trace: GateTrace) -> None:
        self._ledger = ledger
        self.trace = trace
        self._queue: list[Line] = []
        self._displaced: list[Rejected] = []
        self._overlaps = False
        """True if displaced commands may still be written."""
        self._watched: list[Batch] = []
        """Batches with rights without a command."""

    def take(
        self, line: Line, token: Token, value: Value | None, batch: Batch | None
    ) -> None:
        """Add an authorised command; it replaces an earlier one on its line.

        The earlier one ends: silently if its token is still valid, otherwise rejected.
        If a batch is involved, this is decided when the slot is written.
        """
        before = line.token
        if before is None:
            self._queue.append(line)
            line.below = None
        elif batch is not None or line.batch is not None:
            line.below = Displaced(
                before, line.value, line.command, line.batch, line.below
            )
            self._overlaps = True
        elif before != token:
            reason = self.reason(before, line.name)
            if reason is not None:
                self._displaced.append(self._reject(line, before, reason))
        line.token = token
        line.tested = self._ledger.changes
        line.value = value
        line.batch = batch
        line.command = self.trace.commanded(token, line.name)

    def take_all(
        self,
        commands: Sequence[tuple[Token | None, Line, Value | None]],
        rights: RequiredRights = (),
        *,
        is_strict: bool = False,
    ) -> Batch:
        """Take commands with accepted values, all or none, once they are authorised.

        Rights without a command are checked now and again before the slot is written.
        """
        authorise, take = self._ledger.authorise, self.take
        batch = Batch(rights, is_strict)
        for token, line, _ in commands:
            reason = authorise(token, line.name)
            if reason is not None:
                batch.break_by(self.trace.refused(token, line.name, reason))
                return batch
        if rights:
            self._test_rights(batch)
            self._watched.append(batch)
            if batch.is_broken:
                return batch
        for token, line, value in commands:
            if token is not None:  # None: authorised by no ledger
                take(line, token, value, batch)
        return batch

    def test_again(self) -> tuple[list[Line], list[Rejected]]:
        """Empty the slot; return the lines with valid tokens, and the refusals.

        The ledger is queried again unless it has not changed since the first check.
        """
        changes = self._ledger.changes
        queue, self._queue = self._queue, []
        rejected, self._displaced = self._displaced, []
        holding = []
        for line in queue:
            if line.tested == changes:
                holding.append(line)
                continue
            token = line.token
            reason = self.reason(token, line.name)
            if reason is None:
                holding.append(line)
            else:
                rejected.append(self._reject(line, token, reason))
                line.token = None
        watched, self._watched = self._watched, []
        for batch in watched:
            if batch.tested != changes and not batch.is_broken:
                refused = self._test_rights(batch)
                if refused is not None:
                    rejected.append(refused)
        if self._overlaps:
            self._overlaps = False
            holding = self._settle(queue, rejected)
        return holding, rejected

    def _settle(self, queue: list[Line], rejected: list[Rejected]) -> list[Line]:
        """Select the commands to be written among displaced ones; newest first.

        A broken batch returns its lines to the displaced commands. A strict batch that
        lost a line to a newer command is broken.

        Args:
            queue: lines of the slot, with their checked commands.
            rejected: receives displaced commands without a valid token.

        Returns:
            The lines with a command to be written.
        """
        parts: dict[Batch | int, list[tuple[Line, Displaced]]] = {}
        for line in queue:
            below = line.below
            if line.token is not None:
                top = Displaced(line.token, line.value, line.command, line.batch, None)
                parts.setdefault(top.batch or top.command, []).append((line, top))
            while below is not None:
                reason = self.reason(below.token, line.name)
                if reason is None:
                    key = below.batch or below.command
                    parts.setdefault(key, []).append((line, below))
                elif below.batch is None or not below.batch.is_broken:
                    told = self.trace.rejected(
                        below.command, below.token, line.name, reason
                    )
                    rejected.append(told)
                    if below.batch is not None:
                        below.batch.break_by(told)
                below = below.below
            line.token, line.below = None, None
        taken: list[Line] = []
        newest_first = sorted(parts, key=lambda one: -parts[one][0][1].command)
        for one in newest_first:
            batch = one if isinstance(one, Batch) else None
            lost = [line.name for line, _ in parts[one] if line.token is not None]
            if batch is not None and lost and batch.is_strict:
                batch.is_broken = True
                batch.why = batch.why or f"{lost[0]}: replaced by a later command"
            if batch is not None and batch.is_broken:
                continue
            for line, mine in parts[one]:
                if line.token is None:
                    line.token, line.value = mine.token, mine.value
                    line.command, line.batch = mine.command, batch
                    taken.append(line)
        return taken

    def put(self, holding: Iterable[Line]) -> dict[Line, Token]:
        """Put the values into the robot's command; return their tokens."""
        written = {}
        for line in holding:
            token, line.token = line.token, None
            if token is None or (line.batch is not None and line.batch.is_broken):
                continue
            line.writer.put(line.value)
            line.commander = written[line] = token
        return written

    def reason(
        self, token: Token | None, leaf: str, *, is_shift: bool = False
    ) -> Refusal | None:
        """Query the ledger about a leaf that was known when its command arrived.

        For a removed leaf: the end of the token, else NOT_COVERED.
        """
        ledger = self._ledger
        try:
            if is_shift:
                return ledger.authorise_shift(token, leaf)
            return ledger.authorise(token, leaf)
        except UnknownName:
            others = [ledger.authorise(token, x) for x in ledger.tree.all_leaves[:1]]
            ends = [x for x in others if x not in {None, Refusal.FROZEN}]
            return ends[0] if ends else Refusal.NOT_COVERED

    def _test_rights(self, batch: Batch) -> Rejected | None:
        """Break a batch if one of its rights is invalid, and emit the refusal.

        For a batch that is already broken nothing is emitted.
        """
        batch.tested = self._ledger.changes
        for token, leaves in batch.rights:
            for leaf in leaves:
                reason = self.reason(token, leaf)
                if reason is not None:
                    refused = self.trace.refused(token, leaf, reason)
                    batch.break_by(refused)
                    return refused
        return None

    def _reject(self, line: Line, token: Token | None, reason: Refusal) -> Rejected:
        """Refuse the pending command of a line, and break its batch."""
        rejected = self.trace.rejected(line.command, token, line.name, reason)
        if line.batch is not None:
            line.batch.break_by(rejected)
        return rejected
