"""Names of joints, curves of angles, and the motion engine."""
