"""Cooler than a torque limit makes it: set-points moved to where least heat is made.

standing_problem      the torques that contact forces leave over, and what they cost
least_loss            the contact forces of least joule loss; compiled
least_loss_reference  the same as a cone programme, for tests and studies
"""
