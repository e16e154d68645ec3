"""Search for the coolest posture near a desired one that stays balanced.

search_space     options and limits, and the movable joints, mirrored pairs as one
stance           soles on the ground, the support, links that must not touch
posture_problem  loss, constraints and their derivatives
search           the search and its result
"""
