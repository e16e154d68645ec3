"""How often something can be done in a second of processor time."""

from collections.abc import Mapping
from time import process_time

from experiments.bench.bare_arbiters import Run


def rates_of(
    runs: Mapping[str, Run], blocks: int, block_s: float
) -> dict[str, list[float]]:
    """Return thousands a second of each subject, block by block, in turn."""
    counts = {name: _count(run, block_s) for name, run in runs.items()}
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(blocks):
        for name, run in runs.items():
            begin = process_time()
            done = run(counts[name])
            rates[name].append(1e-3 * done / (process_time() - begin))
    return rates


def _count(run: Run, block_s: float) -> int:
    """Return how many of them take about a block's time; warms up as well."""
    begin, done = process_time(), 0
    while done == 0 or process_time() - begin < 0.2 * block_s:
        done += run(100)
    return max(1, round(done * block_s / (process_time() - begin)))
