"""Which finding stands under which, and what each adds."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_matrix

from weakspot.concepts.finite.nested import explained


def test_a_narrower_worse_form_stands_under_its_broader_finding() -> None:
    n = 1_000
    row = np.arange(n)
    snow, dog, night = row < 200, row % 4 == 0, (row >= 600) & (row < 700)
    failed = (snow & (row % 2 == 0)) | (snow & dog) | night
    rows = csc_matrix(np.column_stack([snow, dog, night]).astype(np.float32))
    places = explained(rows, failed, [(0,), (0, 1), (2,)])
    assert [place.under for place in places] == [None, 0, None]
    assert [place.failures for place in places] == [100, 50, 100]


def test_what_fails_no_more_than_the_broader_one_stands_for_itself() -> None:
    row = np.arange(400)
    a, b = row < 200, row % 2 == 0
    rows = csc_matrix(np.column_stack([a, b]).astype(np.float32))
    assert [one.under for one in explained(rows, a & (row % 3 == 0) & ~b, [(0,), (0, 1)])] == [None, None]


def test_statements_of_nothing_are_none() -> None:
    assert explained(csc_matrix((5, 2), dtype=np.float32), np.zeros(5, bool), []) == []
