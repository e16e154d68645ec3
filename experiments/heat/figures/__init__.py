"""Presentation of a heat experiment: tables, figures, robot picture, page section.

tables                   key numbers, and the tables for terminal and page
temperatures, joints     the figures; temperatures also writes those of a run folder
shapes, drawing          a robot as meshes, rendered without an engine
robot_view, robot_picture  the robots side by side, joints coloured by temperature
section                  all of it for a page
"""
