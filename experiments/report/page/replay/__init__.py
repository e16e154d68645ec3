"""The 3-D replay of a page: the robot's shapes, moved as they were recorded.

    clothe -> pose_robot -> build_replay

The base is where the simulator recorded it. In older recordings it is worked out from
accelerometer, gyroscope and ground, and the page says so.
"""
