"""The methods, one file each. A file in this folder that defines METHOD is a method; nothing else registers it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache

from pydantic import ValidationError

from pluralis.errors import Infeasible, PolicyError, did_you_mean
from pluralis.method.base import Method
from pluralis.policy.attributes import Attribute
from pluralis.policy.policy import Policy
from pluralis.policy.settings import Publishing

__all__ = ["AUTO", "Method", "method_for", "method_named", "methods", "no_option", "require_bounding"]

AUTO = "auto"  # in the place of a method's name: the best of all that apply


@cache
def methods() -> Mapping[str, type[Method]]:
    """Every method by its name.

    Returns
    -------
    mapping of str to type of Method
        The classes; each says its title, paper, kind, guarantee and what it does not stop.

    Examples
    --------
    >>> methods()["bsgi"].kind
    'generalized'
    """
    classes = [method for module in pkgutil.iter_modules(__path__) if (method := _defined_in(module.name))]
    return {method.name: method for method in sorted(classes, key=lambda method: method.name)}


def method_named(name: str) -> type[Method]:
    """One method. Where its file is called like it, no other is loaded: they and their libraries take memory.

    >>> method_named("multi-sa").__module__
    'pluralis.method.multi_sa'
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
    method, options = method_named(policy.publish.method), policy.publish.options
    known = [field for field in method.model_fields if field != "variant"]
    for name in options:
        if name not in known:
            raise no_option(method.name, name, known)
    try:
        return method(**options, variant=policy.publish.variant)
    except ValidationError as error:
        problem = error.errors()[0]
        name = ".".join(map(str, problem["loc"]))
        fault = problem.get("ctx", {}).get("error")
        reason = str(fault) if isinstance(fault, ValueError) else f"{problem['msg']}, not {problem['input']!r}."
        raise PolicyError(f"publish.options.{name}: {reason}") from None


def require_bounding(method: Method, policy: Policy) -> None:
    """Refuse `at_most`, `gain` and `t` where the method cannot aim at them, and say which methods can."""
    for name in policy.sensitive:
        asked = policy.columns[name].bounds
        lacking = [key for key in asked if key not in method.bounds]
        if lacking:
            able = [other for other, one in methods().items() if set(asked) <= set(one.bounds)]
            raise Infeasible(
                f"{name!r} asks for {' and '.join(lacking)}, which {method.name} cannot aim at. Use method: "
                f"{', '.join(able[:-1])} or {able[-1]}."
            )


def no_option(method: str, name: str, known: Iterable[str]) -> PolicyError:
    """The error for an option that a method does not have: where else a policy has it, or what was meant."""
    if name in Policy.model_fields:
        hint = f"Write `{name}` at the top level of the policy, beside `publish`."
    elif name in Publishing.model_fields:
        hint = f"Write `{name}` under `publish`, beside `options`."
    elif name in Attribute.model_fields:
        hint = f"Write `{name}` under `attributes`, beside the role of a column."
    else:
        hint = did_you_mean(name, known)
    return PolicyError(f"publish.options: {method} has no option {name!r}. {hint}")
