"""The kernels are compiled once, before anybody waits for them."""

from controllers.cooling.standing_problem import base_columns
from experiments.warm_up import main
from sim.servo import _servo


def test_the_warm_up_compiles_the_loop() -> None:
    main()
    assert _servo.signatures
    assert base_columns.signatures  # so `minheat` has solved
