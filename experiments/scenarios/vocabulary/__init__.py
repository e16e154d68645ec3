"""Vocabulary of scenario files: conditions, events, expectations.

conditions      claims that are true or false after each slot; watched during a run
events          actions of the scenario on its robot, at a time or after a condition
expectations    criteria judged after the run, one verdict each
judge           base classes of expectations and of their judges
setup           what events act on and expectations read: robot, reservations,
                transmitter, schemas; pushes and the ground
lookup          known names and the clock, used while a file is read
facts           state and events of one slot: the input of conditions
listing         all names that a file may use, for `nao-testbed scenario words`
"""
