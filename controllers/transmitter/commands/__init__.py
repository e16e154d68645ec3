"""From a command to its output commands, at the right moment.

command_controller      takes orders
order                   what an order puts out, what its sender keeps, how it goes on
admission               the way to where it begins, and the right to all of it
issuing                 the right moment
joining                 orders that follow each other: what they lend, how they end
converter               motion, light and sound become streams, after some time
"""
