"""Reduction of motor heat below a torque limit by moving the set-points.

standing_problem  residual torques of given contact forces, and their joule loss
friction_cones    least squares over contact forces in round friction cones
least_loss        contact forces of minimum joule loss: compiled, with stuck gears, and
                  as a cone program for tests and studies
leg_relief        present forces at the soles, estimated from the motors' currents, and
                  forces of minimum loss
set_point_shift   shift of the set-points towards the desired torques
stillness         detection of a robot at rest, and of its loaded feet
minheat, nudge    the controllers
posture_search    search for the coolest posture near a desired one
"""
