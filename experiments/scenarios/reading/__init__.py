"""Reader of a file: a `Scenario`, or all errors, each with its line.

load                reads a file or a built-in scenario
scenario_file       root of the form, settings, JSON Schema
behaviours          schemas, parameters, owners, their requests
behaviour_checks    behaviours that can never act
contradictions      events and expectations that can never occur
"""
