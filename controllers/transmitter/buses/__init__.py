"""Internals of the transmitter: streams of a group start in one slot or not at all.

bus             buses, and the units that check their groups
group           received stream, and the group with which it starts
groups          table of all groups, and their state changes
slots           streams that start, send, pause and resume in a slot
"""
