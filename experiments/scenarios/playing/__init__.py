"""Execution of a `Scenario`: run, verdicts and run folder.

runner          execution of a run, slot by slot
triggers        facts of a slot, and the events that they trigger
failures        failures, behaviours that never acted, broken invariants
trace_file      trace in memory, as hashes, and as a file
result          the result of a run, as JSON and as JUnit XML
"""
