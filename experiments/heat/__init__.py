"""Heat experiment: a robot with the controller and one without, as published."""
