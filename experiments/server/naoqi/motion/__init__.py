"""Names of joints, curves of angles, and the engine that moves joints."""
