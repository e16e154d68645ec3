"""A robot under control: the loop, its recording, trials.

loop                one robot under one controller that holds a posture
controller_failure  errors of controllers, with their place
recording           contents of a run's folder
robot_source        a simulator or a recording, by configuration
trial               one robot under one controller from start to end
fast_forward        heat without physics while the robot stands still
"""
