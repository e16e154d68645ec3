"""Trace rules for users' tests.

    assert not check_trace(events)

`controllers/trace_rules/` lists the eight rules.
"""

from nao_testbed.controllers.trace_rules import (
    TraceChecker,
    Violation,
    check_trace,
    trace_hash,
)

__all__ = ["TraceChecker", "Violation", "check_trace", "trace_hash"]
