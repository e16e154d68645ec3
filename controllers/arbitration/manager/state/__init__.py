"""What one ledger knows, each part with the functions that change it.

    records      owners, reservations, requests, and the leaf at which they meet
    leaves       exclusive, cumulative, state: who is in whose way
    consent      the leaf of a torque limit: who may limit what others hold
    timers       the present tick, and what is due at later ones
    trace        events, and the listeners that are told them
    queue        requests that wait
    holdings     who holds what; tokens, live and ended
    resources    the tree of names, and a leaf for each of its leaves

Each imports only from the lines above its own.
"""
