"""The heating model from what was measured: a run folder, or a file of temperatures.

    log = heat_log_of_file(read_log(Path("knee.csv")))
    for repair in log.repairs: ...  # what was wrong with the file, and what was done
    fit = fit_one_node(log.records)

heat_log  one motor of a log: rows put in order, repaired and cut into records
identify  from a file or run to a fit, beside the robot's own constants
"""
