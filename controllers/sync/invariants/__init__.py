"""The invariants I-23 and I-24 of the transmitter, as functions of the event trace.

They are judges as those of the reservations, and follow the same trace:

    checker = Checker((*JUDGES, *SYNC_JUDGES))

A trace without items (`LedgerCfg.tells_commands` is False) is judged by its starts and
ends alone.
"""

from controllers.resources.invariants.seam import Judge
from controllers.sync.invariants.passing import Passing
from controllers.sync.invariants.together import Together

SYNC_JUDGES: tuple[type[Judge], ...] = (Together, Passing)

__all__ = ["SYNC_JUDGES", "Passing", "Together"]
