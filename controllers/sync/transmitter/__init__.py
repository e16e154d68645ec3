"""The transmitter: streams of a group start in one slot, or not at all.

transmitter             the whole; transmitter_cfg its settings
admission, rights       which streams are received
waiting_groups (shared_points, bus_unit, bus_permit), starts     until they start
running, interrupts, endings    what runs, pauses and ends
sync_tag, receipt, words        what senders give and get
trace, teller           what happened
member                  a stream on its way, inside
"""
