"""Identification of the heating model from a run folder or a file of temperatures.

    log = heat_log_of_file(read_log(Path("knee.csv")))
    for repair in log.repairs: ...  # defects of the file, and their repair
    fit = fit_one_node(log.records)

heat_log  one motor of a log: rows sorted, repaired and divided into records
identify  fit of a file or run, compared with the robot's constants
"""
