"""A robot that several behaviours share, by reservations.

robot_with_ledger  the robot, its ledger, its gate and what is called in every slot
behaviours         the list of what is called, and the owner of the stiffness
"""
