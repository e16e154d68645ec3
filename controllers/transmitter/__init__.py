"""Synchronous command transmitter: from a command to what devices get in each slot.

    command -- command controller -- converters -- transmitter -- gate -- devices

A command of the library becomes output commands for motion, light and sound; the
converters make streams of them; the transmitter lets the streams of a group start in
one slot [CN1396856, fig. 17].

commands        command controller and converters
streams         what a motion, a light and a sound put out, one item a slot
transmitter     starts the streams of a group in one slot; buses is the inside of it
receipt         tag and receipt of a stream, and the words for its states and ends
events          what the trace is told
"""
