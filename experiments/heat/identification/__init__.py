"""The heating model from what was measured: a run folder or a CSV of temperatures.

    log = read_heat_log(Path("knee.csv"))
    for repair in log.repairs: ...  # what was wrong with the file, and what was done
    fit = fit_one_node(log.records)

csv_log   measured temperatures and currents from a CSV file
heat_log  rows put in order, repaired and cut into records; those of a run folder
identify  from a file or run to a fit, beside the robot's own constants
"""
