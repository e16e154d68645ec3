"""Cooler than by a torque limit: set-points moved to where least heat is made.

standing_problem  the torques that contact forces leave over, and what they cost
friction_cones    least squares over contact forces in round friction cones
least_loss        the contact forces of least joule loss: compiled, with stuck gears,
                  and as a cone programme for tests and studies
leg_relief        the forces at the soles now, by the motors' currents, and those of
                  least loss
set_point_shift   how a shift follows the torques that are wanted
stillness         whether the robot stands still, and on which feet
minheat, nudge    the controllers
posture_search    the coolest posture near a wanted one
"""
