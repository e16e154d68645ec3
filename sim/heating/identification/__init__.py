"""The one-node model from measured temperatures: R/C, λ/C and the ambient.

fit = fit_one_node([record])  # one record a stretch without gaps
fit.rate.low, fit.rate.value, fit.rate.high
fit.with_resistance(6.44).heat_capacity
"""

from sim.heating.identification.estimate import Estimate
from sim.heating.identification.fit import fit_one_node
from sim.heating.identification.heat_record import HeatRecord
from sim.heating.identification.one_node_fit import KnownResistance, OneNodeFit

__all__ = [
    "Estimate",
    "HeatRecord",
    "KnownResistance",
    "OneNodeFit",
    "fit_one_node",
]
