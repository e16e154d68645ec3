"""3-D replay of recorded robots, and the robot figures that a live page also uses."""
