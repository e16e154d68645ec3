"""The one room that speaks to PyBullet: a world, a ground, a robot."""
