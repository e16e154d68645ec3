"""Synchronous command transmitter: from a command to device values in each slot.

    command -- command controller -- converters -- transmitter -- gate -- devices

A command of the library becomes output commands for motion, light and sound; the
converters turn them into streams; the transmitter starts the streams of a group in one
slot [CN1396856, fig. 17].

commands        command controller and converters
streams         outputs of motions, lights and sounds, one item per slot
transmitter     starts the streams of a group in one slot; buses: its internals
speech          voices that turn text into samples
receipt         tag and receipt of a stream, and its states and end reasons
events          events of the trace
"""
