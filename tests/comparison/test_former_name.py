"""The pages were made by `eigenloop.published`."""

import pytest

from eigenloop import comparison, published


def test_the_former_name_still_works_and_warns() -> None:
    with pytest.warns(FutureWarning, match=r"eigenloop\.comparison"):
        assert published.compare is comparison.compare
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = published.nothing
