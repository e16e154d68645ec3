"""Streams: what one output command puts out, one item in each slot.

stream                  what the transmitter plays, and what it tells of itself
motion_stream (trajectory), light_stream, sound_stream
stream_maker            makes them; effector_leaves: for the leaves of a robot
"""
