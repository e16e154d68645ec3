"""A video of a run: the robots in 3-D, their temperatures beside them, its sound."""
