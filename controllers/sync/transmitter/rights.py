"""Whether a stream's token covers all its leaves."""

from collections.abc import Collection

from controllers.arbitration.manager.ledger import Ledger
from controllers.sync.streams.stream import Stream
from models import UnknownName


def lost_right(ledger: Ledger, stream: Stream, lent: Collection[str] = ()) -> str:
    """Return which leaf a stream may not command now, and why; empty: none.

    Args:
        ledger: knows.
        stream: with its token.
        lent: leaves that it need not have now: its token recalls them in time (SY-27).
    """
    for leaf in stream.leaves:
        try:
            reason = ledger.authorise(stream.token, leaf)
        except UnknownName:  # it was removed from the list of resources
            return f"{leaf}: not known any more"
        if reason is not None and leaf not in lent:
            return f"{leaf}: {reason}"
    return ""
