"""Logs of a robot as one record of columns, whoever wrote them.

signals        our names of columns, and their units
dialects.yaml  the names of other programs
columns        which columns are which signals
tables         rows and numbers of a file
log            the record, and `read_log`
"""
