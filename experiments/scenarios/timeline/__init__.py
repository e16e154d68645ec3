"""Timeline of a scenario: holders, waiters, outputs and temperatures.

spans    intervals from the trace: holders, waiters, streams
rows     rows of bars, their names and colours
figure   the whole figure, and its files in the run folder
holding_story  parameters of the notebook about holders
waits    waiting time of each request, in numbers and as a figure
"""
