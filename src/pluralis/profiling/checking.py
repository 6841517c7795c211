"""A policy checked against a table before anything is published: all that would be refused, and what would work.

The refusals are those of publishing, for the release is built in memory as it is then, and thrown away. Rules are
explained as `explaining` does it, and the largest l is that of `eligibility`. Problems are looked for by `problems` and
`table_problems`, which mend each before they look for the next, so that a policy comes of it that can be published.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pluralis.display.objects import Columns, Shown
from pluralis.errors import InputError, PluralisError, PolicyError
from pluralis.grouping.eligibility import largest_l
from pluralis.method import AUTO
from pluralis.policy.policy import Policy
from pluralis.profiling.explaining import Explanation, explain
from pluralis.profiling.patching import patched
from pluralis.profiling.problems import Examined, Problem, every, opened, read_settings
from pluralis.profiling.profiles import profile
from pluralis.profiling.table_problems import (
    alone,
    look_at_columns,
    look_at_promises,
    look_at_rules,
    look_at_the_whole,
    look_at_values,
    look_at_what_misleads,
)
from pluralis.table.encoding import encode
from pluralis.table.sources import read_table


@dataclass(frozen=True)
class ProtectedAttribute:
    """A sensitive attribute: the l that is asked for, and the largest that its values allow without suppression."""

    name: str
    l: int
    largest_l: int
    top_value: str
    top_share: float


@dataclass(frozen=True, repr=False)
class PolicyCheck(Shown):
    """What `check_policy` found.

    Parameters
    ----------
    policy : Policy
        What was checked; where that is no policy, what is left of it without what is wrong.
    rows : int, optional
        Of the table; None if the policy was checked alone.
    protected : tuple of ProtectedAttribute
        The sensitive attributes with the largest l that each allows; none without a table.
    explanation : Explanation
        The rules in force, and which are redundant, circular, impossible.
    problems : tuple of Problem
        Everything that is wrong, by group, each with its line, its remedy and its exit code.
    mended : str, optional
        The policy's text with every problem mended that a policy can mend; None if there is none.
    tried : int, optional
        On how many rows it was tried last whether all can be had together: drawn ones of a large table. Values, counts
        and the largest l are always those of all rows.

    Examples
    --------
    >>> import polars as pl
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> pls.check_policy(people, pls.Policy(quasi=["age"], sensitive={"disease": 2}))
    Policy check: nothing is against publishing these 4 rows by bsgi
      attribute  l  largest l  top value  share
      disease    2          2  flu        50.0%
      rule                  from
      age -> disease : l=2  the role of disease
    """

    policy: Policy
    rows: int | None
    protected: tuple[ProtectedAttribute, ...]
    explanation: Explanation
    problems: tuple[Problem, ...] = ()
    mended: str | None = None
    tried: int | None = None

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why publishing would refuse, and what to do; none if nothing is against it."""
        return tuple(problem.message for problem in self.problems if problem.code)

    @property
    def sampled(self) -> str:
        """What was tried on drawn rows of a large table alone; nothing where all were."""
        if self.tried is None or self.rows is None or self.tried == self.rows:
            return ""
        return (
            f"Whether all can be had together was tried on {self.tried:,} drawn rows of {self.rows:,}; values and "
            "counts are those of all. Publishing tries all of them."
        )

    @property
    def exit_code(self) -> int:
        """What `pluralis check` ends with: 0, or as publishing would end, 2 or 3, by the worst problem."""
        return max((problem.code for problem in self.problems), default=0)

    @property
    def feasible(self) -> bool | None:
        """Whether nothing was found that publishing would refuse; None where no table was looked at."""
        return None if self.rows is None else not self.refusals

    @property
    def impossible(self) -> list[str]:
        """Why some rules cannot be kept as they are written, whether or not the method has to keep them so."""
        return self.explanation.impossible

    def to_dict(self) -> dict[str, Any]:
        """The check as plain data.

        Returns
        -------
        dict
            The attributes, the rules as `pluralis rules --json` prints them, and the problems.

        Examples
        --------
        >>> import pluralis as pls
        >>> pls.check_policy(None, pls.Policy(quasi=["age"], sensitive={"disease": 2})).to_dict()["rows"] is None
        True
        """
        return {
            "feasible": self.feasible,
            "rows": self.rows,
            "tried": self.tried,
            "protected": [asdict(one) for one in self.protected],
            "refusals": list(self.refusals),
            "problems": [asdict(problem) for problem in self.problems],
            "mended": self.mended,
            "impossible": self.impossible,
            "rules": self.explanation.to_dict(),
        }

    def _parts(self) -> Iterator[str | Columns]:
        method = self.policy.publish.method
        if self.rows is None:
            yield "Policy check: the rules, without a table"
        elif self.refusals:
            yield f"Policy check: these {self.rows:,} rows cannot be published by {method}"
        elif method == AUTO:
            yield f"Policy check: {self.rows:,} rows; compare says which methods apply"
        else:
            yield f"Policy check: nothing is against publishing these {self.rows:,} rows by {method}"
        if self.sampled:
            yield f"  {self.sampled}"
        for title, problems in every(self.problems):
            yield f"  {title}:"
            yield from (f"    {problem}" for problem in problems)
        if self.protected:
            heads = ("attribute", "l", "largest l", "top value", "share")
            yield Columns(heads, [
                [one.name, str(one.l), f"{one.largest_l:,}", one.top_value, f"{one.top_share:.1%}"]
                for one in self.protected
            ], right=(1, 2, 4))  # fmt: skip
        rules = [[str(in_force.rule), ", ".join(in_force.origins)] for in_force in self.explanation.rules]
        if rules:
            yield Columns(("rule", "from"), rules)
        if self.impossible:
            yield "Cannot be kept as written:"
        yield from (f"  {reason}" for reason in self.impossible)


