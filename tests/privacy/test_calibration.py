"""The search for the largest parameter that fits a price."""

from __future__ import annotations

import pytest

from dpviz.privacy.calibration import climb


@pytest.mark.parametrize("start", [0, 1, 2, 40, 64, 10**9, 10**30])
def test_the_largest_that_fits_is_found_from_any_start_in_few_questions(start: int) -> None:
    for largest in [*range(70), start - 1, start, start + 1, 10**9, 10**30]:
        if largest < 0:
            continue
        asked: list[int] = []

        def fits(value: int, most: int = largest, asked: list[int] = asked) -> bool:
            asked.append(value)
            return value <= most

        assert climb(start, fits) == largest
        assert len(asked) <= 2 * abs(start - largest).bit_length() + 3 and min(asked) >= 0
