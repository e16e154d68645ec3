"""What the loop, the controller and fast-forward cost, side by side, as ratios."""

from experiments.bench.command import run_bench_command
from experiments.bench.figures import Figure
from experiments.bench.measure import BenchCfg, BenchResult, run_bench

__all__ = ["BenchCfg", "BenchResult", "Figure", "run_bench", "run_bench_command"]
