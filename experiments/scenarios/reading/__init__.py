"""From a file to a `Scenario`, or to all its errors, each with its line.

load                reads a file, and knows the builtin ones
scenario_file       the root of the form, its settings, its JSON Schema
behaviours          schemas, parameters, owners, their requests
behaviour_checks    behaviours that can never act
contradictions      events and expectations that can never occur
"""
