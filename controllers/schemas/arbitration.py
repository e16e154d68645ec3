"""Which of several children that are ready wins (JD-7).

The paper leaves the rule open; a parent may have one of its own. These two are there
for all.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

Arbitration = Callable[[Sequence[str], str | None], str | None]
"""Takes the names of those that are ready, the highest rank first, and the present
winner if it is among them; returns one of them, or None for nobody."""


def keep_winner(ready: Sequence[str], present: str | None) -> str | None:
    """Let the present winner stay as long as it is ready, else take the highest."""
    return present if present is not None else highest_order(ready, present)


def highest_order(ready: Sequence[str], present: str | None) -> str | None:
    """Take the highest rank that is ready: it subsumes those below."""
    del present
    return ready[0] if ready else None


ARBITRATIONS: Mapping[str, Arbitration] = MappingProxyType(
    {"keep_winner": keep_winner, "highest_order": highest_order}
)
"""Name to rule, as a scenario names it."""
