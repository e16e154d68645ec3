"""A controller's error is reported for any exception class."""

import pytest

from nao_testbed.experiments.closed_loop.controller_failure import ControllerFailed


class NeitherError(Exception):
    """Error whose `bool` and `str` raise."""

    def __bool__(self) -> bool:
        raise RuntimeError

    def __str__(self) -> str:
        raise KeyboardInterrupt


def test_an_error_without_truth_or_text_is_named_by_type() -> None:
    with pytest.raises(NeitherError) as raised:
        raise NeitherError
    failed = ControllerFailed("mine", "step 1", raised.value)
    assert "NeitherError" in str(failed)
    assert "NeitherError" in failed.trace
