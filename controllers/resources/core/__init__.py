"""Inside the ledger: its records, the moves that change them, and who decides.

    leaf, exclusive_leaf, cumulative_leaf, state_leaf    who is in whose way
    records, book, timers                                 what is held and waited for
    waiting_list, holdings, lives, resource_list          the moves
    granting, demands, deadlock, body_states              the decisions
    calls                                                 time, and what ends each call

Each imports only from the lines above its own, or from its own.
"""
