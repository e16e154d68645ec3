"""Robot shared by several behaviours through reservations.

robot_with_ledger  the robot, its ledger, its gate and the sequence of a slot
behaviours         the list of behaviours, and the owner of the stiffness
"""
