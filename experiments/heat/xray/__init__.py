"""Where the heat of a standing robot comes from, read from a log of its sensors.

    nao-testbed xray LOG

sensor_checks   the columns of a log that it needs, in their units, or why not
standing        the last stretch in which the robot stood still: means of its sensors
standing_model  forces at the soles and errors of the angles that explain these means
suspects        which joint is off: hypotheses, their evidence, intervals
losses          needed and useless watts, internal wrench, what a set-point would save
xray            all of it, and the contract of `--json`
drawing         tables and figure
run_xray        the command
trials          robots with known errors, to see how often it is right
"""
