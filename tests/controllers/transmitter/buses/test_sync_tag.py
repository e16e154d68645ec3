"""Tag of a synchronous stream: ID and points, or ID and number of members."""

import pytest

from nao_testbed.controllers.transmitter.receipt import GroupKey, SyncTag, count_tag
from tests.messages import Messages, each


@pytest.mark.requirement("SY-9")
def test_default_preset_is_100() -> None:
    assert SyncTag(group="hello", points=20).key == GroupKey(100, "hello")


@pytest.mark.requirement("SY-17")
def test_one_id_with_two_presets_names_two_groups() -> None:
    ten = SyncTag(group="hello", points=4, preset=10)
    assert ten.key != SyncTag(group="hello", points=4).key
    assert str(ten.key) == "'hello' of 10"


@pytest.mark.requirement("SY-7")
def test_count_tag_has_one_point_per_member() -> None:
    assert count_tag("hello", 3) == SyncTag(group="hello", points=1, preset=3)


def test_messages(messages: Messages) -> None:
    messages(
        invalid_tag=each(
            SyncTag,
            {"group": "", "points": 1},
            {"group": "x", "points": 0},
            {"group": "x", "points": True},
            {"group": "x", "points": 2.5},
            {"group": "x", "points": 1, "preset": 0},
        )
    )
