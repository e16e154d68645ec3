"""From a `Scenario` to a run, its verdicts and its folder.

runner          starts a run and goes from slot to slot
setup           robot, reservations, transmitter, schemas; pushes and the ground
triggers        what is so in a slot, the events that it triggers, what they do
verdicts        a judge an expectation
failures        what nobody asked about: failures, who never acted, broken invariants
trace_file      the trace: in memory, as hashes, as a file
result          what came of it, as JSON and as JUnit's XML
"""
