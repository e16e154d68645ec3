"""`nao-testbed posture-search`: the coolest posture near a wanted one.

command      the command line; run_command does it
robot_folder a copy of a robot's folder that knows one posture more
trial        stand postures in the simulation
report       tables and JSON of what was found
"""
