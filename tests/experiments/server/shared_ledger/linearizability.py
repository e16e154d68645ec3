"""Check whether a history of threads could come from a single thread.

Each operation has a begin, an end and a result. A history is linearizable if some order
of its operations keeps "ended before the other began" and gives each of them the result
that a small sequential model gives in that order. The search tries all of them.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from nao_testbed.controllers.arbitration.tokens import Refusal

LEAVES = ("ball", "HeadPitch", "HeadYaw")


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One call of one thread."""

    kind: Literal["request", "release", "command"]
    leaves: tuple[str, ...] = ()
    """Requested leaves, or the commanded leaf."""
    token: int = 0
    """Sequence number of the released token, or of the command's token."""
    begin: int
    end: int
    result: object
    """Request: the token's sequence number, 0 if denied. Release and
    command: None, or the reason for the refusal."""


class State(NamedTuple):
    """State of the sequential model; it has no queue, since no call waits."""

    holders: tuple[int, ...] = (0,) * len(LEAVES)
    """Sequence number of the token on each leaf; 0: free."""
    released: frozenset[int] = frozenset()
    issued: int = 0


def apply(operation: Operation, state: State) -> tuple[object, State]:
    """Return the result of an operation, and the state after it."""
    holders, released, issued = state
    places = [LEAVES.index(leaf) for leaf in operation.leaves]
    if operation.kind == "request":
        if any(holders[place] for place in places):
            return 0, state
        new = tuple(issued + 1 if i in places else h for i, h in enumerate(holders))
        return issued + 1, State(new, released, issued + 1)
    token = operation.token
    refusal = None
    if token > issued:
        refusal = Refusal.UNKNOWN
    elif token in released:
        refusal = Refusal.RELEASED
    if operation.kind == "command":
        is_held = refusal is None and holders[places[0]] == token
        return (None if is_held else refusal or Refusal.NOT_COVERED), state
    if refusal is not None:
        return refusal, state
    new = tuple(0 if h == token else h for h in holders)
    return None, State(new, released | {token}, issued)


def is_linearizable(history: list[Operation]) -> bool:
    """Search for an order that explains a history."""
    everything = (1 << len(history)) - 1

    @cache
    def can_go_on(done: int, state: State) -> bool:
        if done == everything:
            return True
        rest = [i for i in range(len(history)) if not done >> i & 1]
        first_end = min(history[i].end for i in rest)
        for i in rest:
            if history[i].begin > first_end:
                continue  # an operation that ended before its begin must come first
            result, after = apply(history[i], state)
            if result == history[i].result and can_go_on(done | 1 << i, after):
                return True
        return False

    return can_go_on(0, State())
