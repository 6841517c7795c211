"""`method: auto`: the method that a comparison would have one take (`frontier.Comparison.taken`, by its ranking).

Times do not matter to the choice, and the trials use the test key, so that the same table and policy always give the
same method, whoever publishes.
"""

from __future__ import annotations

from pluralis.comparison.comparing import compare
from pluralis.errors import Infeasible, PolicyError
from pluralis.method import no_option
from pluralis.policy.policy import Policy


def choose(
    source: object, policy: Policy, *, encoding: str = "utf-8", separator: str | None = None
) -> tuple[Policy, str]:
    """The policy with the method that `method: auto` stands for, and a note on why it was taken.

    `publish.options` may name the `target` (error, kl or ncp) and the `methods` to choose from.
    """
    options = dict(policy.publish.options)
    target, names = options.pop("target", "error"), options.pop("methods", [])
    for name in options:
        raise no_option("auto", name, ("target", "methods"))
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise PolicyError("publish.options.methods: write a list of names: [bsgi, mondrian].")
    comparison = compare(source, policy, methods=names, target=target, encoding=encoding, separator=separator)
    advice = " ".join(comparison.advice())
    if comparison.taken is None:
        reasons = [f"{trial.method}: {trial.refused}" for trial in comparison.refused]
        raise Infeasible(f"method: auto found no method. {advice}", *reasons)
    return policy.override(method=comparison.taken.method), f"method: auto. {advice}"
