"""Cooler than a torque limit makes it: set-points moved to where least heat is made.

standing_problem      the torques that contact forces leave over, and what they cost
least_loss            the contact forces of least joule loss; compiled
least_loss_with_gears the same when stuck gears bear a part: nobody gets below
least_loss_reference  the same as a cone programme, for tests and studies
present_forces        the forces at the soles now, from the motors' currents
set_point_shift       how a shift follows the torques that are wanted
stillness             whether the robot stands still, and on which feet
minheat, nudge        the controllers
posture_search        the coolest posture near a wanted one
"""
