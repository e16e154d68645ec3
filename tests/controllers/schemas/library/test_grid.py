"""Cell grid: storage, relaxation, and the highest cell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.controllers.schemas.library.look_around import CellGrid
from tests.messages import Messages, each


def test_cells_divide_the_rectangle() -> None:
    grid = CellGrid((-1.0, 1.0), (0.0, 3.0), (4, 3))
    assert_allclose(grid.x, [-0.75, -0.25, 0.25, 0.75])
    assert_allclose(grid.y, [0.5, 1.5, 2.5])


@pytest.mark.requirement("JD-15")
@given(
    st.floats(-5.0, 5.0), st.floats(0.0, 5.0), st.floats(0.0, 5.0), st.floats(0.1, 9.0)
)
def test_relaxation_does_not_depend_on_the_time_steps(
    start: float, first: float, second: float, constant: float
) -> None:
    once, twice = (CellGrid((0.0, 1.0), (0.0, 1.0), (1, 1), start) for _ in range(2))
    once.relax(1.0, first + second, constant)
    twice.relax(1.0, first, constant)
    twice.relax(1.0, second, constant)
    assert_allclose(once.values, twice.values, atol=1e-12)
    expected = 1.0 + (start - 1.0) * np.exp(-(first + second) / constant)
    assert_allclose(once.values, expected, atol=1e-12)


def test_only_cells_with_a_centre_in_range_change() -> None:
    grid = CellGrid((0.0, 4.0), (0.0, 2.0), (4, 2), 1.0)
    assert grid.put(1.5, 0.5, (1.0, 0.4), 0.0) == 3
    assert_allclose(grid.values, [[0, 1], [0, 1], [0, 1], [1, 1]])
    assert grid.add(3.5, 1.5, (0.1, 0.1), 2.5) == 1
    assert grid.at(3.9, 1.9) == 3.5
    assert grid.put(40.0, 0.5, (1.0, 1.0), 9.0) == 0


@pytest.mark.requirement("JD-15")
@given(
    st.lists(st.floats(-9.0, 9.0), min_size=6, max_size=6),
    st.floats(-1.0, 4.0),
    st.floats(-1.0, 3.0),
    st.floats(0.0, 3.0),
)
def test_highest_cell_has_the_highest_value_minus_cost(
    values: list[float], x: float, y: float, cost: float
) -> None:
    grid = CellGrid((0.0, 3.0), (0.0, 2.0), (3, 2))
    grid.values[:] = np.reshape(values, (3, 2))
    best_x, best_y = grid.highest((x, y), cost)

    def worth(at_x: float, at_y: float) -> float:
        return grid.at(at_x, at_y) - cost * float(np.hypot(at_x - x, at_y - y))

    assert all(
        worth(best_x, best_y) >= worth(float(i), float(j)) - 1e-12
        for i in grid.x
        for j in grid.y
    )


def test_first_of_equal_cells_is_taken() -> None:
    assert CellGrid((0.0, 2.0), (0.0, 2.0), (2, 2)).highest() == (0.5, 0.5)


def test_messages(messages: Messages) -> None:
    messages(
        empty_rectangle=each(
            CellGrid,
            ((1.0, 1.0), (0.0, 1.0), (2, 2)),
            ((0.0, 1.0), (0.0, float("inf")), (2, 2)),
            ((0.0, 1.0), (0.0, 1.0), (2, 0)),
        )
    )
