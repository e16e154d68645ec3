"""What loop, controller, fast-forward and reservations cost, beside references."""

from experiments.bench.command import run_bench_command
from experiments.bench.figures import Figure
from experiments.bench.measure import BenchCfg, BenchResult, Part, run_bench

__all__ = [
    "BenchCfg",
    "BenchResult",
    "Figure",
    "Part",
    "run_bench",
    "run_bench_command",
]
