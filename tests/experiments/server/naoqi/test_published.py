"""Every published method acts, stores a value, or refuses with a message."""

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from nao_testbed.experiments.server.naoqi.arguments import flag, number, whole
from nao_testbed.experiments.server.naoqi.service import methods_of
from nao_testbed.experiments.server.naoqi.services.stubs.refusing import (
    PUBLISHED,
    SERVED,
)
from nao_testbed.experiments.server.naoqi.services.table import SERVICES, WRITTEN
from nao_testbed.models import TestbedError
from tests.experiments.server.naoqi.in_process import InProcess

KINDS = {kind.NAME: kind for kind in SERVICES}
VALUES: dict[object, Any] = {number: 0.5, whole: 1, flag: True}
"""Arguments by type; the other arguments are names."""


@pytest.fixture(scope="module")
def world() -> Iterator[InProcess]:
    world = InProcess(0.1)
    yield world
    world.served.close("done")


def test_published_methods_exist_and_only_served_ones_are_written() -> None:
    written = {name: set(dir(kind)) for name, kind in WRITTEN.items()}
    for service, methods in PUBLISHED.items():
        names = [one.name for one in methods]
        assert len(names) == len(set(names)), service
        assert set(names) <= set(methods_of(KINDS[service])), service
        ours = {one.name for one in methods if one.answer == SERVED}
        assert ours == set(names) & written.get(service, set()), service


def _arguments(service: str, name: str) -> list[Any]:
    signature = methods_of(KINDS[service])[name]
    return [VALUES.get(parser, "HeadYaw") for parser in signature._parsers]


@pytest.mark.parametrize("service", sorted(KINDS))
def test_every_method_answers_or_refuses_with_a_message(
    world: InProcess, service: str
) -> None:
    for name in methods_of(KINDS[service]):
        try:
            answer = world.ask(service)(name, *_arguments(service, name))
        except TestbedError as error:
            assert str(error)  # noqa: PT017  # any other exception fails
            continue
        if isinstance(answer, Future):
            answer.cancel()


@pytest.mark.parametrize("service", sorted(PUBLISHED))
def test_method_without_its_part_is_refused(world: InProcess, service: str) -> None:
    for one in PUBLISHED[service]:
        if one.missing_part:
            with pytest.raises(TestbedError) as caught:
                world.ask(service)(one.name, "any", 1)
            assert str(caught.value) == f"not simulated: {one.missing_part}."


@pytest.mark.parametrize("service", sorted(KINDS))
def test_stored_value_is_returned(world: InProcess, service: str) -> None:
    methods = methods_of(KINDS[service])
    ask = world.ask(service)
    for setter in methods:
        if not setter.startswith("set") or setter in NOT_STORED:
            continue
        for begin in ("get", "is"):
            getter = setter.replace("set", begin, 1)
            if getter not in methods:
                continue
            try:
                before = ask(getter)
                ask(setter, before)
            except TestbedError:
                continue  # refused, or one of several values
            assert ask(getter) == before
            if isinstance(before, bool):
                ask(setter, not before)
                assert ask(getter) is not before
                ask(setter, before)


NOT_STORED = {"setFallManagerEnabled", "setCollisionProtectionEnabled"}
