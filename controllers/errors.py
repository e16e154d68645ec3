"""Errors that the controllers add to those of the models."""

from models import TestbedError


class SensorError(TestbedError):
    """An observation holds a value that no sensor can mean; the run must stop."""

    def __init__(self, field: str, index: int, value: float, time_s: float) -> None:
        """Name the `field` of the observation, the place in it and the value."""
        self.field = field
        self.index = index
        self.value = value
        self.time_s = time_s
        super().__init__(
            f"{field}[{index}] is {value} at t = {time_s:.3f} s; controllers need "
            "finite sensor values. Check that sensor, or stop the robot."
        )
