"""The resource manager: what it knows, who decides, and what callers see.

    state                        records, timers, trace, queue, holdings, resources
    granting, negotiation        who is granted, and who is asked to give way
    calls                        what happens before and after each call, and with time
    owner_calls, gate_calls, body_calls    calls by subject
    ledger                       what callers see: all of these, and requests
    snapshot, front              for callers that look, and for those that wait

`ledger_cfg` holds the rules. Each imports only from the lines above its own, or from
its own.
"""
