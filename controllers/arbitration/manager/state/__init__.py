"""State of one ledger, each part with the functions that change it.

    records      owners, reservations, requests and leaves
    leaves       exclusive, cumulative and state leaves, and their conflicts
    consent      leaf of a torque limit: consent to limit motors of other holders
    timers       present tick, and calls scheduled at later ticks
    trace        events and listeners
    queue        waiting requests
    holdings     owners, reservations, and live and ended tokens
    resources    tree of names, and the leaves

Each module imports only from those above.
"""
