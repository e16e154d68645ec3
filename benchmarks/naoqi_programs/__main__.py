"""Command `python -m benchmarks.naoqi_programs`: run programs, and print a table."""

import argparse
import sys
from collections import Counter

from benchmarks import naoqi_programs
from benchmarks.naoqi_programs import PROGRAMS, run_program, serving
from nao_testbed.controllers.interface.checked import check_value
from nao_testbed.experiments.common.ranges import range_of
from nao_testbed.models import BadInput


def main() -> int:
    """Run all programs, or some, and print a table; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.naoqi_programs",
        description=naoqi_programs.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--speed", type=float, default=1.0)
    asked = parser.parse_args()
    unknown = set(asked.names) - set(PROGRAMS)
    if unknown:
        parser.error(
            f"no program is named {', '.join(map(repr, sorted(unknown)))}; give some "
            f"of {', '.join(map(repr, PROGRAMS))}."
        )
    try:
        check_value("--speed", asked.speed, range_of("naoqi serve", "--speed"))
    except BadInput as error:
        parser.error(str(error))
    results: Counter[str] = Counter()
    with serving(asked.speed) as url:
        for name in asked.names or PROGRAMS:
            result, said = run_program(name, url)
            results[result] += 1
            print(f"{result:<8} {name}{f': {said}' if said else ''}", flush=True)
    print(", ".join(f"{n} {result}" for result, n in results.items()))
    return int(results["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
