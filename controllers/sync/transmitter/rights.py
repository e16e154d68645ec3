"""Whether a stream's token covers all its leaves."""

from controllers.resources.ledger import Ledger
from controllers.sync.streams.stream import Stream
from models import UnknownName


def lost_right(ledger: Ledger, stream: Stream) -> str:
    """Return which leaf a stream may not command now, and why; empty: none."""
    for leaf in stream.leaves:
        try:
            reason = ledger.authorise(stream.token, leaf)
        except UnknownName:  # it was removed from the list of resources
            return f"{leaf}: not known any more"
        if reason is not None:
            return f"{leaf}: {reason}"
    return ""
