"""The invariants I-23, I-24 and I-26 of what moves, as functions of the event trace.

They are judges as those of the reservations, and follow the same trace:

    checker = Checker((*JUDGES, *SYNC_JUDGES))

A trace without items (`LedgerCfg.tells_commands` is False) is judged by its starts and
ends alone.
"""

from nao_testbed.controllers.arbitration.invariants.trace_replay import InvariantJudge
from nao_testbed.controllers.transmitter.invariants.groups import Together
from nao_testbed.controllers.transmitter.invariants.independent_streams import (
    InState,
    Passing,
)

SYNC_JUDGES: tuple[type[InvariantJudge], ...] = (Together, Passing, InState)

__all__ = ["SYNC_JUDGES", "InState", "Passing", "Together"]
