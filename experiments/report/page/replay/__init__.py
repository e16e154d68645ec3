"""The 3-D replay of a page: the robot's shapes, moved as they were recorded.

    clothe -> pose_robot -> build_replay

What no recording holds is worked out and told: the base pose from the accelerometer,
the gyroscope and the ground, the shapes from the robot's URDF.
"""
