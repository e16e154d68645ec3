"""Video of a run: robots in 3-D, their temperatures, and the sound."""
