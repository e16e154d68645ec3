"""Scenarios: named situations with pass criteria, as YAML files.

    file -- form -- reading --> plan -- playing --> run, verdicts, run folder

The files beside this one are those that ship; `shipped` finds them.
"""
