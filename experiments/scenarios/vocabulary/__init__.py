"""What a scenario file may say about a run: conditions, events, expectations.

conditions      claims that are true or false after each slot; watched during a run
events          what a scenario does to its robot, at a time or after a condition
expectations    what is judged after the run, a verdict each
lookup          what the parts of a file may name, and its clock, while it is read
facts           what is so in a slot and what happened in it: all that conditions see
listing         all that a file may name, for `nao-testbed scenario words`
"""
