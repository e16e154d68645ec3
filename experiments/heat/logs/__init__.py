"""Logs of a robot as one record of columns, from a CSV or Parquet file or a run folder.

dialect   which columns are which signals, and their units
csv_file  rows and numbers of a CSV file
log       the record, and `read_log`
"""
