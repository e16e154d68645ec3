"""Effectors in synchrony: from a command to what each device gets in each slot.

    command -- command controller -- converters -- transmitter -- gate -- devices

A command of the library becomes output commands for motion, light and sound; the
converters make streams of them; the transmitter lets the streams of a group start in
one slot [CN1396856, fig. 17].

orders          command controller and converters
streams         what a motion, a light and a sound put out
transmitter     plays streams, each group in one slot
invariants      judges of the trace
"""
