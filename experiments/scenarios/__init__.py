"""Scenarios: named situations with pass criteria, as YAML files.

file -- reading --> Scenario -- playing --> run, verdicts, run folder

vocabulary  conditions, events, expectations: the words of a file, one module each
reading     from a file to a `Scenario`, or to all its errors with their lines
scenario    input of the runner: every name resolved, every time a whole slot
playing     one run: slot by slot, judged continuously
timeline    the figure of a run
builtin     the scenarios that come with the testbed (data)
"""
