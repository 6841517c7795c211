"""The shorthand of the constructor: names by role, and the keys under `publish`, as a policy file would have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pluralis.errors import PolicyError
from pluralis.policy.settings import Publishing

Names = Iterable[str] | Mapping[str, Mapping[str, Any]]


def keys_by_name(named: Names | Mapping[str, int | Mapping[str, Any]], single: str = "") -> dict[str, dict[str, Any]]:
    """The keys of each attribute that the constructor was given; a single value is that of the key `single`."""
    if isinstance(named, str):
        raise PolicyError(f"{named!r} is one name. Write a list: [{named!r}].")
    if not isinstance(named, Mapping):
        return {name: {} for name in named}
    return {name: dict(keys) if isinstance(keys, Mapping) else {single: keys} for name, keys in named.items()}


def as_list(key: str, lines: Iterable[Any] | None) -> list[Any] | None:
    """What the constructor was given for a key that holds a list."""
    if isinstance(lines, str):
        raise PolicyError(f"{key}: {lines!r} is one text. Write a list: [{lines!r}].")
    return None if lines is None else list(lines)


def with_roles(attributes: dict[str, Any], named: Mapping[Any, Mapping[str, dict[str, Any]]]) -> dict[str, Any] | None:
    for role, of_role in named.items():
        for name, keys in of_role.items():
            if name in attributes or "role" in keys:
                raise PolicyError(f"{name!r} is named twice, or has two roles. Name it once, under its role.")
            attributes[name] = {"role": role, **keys}
    return attributes or None


def with_publishing(publish: Publishing | Mapping[str, Any] | None, how: dict[str, Any]) -> Any:
    if publish is not None and how:
        raise PolicyError(f"publish and {', '.join(how)} say the same. Give one of them.")
    return how or publish
