"""The resource manager: its records, the moves that change them, and who decides.

    records, leaves         owners, reservations, requests; who is in whose way
    state                   all that a ledger knows, its configuration and timers
    resolve, queue, holdings, inventory    from names to leaves; wait; hold; come and go
    granting, negotiation   who is granted, and who is asked to give way
    ledger                  what callers see
    front                   for callers that wait; `take_snapshot` for those that look

Each imports only from the lines above its own, or from its own.
"""
