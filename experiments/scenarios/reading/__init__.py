"""From a file to a `Scenario`, or to all that is wrong in it, each with its line.

load                reads a file, and knows the builtin ones
scenario_file       the root of the form, its settings, its JSON Schema
behaviours          schemas, parameters, owners, what they ask for
behaviour_checks    behaviours that nothing could come of
contradictions      events and expectations that could never be
"""
