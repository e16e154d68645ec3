"""From a `Scenario` to a run, its verdicts and its folder.

runner          starts a run and goes from slot to slot
triggers        what is so in a slot, and the events that it triggers
failures        what nobody asked about: failures, who never acted, broken invariants
trace_file      the trace: in memory, as hashes, as a file
result          what came of it, as JSON and as JUnit's XML
"""
