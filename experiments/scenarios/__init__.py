"""Scenarios: named situations with pass criteria, as YAML files.

file -- reading --> Scenario -- playing --> run, verdicts, run folder

vocabulary  conditions, events and expectations of a file, one module each
reading     from a file to a `Scenario`, or to all errors with their lines
scenario    input of the runner, with resolved names and times in slots
playing     execution of a run, slot by slot, and its verdicts
timeline    the figure of a run
builtin     built-in scenarios (data)
"""
