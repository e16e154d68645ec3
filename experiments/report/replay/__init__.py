"""The 3-D replay of recorded robots, and the figures that a live page shows too."""
