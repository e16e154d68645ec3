"""Timeline of a scenario: who holds and waits, what goes out, how warm it gets.

spans    what it shows, taken from the trace: holders, waiters, streams
canvas   rows of bars, and their colours
panels   outputs, temperatures, marks of events, axes and titles
figure   the whole figure, its files in the run folder, and the figure of waits
"""
