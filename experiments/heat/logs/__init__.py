"""Logs of a robot, from any program, as one record of columns.

signals        our names of columns, and their units
dialects.yaml  the names of other programs
columns        assignment of columns to signals
tables         tables of Parquet, JSON and data sets
csv_tables     tables of CSV files
bags           tables of ROS bags
record         columns in SI units, and their repairs
log            `read_log`
doubts         faults of clocks, units and sensors
sensor_checks  required columns, and their units
log_columns    the command of this name
"""
