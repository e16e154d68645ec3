"""Inside of the transmitter: streams of a group start in one slot, or not at all.

bus             buses, and who watches the groups before them
group           a stream on its way, and the group with which it starts
groups          the table of all groups, in which their states change
slots           what starts, goes out, pauses and goes on in a slot
"""
