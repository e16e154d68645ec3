"""From a `Scenario` to a run, its verdicts and its folder.

runner          starts a run and executes it slot by slot
triggers        facts of a slot, and the events that they trigger
failures        failures, behaviours that never acted, broken invariants
trace_file      the trace: in memory, as hashes, as a file
result          the result of a run, as JSON and as JUnit XML
"""
