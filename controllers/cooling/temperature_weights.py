"""Weights by which hot motors are relieved before cool ones.

    w_m = (T_max - T_0) / (T_max - T_m),    1 <= w_m <= w_max,

so that a watt in a motor that is half as far from its limit as one at T_0 counts twice.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models import BadInput

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class TemperatureWeightsCfg:
    """Numbers of the weights."""

    limit_degc: float = 80.0
    """T_max: where the document's robot is shut down [ES2659053T3]."""
    reference_degc: float = 40.0
    """T_0: up to here all motors count alike. The legs of a NAO that stands coolly stay
    below it."""
    largest: float = 10.0
    """w_max, reached 4 K below the limit; 1 leaves temperatures out."""

    def __post_init__(self) -> None:
        """Refuse numbers without meaning."""
        if not self.reference_degc < self.limit_degc < np.inf:
            raise BadInput(
                f"reference_degc = {self.reference_degc}, limit_degc = "
                f"{self.limit_degc}; give a reference below a finite limit."
            )
        if not 1.0 <= self.largest <= 1000.0:
            raise BadInput(f"largest weight {self.largest}; give 1 to 1000.")


def temperature_weights(
    temperature: FloatArray, cfg: TemperatureWeightsCfg
) -> FloatArray:
    """Return w, (n_motors,), for temperatures (n_motors,) in °C."""
    span = cfg.limit_degc - cfg.reference_degc
    left = np.maximum(cfg.limit_degc - temperature, span / cfg.largest)
    return np.maximum(span / left, 1.0)
