"""Command `nao-testbed naoqi run`: a controller on a robot, real or simulated.

`supervisor` stops a run on a fault of the robot or the connection; `naoqi_source`
connects to the robot; `recording` stores the sensor values; `run_robot` runs and ends
it.
"""
