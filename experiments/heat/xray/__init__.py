"""Causes of the heat of a standing robot, from a log of its sensors.

    nao-testbed xray LOG

standing        last stretch of still standing: means of its sensors
standing_model  sole forces and angle errors that explain these means
suspects        misaligned joints: hypotheses, their evidence, intervals
verdict         partition of the hypotheses, for sentence, table and figure
losses          needed and useless watts, internal wrench, saving by a set-point
advice          cooler stance near that of the log
xray            complete analysis, and the contract of `--json`
results         sentences, tables, figure
run_xray        the command
trials          robots with known errors, for its success rate
"""
