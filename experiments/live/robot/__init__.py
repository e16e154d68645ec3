"""Robot in real time, in its own process, and its operator."""
