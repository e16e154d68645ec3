"""A controller's error is told whatever it is made of."""

import pytest

from nao_testbed.experiments.closed_loop.controller_failure import ControllerFailed


class NeitherError(Exception):
    """Has neither a truth nor words."""

    def __bool__(self) -> bool:
        raise RuntimeError

    def __str__(self) -> str:
        raise KeyboardInterrupt


def test_an_error_without_a_truth_or_words_is_told_by_its_name() -> None:
    with pytest.raises(NeitherError) as raised:
        raise NeitherError
    failed = ControllerFailed("mine", "step 1", raised.value)
    assert "NeitherError" in str(failed)
    assert "NeitherError" in failed.trace