def check_policy(
    table: object, policy: Policy | str | Path, *, encoding: str = "utf-8", separator: str | None = None
) -> PolicyCheck:
    """Everything that publishing a table under a policy would refuse, the largest l of each attribute, and the rules.

    The release is built in memory, as publishing does it, and thrown away. Nothing is attacked and nothing is written.

    Parameters
    ----------
    table : str, Path, data frame or None
        A CSV or Parquet file, or a polars, pandas or pyarrow table. With None, the policy is checked by itself.
    policy : Policy, str or Path
        A policy, or a policy file. A file may hold what is no policy: all that is wrong with it is among the problems.
    encoding, separator : str
        Of a CSV file, as in `read_table`.

    Returns
    -------
    PolicyCheck
        ``check.feasible``, ``check.problems`` by group with line and remedy, ``check.mended``, a policy without them,
        and what is said of rules.

    Raises
    ------
    InputError, PolicyError
        If the table or the policy cannot be read at all.

    Examples
    --------
    >>> import polars as pl
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> check = pls.check_policy(people, pls.Policy(quasi=["age"], sensitive={"disease": 3}))
    >>> check.feasible, check.protected[0].largest_l
    (False, 2)
    >>> print(check.refusals[0])
    'disease' cannot be 3-diverse: 'flu' fills 2 of 4 rows (50.0%). The largest l it allows is 2; set l: 2, or allow \
suppress: 0.25.
    >>> print(check.problems[0].change)
    l: 2 for 'disease'
    """
    if not isinstance(policy, Policy | str | Path):
        raise PolicyError(f"A policy is a pls.Policy or a file, not {type(policy).__name__}. Try Policy.from_dict.")
    examined = opened(policy)
    if table is None:
        settled = _settled(examined)
        asked = examined.policy or settled
        return PolicyCheck(asked, None, (), explain(asked), tuple(examined.problems), _text(examined))

    def needed(columns: Sequence[str]) -> Collection[str] | None:
        examined.repair_names(columns)
        settled = _settled(examined)
        return settled.needed if settled.others == "drop" else None

    return check_frame(examined, read_table(table, encoding=encoding, separator=separator, only=needed))


def _settled(examined: Examined) -> Policy:
    """The policy that is left when what it says by itself is mended; refused where nothing is."""
    read_settings(examined)
    if examined.mended is None:
        raise PolicyError(*(str(problem) for problem in examined.problems))
    return examined.mended


def check_frame(examined: Examined, frame: pl.DataFrame) -> PolicyCheck:
    """A policy whose text was looked at, and a table."""
    before = examined.policy
    look_at_columns(examined, frame)
    look_at_values(examined, frame)
    protected = tuple(_protected(examined, frame))
    look_at_promises(examined, frame)
    assert examined.mended is not None
    asked = before or examined.mended
    explanation = explain(asked)
    if not any(problem.code and not problem.change for problem in examined.problems):
        explanation = _explained(asked, examined.mended, frame)
        look_at_rules(examined, explanation)
        look_at_the_whole(examined, frame)
    if frame.height:
        look_at_what_misleads(examined, profile(frame), frame)
    problems, mended = tuple(examined.problems), _text(examined)
    return PolicyCheck(asked, frame.height, protected, explanation, problems, mended, examined.tried)


def _explained(asked: Policy, mended: Policy, frame: pl.DataFrame) -> Explanation:
    """The rules of the policy with this table, or, where it does not fit the table, of the mended one."""
    try:
        return explain(asked, encode(frame, asked))
    except (InputError, PolicyError):
        return explain(mended, encode(frame, mended))


def _protected(examined: Examined, frame: pl.DataFrame) -> Iterator[ProtectedAttribute]:
    policy = examined.mended
    assert policy is not None
    for name in policy.sensitive:
        try:
            column = alone(examined, frame, name)[name]
        except PluralisError:
            continue  # it is among the problems already
        counts = column.counts
        top = int(counts.argmax())
        share = float(counts[top]) / column.codes.size
        yield ProtectedAttribute(name, policy.l(name), largest_l(counts), column.text(top), share)


def _text(examined: Examined) -> str | None:
    """The mended policy as text, if something was mended and nothing is left that cannot be."""
    if not examined.problems or any(problem.code and not problem.change for problem in examined.problems):
        return None
    if examined.text is None:
        return None if examined.mended is None else examined.mended.to_yaml()
    return patched(examined.text, examined.name, examined.data)
