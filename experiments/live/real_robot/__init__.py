"""`nao-testbed naoqi run`: one of our controllers on a robot, real or simulated.

`supervisor` ends a run when the robot or the connection is not as it should be;
`naoqi_source` is where the robot comes from; `recording` keeps what the sensors said;
`run_robot` runs and ends it.
"""
