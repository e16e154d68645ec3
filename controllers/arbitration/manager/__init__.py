"""Resource manager: state, decisions and public calls.

    state                        records, timers, trace, queue, holdings, resources
    granting, negotiation        decisions on requests, and demands to holders
    calls                        frame around each call, and timers
    owner_calls, gate_calls, body_calls    calls by subject
    ledger                       public class: these calls, and requests
    snapshot, front              for viewers, and for waiting callers

`ledger_cfg` holds the rules. Each module imports only from its own line and those
above.
"""
