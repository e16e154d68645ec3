"""State of one ledger; each part has the functions that change it.

    records      owners, reservations, requests, and the leaf at which they meet
    leaves       exclusive, cumulative and state leaves, and their conflicts
    consent      leaf of a torque limit: consent to limit motors of other holders
    timers       present tick, and calls due at later ones
    trace        events and listeners
    queue        waiting requests
    holdings     owners and reservations; live and ended tokens
    resources    tree of names, and the leaves

Each module imports only from those above.
"""
