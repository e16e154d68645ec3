"""Inside of the transmitter: streams of a group start in one slot, or not at all.

group           a stream on its way, what plays together, its events and its end
bus             buses, the points that they share, and the groups that wait before them
running         admission of streams; one item in a slot of each that runs
starting        what starts when: independent streams, groups, interrupts
"""
