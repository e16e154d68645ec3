"""The invariants I-1 to I-22 and I-27, as functions of the event trace.

A replay rebuilds who holds and who waits from the trace alone. One table of rules
(`JUDGES`) looks at every event before or after it takes effect; what holds only when a
call is done is judged at its `Settled`, by what the replay noted since the last one.

What takes more than one trace is left to tests, with `trace_hash` as the tool: the
order of naming (I-5), the guessing of secrets (I-13), the device log beside the trace
(I-14), and that all requests end when all holders do (I-21).
"""

from nao_testbed.controllers.arbitration.invariants.checker import (
    JUDGES,
    Checker,
    check,
    trace_hash,
)
from nao_testbed.controllers.arbitration.invariants.trace_replay import Violation

__all__ = ["JUDGES", "Checker", "Violation", "check", "trace_hash"]
