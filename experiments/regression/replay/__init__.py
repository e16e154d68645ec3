"""Replays of recordings: a controller's answers to recorded observations.

observations  logs as recordings that can be replayed
answers       answers of a controller to a recording
tables        differences between answers
replay        the command of this name
"""
