"""What a scenario file may say about a run: conditions, events, expectations.

conditions      claims that are true or false after each slot; watched during a run
events          what a scenario does to its robot, at a time or after a condition
expectations    what is judged after the run, a verdict each
judge           what all expectations have, and how one is judged
setup           what events act on and expectations look at: robot, reservations,
                transmitter, schemas; pushes and the ground
lookup          what the parts of a file may name, and its clock, while it is read
facts           what is so in a slot and what happened in it: all that conditions see
listing         all that a file may name, for `nao-testbed scenario words`
"""
