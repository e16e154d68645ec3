"""What reservations, gated commands and device slots cost: `python -m benchmarks`.

They run from a checkout; `nao-testbed bench` measures the loop, controllers and a
scenario.
"""

import argparse

from benchmarks.reservations import ReservationBenchCfg, measure_reservations
from benchmarks.transmitter import TransmitterBenchCfg, measure_transmitter
from nao_testbed.experiments.bench.figures import Figure
from nao_testbed.experiments.bench.run_bench import BenchResult, Machine, show
from nao_testbed.experiments.common.options import check_json_file
from nao_testbed.models import load_robot

PARTS = {
    "reservations": lambda robot: measure_reservations(robot, ReservationBenchCfg()),
    "transmitter": lambda robot: measure_transmitter(robot, TransmitterBenchCfg()),
}
"""Each alone: its subjects run in turn."""


def main() -> None:
    """Measure and show."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--json", metavar="FILE", help="- is stdout")
    asked = parser.parse_args()
    check_json_file(asked.json)
    machine, robot = Machine.here(), load_robot()
    figures: list[Figure] = []
    for name in [asked.only] if asked.only else PARTS:
        figures += PARTS[name](robot)
    show(BenchResult(seconds=None, machine=machine, figures=tuple(figures)), asked.json)


if __name__ == "__main__":
    main()
