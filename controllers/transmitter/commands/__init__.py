"""From a command to its output commands, at the right moment.

command_controller      takes orders, and ends them
order                   what a command puts out, and the order: a command on its way
admission               the way to where it begins, and the right to all of it
issuing                 the right moment, and the way through the converters
lending                 what orders lend until their turn
converter               motion, light and sound become streams, after some time
"""
