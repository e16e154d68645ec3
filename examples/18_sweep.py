"""Compare two controllers on robots with random calibration errors.

A sweep file defines the varied parameters. Each trial is a file; one table holds all
trials. With a folder as argument the trials are kept, and a second run of the script
repeats none of them. `nao-testbed sweep ankles.yaml` does the same on all cores.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from nao_testbed import read_spec, read_sweep, run_sweep

ANKLES = """
name: ankles
about: Effect of a stiffness limit on legs with calibration errors.
controller: [fixed, smart]
misalignment_deg:
  Legs: {normal: [0, 0.7], clip: [-2, 2]}
slope_deg: {uniform: [-1, 1]}
minutes: 0.1
robots: 2
seed: 7
"""


def main(folder: Path) -> None:
    file, out = folder / "ankles.yaml", folder / "ankles"
    file.write_text(ANKLES, encoding="utf-8")
    spec = read_spec(file)
    print(f"{spec.n_trials} trials; of robot 0: {spec.drawn_for(0)['slope_deg']:.2f}°")

    sweep = run_sweep(spec, out)
    power = sweep.frame.pivot(
        index="robot", columns="controller", values="legs_power_w"
    )
    power["smart / fixed"] = power["smart"] / power["fixed"]
    print("Legs' joule loss in W:", power.round(2), sep="\n")

    # Later, or on another computer, the table is sufficient.
    again = read_sweep(out)
    print(f"seed {again.meta['seed']}, drawn: {len(again.meta['drawn'])} parameters")
    assert len(again.frame) == spec.n_trials


if len(sys.argv) > 1:
    main(Path(sys.argv[1]))
else:
    with TemporaryDirectory() as scratch:
        main(Path(scratch))
