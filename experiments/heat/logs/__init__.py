"""Logs of a robot as one record of columns, whoever wrote them.

signals        our names of columns, and their units
dialects.yaml  the names of other programs
columns        which columns are which signals
tables         rows and numbers of a file
bags           tables of ROS bags
record         columns in SI units, and their repairs
log            `read_log`
doubts         faults of clocks, units and sensors
log_columns    the command of this name
"""
