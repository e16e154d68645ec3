"""Closed loop of robot and controller, its recording, and trials.

loop                one robot under one controller that holds a posture
controller_failure  errors of controllers, with file and line
recording           contents of a run's folder
robot_source        a simulator or a recording, by configuration
trial               one robot under one controller from start to end
fast_forward        integration of heat without physics while the robot stands still
"""
