"""How a heat experiment is shown: tables, figures, robot picture, section of a page.

tables                   key numbers, and the tables for terminal and page
temperatures, joints     the figures; temperatures also writes those of a run folder
shapes, drawing          a robot as meshes, and what a camera sees of it, by no engine
robot_view, robot_picture  the robots side by side, joints coloured by temperature
section                  all of it for a page
"""
