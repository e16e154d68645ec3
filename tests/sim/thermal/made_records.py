"""Records with known constants, by the closed form of a constant current."""

from dataclasses import dataclass

import numpy as np

from nao_testbed.models.values import FloatArray
from nao_testbed.sim.thermal.one_node_fit import HeatRecord


@dataclass(frozen=True, kw_only=True)
class Truth:
    heating: float = 0.15  # K/(s A²)
    rate: float = 1.0 / 2000.0  # 1/s
    ambient: float = 27.0  # °C


def made_record(
    truth: Truth,
    current: FloatArray,
    step_s: FloatArray | float,
    start_degc: float,
    rng: np.random.Generator | None = None,
    noise_k: float = 0.0,
    resolution_k: float = 0.0,
) -> HeatRecord:
    """Return a record of a current that is constant between rows; (n - 1,) currents."""
    steps = np.broadcast_to(np.asarray(step_s, dtype=float), current.shape)
    degc = np.empty(current.size + 1)
    degc[0] = start_degc
    for k, (i, h) in enumerate(zip(current, steps, strict=True)):
        end = truth.ambient + truth.heating / truth.rate * i**2
        degc[k + 1] = end + (degc[k] - end) * np.exp(-truth.rate * h)
    if rng is not None:
        degc += rng.normal(0.0, noise_k, degc.size)
    if resolution_k:
        degc = np.round(degc / resolution_k) * resolution_k
    time_s = np.concatenate(([0.0], np.cumsum(steps)))
    return HeatRecord(time_s=time_s, degc=degc, mean_square_current=current**2)
