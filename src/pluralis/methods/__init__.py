"""The methods, one file each. A file in this folder that defines METHOD is a method; nothing else registers it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import ValidationError

from pluralis.errors import PolicyError, did_you_mean
from pluralis.methods.base import Method
from pluralis.policy import Policy

__all__ = ["Method", "method_for", "method_named", "methods"]


@cache
def methods() -> Mapping[str, type[Method]]:
    """Every method by its name.

    >>> "bsgi" in methods()
    True
    """
    found = [method for module in pkgutil.iter_modules(__path__) if (method := _defined_in(module.name))]
    return {method.name: method for method in sorted(found, key=lambda method: method.name)}


def method_named(name: str) -> type[Method]:
    """One method. Where its file is called like it, no other is loaded: they and their libraries take memory.

    >>> method_named("multi-sa").__module__
    'pluralis.methods.multi_sa'
    """
    file = name.replace("-", "_")
    if any(module.name == file for module in pkgutil.iter_modules(__path__)):
        method = _defined_in(file)
        if method is not None and method.name == name:
            return method
    if name not in methods():
        raise PolicyError(f"publish.method: there is no method {name!r}. {did_you_mean(name, methods())}")
    return methods()[name]


def _defined_in(module: str) -> type[Method] | None:
    return getattr(importlib.import_module(f"{__name__}.{module}"), "METHOD", None)


def method_for(policy: Policy) -> Method:
    """The method that a policy asks for, with its options checked."""
    asked = policy.publish
    return _with_options(method_named(asked.method), {**asked.options, "variant": asked.variant})


def _with_options(method: type[Method], options: Mapping[str, Any]) -> Method:
    try:
        return method(**options)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(map(str, problem["loc"]))
        if problem["type"] == "extra_forbidden":
            known = [field for field in method.model_fields if field != "variant"]
            raise PolicyError(
                f"publish.options: {method.name} has no option {name!r}. {did_you_mean(name, known)}"
            ) from None
        raise PolicyError(f"publish.options.{name}: {problem['msg']}, not {problem['input']!r}.") from None
