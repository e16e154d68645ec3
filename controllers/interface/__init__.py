"""What controllers and robots say to each other; below all else in `controllers`.

robot_interface   observation, command, LEDs and sound, the robot behind them, and the
                  check of every command
controller        what a controller is and decides, what it asks for before it computes,
                  and the two plainest ones
sole_writer       one writer a robot, the loop or the gate of the reservations
panel             what a controller or a schema shows of itself on a page
"""
