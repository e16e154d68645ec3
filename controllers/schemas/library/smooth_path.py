"""A way from one angle to another that begins and ends at rest.

With u = t / T in [0, 1] it is the polynomial of the least jerk [flash1985],

    y = y0 + (y1 - y0) (10 u³ - 15 u⁴ + 6 u⁵),      max |ẏ| = 15/8 |y1 - y0| / T.
"""

PEAK = 15.0 / 8.0
"""Top speed over mean speed."""


class SmoothPath:
    """The way of one joint; `at` may be asked in any order."""

    __slots__ = ("end", "length_s", "start")

    def __init__(self, start: float, end: float, speed: float) -> None:
        """Take as long as the top speed asks.

        Args:
            start: in rad.
            end: in rad.
            speed: top speed in rad/s, positive.
        """
        self.start = start
        self.end = end
        self.length_s = PEAK * abs(end - start) / speed

    def at(self, time_s: float) -> float:
        """Return the angle at a time since the start; before and after it rests."""
        if time_s >= self.length_s:
            return self.end
        u = max(0.0, time_s / self.length_s)
        return self.start + (self.end - self.start) * u**3 * (
            10.0 - 15.0 * u + 6.0 * u * u
        )
