"""Exports of recorded runs: MCAP for Foxglove and PlotJuggler, CSV, Rerun.

exported    a run as every format takes it: arrays in time, transforms, diagnostics
ros_types   the definitions of the ROS 2 messages in an MCAP file
formats     one writer a format
command     `nao-testbed export`
"""
