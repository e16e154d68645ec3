"""A tool that finds the coolest posture near a wanted one that keeps its balance.

search_space     what is asked for: limits, and the joints that may move, mirrored ones
                 as one
stance           soles on the ground, what carries the robot, links that must not touch
posture_problem  loss, constraints and their slopes
search           the search, and what it found
"""
