"""A tool that finds the coolest posture near a wanted one that keeps its balance.

cfg, result     what is asked for, and what was found
problem         loss, constraints and their slopes, of
variables         the joints that may move,
stance            soles on the ground and what carries the robot,
clearance         links that must not touch,
mirror            postures that are their own mirror image
search          the search
"""
