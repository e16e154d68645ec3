"""Scenarios: named situations with pass criteria, as YAML files.

file -- reading --> Scenario -- playing --> run, verdicts, run folder

vocabulary  conditions, events, expectations: what a file may say, one module each
reading     from a file to a `Scenario`, or to all that is wrong in it, with its line
scenario    what the runner gets: every name known, every time a whole slot
playing     one run: slot by slot, judged as it goes on
timeline    the figure of a run
builtin     the scenarios that come with the testbed (data)
"""
