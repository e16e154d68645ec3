"""The heat experiment: a robot with the controller beside one without, as published."""
