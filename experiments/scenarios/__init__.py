"""Scenarios: named situations with pass criteria, as YAML files."""
