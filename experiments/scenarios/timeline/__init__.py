"""Timeline of a scenario: who holds and waits, what goes out, how warm it gets.

spans    what it shows, taken from the trace: holders, waiters, streams
rows     rows of bars, their names and colours
figure   the whole figure, and its files in the run folder
holding_story  the parameters of the notebook that shows it
waits    how long each request waited, in numbers and as a figure
"""
