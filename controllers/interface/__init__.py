"""Interface between controllers and robots; the lowest layer of `controllers`.

robot_interface   observation, command, LEDs and sound, and the check of every command
controller        the controller interface, checks of its inputs, and two baselines
sole_writer       single writer per robot: the loop or the gate of the reservations
panel             display of a controller or a schema on a page
"""
