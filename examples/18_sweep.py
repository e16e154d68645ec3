"""Robots with random calibration errors, each under two controllers: what that saves.

A sweep file says what is varied; every trial is a file of its own, and all of them are
one table. Run the script again: nothing is run twice. `nao-testbed sweep ankles.yaml`
does the same on all cores.
"""

from pathlib import Path

from experiments import load_spec, read_sweep, run_sweep

ANKLES = """
name: ankles
about: Whether a limit helps against calibration errors of the legs.
controller: [fixed, smart]
misalignment_deg:
  Legs: {normal: [0, 0.7], clip: [-2, 2]}
slope_deg: {uniform: [-1, 1]}
minutes: 0.1
robots: 2
seed: 7
"""
OUT = Path("runs/ankles")


def main() -> None:
    file = Path("ankles.yaml")
    file.write_text(ANKLES, encoding="utf-8")
    spec = load_spec(file)
    print(f"{spec.n_trials} trials; of robot 0: {spec.drawn_for(0)['slope_deg']:.2f}°")

    sweep = run_sweep(spec, OUT)
    power = sweep.frame.pivot(
        index="robot", columns="controller", values="legs_power_w"
    )
    power["smart / fixed"] = power["smart"] / power["fixed"]
    print("Legs' joule loss in W:", power.round(2), sep="\n")

    # Later, or on another computer: the table is all that it takes.
    again = read_sweep(OUT)
    print(f"seed {again.meta['seed']}, drawn: {len(again.meta['drawn'])} parameters")
    assert len(again.frame) == spec.n_trials


main()
