"""Dictionaries that many are shown and nobody changes."""

from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ReadOnly(dict[K, V]):
    """A dictionary that stays as it was made; unlike a view it can be copied and sent.

    Those who share one hold the same object: events, requests.
    """

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("this dictionary is shared and cannot be changed; copy it.")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type["ReadOnly[K, V]"], tuple[dict[K, V]]]:
        """Be made anew at the other end."""
        return type(self), (dict(self),)
