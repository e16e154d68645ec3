"""The controller again on the sensor values of a recorded run."""
