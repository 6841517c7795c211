"""The policy: which columns are what, and the rules that a release must keep.

A rule `age, sex -> disease : l=4` says: whoever knows age and sex must not guess disease with more than 1/4.
Roles are shorthand for rules: every sensitive attribute is protected from whoever knows all quasi-identifiers. So are
adversaries: whoever knows what they know must not learn any protected attribute. `in_force` has them all, as rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import ConfigDict, PrivateAttr, ValidationError

from pluralis.display.objects import Columns, Shown
from pluralis.errors import PolicyError, did_you_mean
from pluralis.policy.attributes import Attribute, Role
from pluralis.policy.keywords import Names, as_list, keys_by_name, with_publishing, with_roles
from pluralis.policy.refusals import refusal
from pluralis.policy.settings import Publishing, Settings
from pluralis.policy.strict_yaml import Document, Whereabouts, parse_document, read_document


class Policy(Shown, Settings):
    """What may be published, and what must not be learned.

    In Python a policy is made of keywords, as here, or of what a policy file holds, by `read`, `parse` or `from_dict`.
    The first six keywords and `folder` are shorthand, which a policy file does not have; the others are the keys of
    one, and docs/policy.md describes them.

    Parameters
    ----------
    quasi : list of str, or dict
        The quasi-identifiers: what an adversary may know. A dict gives keys of an attribute to each:
        ``{"age": {"type": "number"}, "zip": {"hierarchy": {"mask": "right"}}}``.
    sensitive : dict
        The sensitive attributes with their l, or with several keys: ``{"disease": 4, "pay": {"l": 3, "bin": 500,
        "type": "number"}}``.
    plain, identifier : list of str, or dict
        Columns that are published as they are, and columns that are not published.
    method, variant, suppress, options
        The keys under `publish`.
    folder : str or Path
        Where hierarchy files are looked for.
    version, attributes, others, person, missing, k, rules, adversaries, dependencies, coincidences, publish, accept
        The keys of a policy file.
    republish
        Another one of them.

    Raises
    ------
    PolicyError
        If something is unknown, missing or contradicts itself.

    Examples
    --------
    >>> Policy(quasi=["sex", "zip"], sensitive={"disease": 3}, method="anatomy", others="drop")
    Policy, method anatomy, other columns dropped
      disease  sensitive  l=3
      sex      quasi
      zip      quasi
    >>> policy = Policy.parse('''
    ... version: 1
    ... attributes:
    ...   age:     {role: quasi, type: number}
    ...   disease: {role: sensitive, l: 3}
    ... ''')
    >>> policy == Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 3})
    True
    >>> policy.quasi, policy.sensitive, policy.l("disease")
    (['age'], ['disease'], 3)
    """

    model_config = ConfigDict(
        json_schema_extra={"description": "What may be published, and what must not be learned. See docs/policy.md."}
    )

    _folder: Path = PrivateAttr(default=Path())
    _lines: Whereabouts = PrivateAttr(default_factory=Whereabouts)

    # reading and writing -------------------------------------------------------------------------------------

    def __init__(
        self,
        *,
        quasi: Names = (),
        sensitive: Mapping[str, int | Mapping[str, Any]] | None = None,
        plain: Names = (),
        identifier: Names = (),
        method: str | None = None,
        variant: str | None = None,
        suppress: float | None = None,
        options: Mapping[str, Any] | None = None,
        folder: str | Path = ".",
        version: int = 1,
        attributes: Mapping[str, Any] | None = None,
        others: str | None = None,
        person: str | None = None,
        missing: Iterable[str] | None = None,
        k: int | None = None,
        rules: Iterable[Any] | None = None,
        adversaries: Iterable[Any] | None = None,
        dependencies: Iterable[Any] | None = None,
        coincidences: Iterable[Any] | None = None,
        publish: Publishing | Mapping[str, Any] | None = None,
        republish: str | None = None,
        accept: str | Iterable[str] | None = None,
    ) -> None:
        lists = {"missing": missing, "rules": rules, "adversaries": adversaries, "dependencies": dependencies,
                 "coincidences": coincidences}  # fmt: skip
        named = {"quasi": keys_by_name(quasi), "sensitive": keys_by_name(sensitive or {}, "l"),
                 "plain": keys_by_name(plain), "identifier": keys_by_name(identifier)}  # fmt: skip
        how = {"method": method, "variant": variant, "suppress": suppress, "options": options}
        keys = {
            "attributes": with_roles(dict(attributes or {}), named),
            "publish": with_publishing(publish, {key: value for key, value in how.items() if value is not None}),
            **{key: as_list(key, lines) for key, lines in lists.items()},
            "others": others, "person": person, "k": k, "republish": republish,
            "accept": [accept] if isinstance(accept, str) else as_list("accept", accept),
        }  # fmt: skip
        data = {"version": version, **{key: value for key, value in keys.items() if value is not None}}
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise refusal(Document(data, {}, "policy"), error) from None
        self._folder = Path(folder)

    # A policy file is validated without the constructor, so that no shorthand is a key of it (as in pydantic.RootModel)
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def read(cls, path: str | Path) -> Policy:
        """Read a policy file.

        Parameters
        ----------
        path : str or Path
            YAML, or JSON if it ends in .json. Hierarchies that it names are looked for beside it.

        Returns
        -------
        Policy
            The policy.

        Raises
        ------
        PolicyError
            If the file cannot be read, with the line of what is wrong.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "policy.yaml"
        ...     _ = path.write_text("version: 1\\nrules: ['age -> disease : l=2']")
        ...     Policy.read(path).sensitive
        ['disease']
        """
        policy = cls._from(read_document(Path(path)))
        policy._folder = Path(path).resolve().parent
        return policy

    @classmethod
    def parse(cls, text: str, *, folder: str | Path = ".") -> Policy:
        """A policy from YAML text.

        Parameters
        ----------
        text : str
            What a policy file holds.
        folder : str or Path
            Where hierarchy files are looked for.

        Returns
        -------
        Policy
            The policy.

        Raises
        ------
        PolicyError
            With the line of what is wrong.

        Examples
        --------
        >>> Policy.parse("version: 1\\nrules: ['age -> disease : l=2']").quasi
        ['age']
        """
        policy = cls._from(parse_document(text))
        policy._folder = Path(folder)
        return policy

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, folder: str | Path = ".") -> Policy:
        """A policy from plain data, as a policy file holds it.

        Parameters
        ----------
        data : dict
            The keys of a policy file.
        folder : str or Path
            Where hierarchy files are looked for.

        Returns
        -------
        Policy
            The policy.

        Raises
        ------
        PolicyError
            If something is unknown, missing or contradicts itself.

        Examples
        --------
        >>> Policy.from_dict({"version": 1, "attributes": {"disease": {"role": "sensitive", "l": 2}}}).sensitive
        ['disease']
        """
        policy = cls._from(Document(dict(data), {}, "policy"))
        policy._folder = Path(folder)
        return policy

    @classmethod
    def _from(cls, document: Document) -> Policy:
        if not isinstance(document.data, dict):
            raise PolicyError(
                f"{document.name} holds no policy. Run `pluralis init TABLE -o policy.yaml` for a first one."
            )
        try:
            policy = cls.model_validate(document.data)
        except ValidationError as error:
            raise refusal(document, error) from None
        policy._lines = Whereabouts(document.lines)
        policy._lines.name = document.name
        return policy

    def to_yaml(self) -> str:
        """The policy as text; what is left at its default is not written.

        Returns
        -------
        str
            What `parse` reads as the same policy.

        Examples
        --------
        >>> print(Policy(sensitive={"disease": 2}).to_yaml().strip())
        version: 1
        attributes:
          disease:
            role: sensitive
            l: 2
        """
        data = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        data = {key: value for key, value in data.items() if value != [] or key == "missing"}
        return yaml.safe_dump({"version": self.version, **data}, sort_keys=False, allow_unicode=True)

    def override(self, *, method: str | None = None, options: Mapping[str, Any] | None = None) -> Policy:
        """The same policy with another method, variant, suppression or option (`--method`, `--set`).

        Parameters
        ----------
        method : str, optional
            Instead of the policy's; the options of another method are dropped.
        options : dict, optional
            `variant`, `suppress`, `accept` and options of the method.

        Returns
        -------
        Policy
            A new policy.

        Examples
        --------
        >>> Policy(sensitive={"disease": 2}).override(method="anatomy", options={"suppress": 0.1}).publish.suppress
        0.1
        """
        data, top = self.publish.model_dump(), dict[str, Any]()
        for key, value in (options or {}).items():
            if key == "accept":
                top[key] = value
            elif key in ("variant", "suppress"):
                data[key] = value
            else:
                data["options"] = {**data["options"], key: value}
        if method is not None:
            data["method"] = method
            if method != self.publish.method:
                data["options"] = dict(options or {})
                for key in ("variant", "suppress", "accept"):
                    data["options"].pop(key, None)
        changed = {**self.model_dump(by_alias=True, exclude_unset=True), **top, "publish": data}
        policy = Policy.from_dict(changed, folder=self._folder)
        policy._lines = self._lines
        return policy

    @property
    def lines(self) -> Whereabouts:
        """Where its parts stand in its file."""
        return self._lines

    def where(self, *place: str | int) -> str:
        """Where a part of the policy stands in its file.

        Parameters
        ----------
        *place : str or int
            The keys that lead to it.

        Returns
        -------
        str
            The file and the line, as far as they are known.

        Examples
        --------
        >>> Policy.parse("version: 1\\nattributes: {age: {role: quasi}}").where("attributes", "age")
        'policy line 2'
        """
        return Document(None, self._lines, self._lines.name).where(place)

    def require_decided(self) -> None:
        """Refuse a policy that leaves the role of some column to be decided; the error lists all of them.

        Raises
        ------
        PolicyError
            If a column has `role: decide`.

        Examples
        --------
        >>> Policy(attributes={"steps": {"role": "decide"}}).require_decided()
        Traceback (most recent call last):
        pluralis.errors.PolicyError: The role of one column is not decided. Nothing is published before you write \
quasi, sensitive, plain or identifier in its place:
          policy, 'steps'
        """
        undecided = self.named("decide")
        if undecided:
            many = len(undecided) > 1
            raise PolicyError(
                f"The role{'s' * many} of {len(undecided) if many else 'one'} column{'s' * many} "
                f"{'are' if many else 'is'} not decided. Nothing is published before you write quasi, sensitive, "
                f"plain or identifier in {'their' if many else 'its'} place:",
                *(f"  {self.where('attributes', name)}, {name!r}" for name in undecided),
            )

    def decided_as(self, role: Role) -> Policy:
        """The same policy with this role for every column whose role is not decided.

        Parameters
        ----------
        role : {"identifier", "quasi", "plain"}
            The role.

        Returns
        -------
        Policy
            A new policy.

        Examples
        --------
        >>> Policy(attributes={"steps": {"role": "decide"}}).decided_as("plain")
        Policy, method bsgi
          steps  plain
        """
        data = self.model_dump(by_alias=True, exclude_unset=True)
        for name in self.named("decide"):
            data["attributes"][name]["role"] = role
        policy = Policy.from_dict(data, folder=self._folder)
        policy._lines = self._lines
        return policy

    @property
    def folder(self) -> Path:
        """Where hierarchy files are looked for."""
        return self._folder

    def of_part(self, known: Iterable[str], asked: Mapping[str, int], method: str) -> Policy:
        """The policy of a table of its own that shows some attributes and protects others from them.

        Parameters
        ----------
        known : iterable of str
            The attributes that it shows.
        asked : dict
            Those that it protects, with their l.
        method : str
            The method that makes it.

        Returns
        -------
        Policy
            A policy of these attributes alone.

        Examples
        --------
        >>> policy = Policy(quasi=["age", "sex"], sensitive={"disease": 3, "pay": 2})
        >>> policy.of_part(["age"], {"pay": 2}, "anatomy")
        Policy, method anatomy
          age  quasi
          pay  sensitive  l=2
        """
        attributes: dict[str, Attribute] = {}
        for name in known:
            column = self.columns[name]
            kind: Literal["text", "number"] = "text" if column.bin or column.is_banded else column.type
            tree = column.hierarchy if column.role == "quasi" else None
            attributes[name] = Attribute(
                role="quasi", type=kind, hierarchy=tree, weight=column.weight, case=column.case
            )
        for name, l in asked.items():
            column = self.columns[name]
            attributes[name] = Attribute(
                role="sensitive",
                type=column.type,
                l=l,
                model=column.model,
                c=column.c,
                at_most=column.at_most,
                gain=column.gain,
                t=column.t,
                bin=column.bin,
                breaks=column.breaks,
                bins=column.bins,
                case=column.case,
            )
        publishing = Publishing(method=method)
        return Policy(attributes=attributes, person=self.person, publish=publishing, folder=self._folder)

    def with_bounds(self, at_most: Mapping[str, Mapping[str, str]]) -> Policy:
        """The same policy with other bounds of named values.

        Parameters
        ----------
        at_most : dict
            For each attribute its values with their shares.

        Returns
        -------
        Policy
            A new policy.

        Examples
        --------
        >>> Policy(sensitive={"ill": {"at_most": {"yes": "1/4"}}}).with_bounds({"ill": {"Yes": "1/4"}})
        Policy, method bsgi
          ill  sensitive  Yes at most 1/4
        """
        return self._changed({name: {"at_most": dict(bounds)} for name, bounds in at_most.items()})

    def with_l_alone(self, ls: Mapping[str, int]) -> Policy:
        """The same policy, asking nothing but l of some attributes: no `at_most` and no `gain`.

        Parameters
        ----------
        ls : dict
            The attributes with their l.

        Returns
        -------
        Policy
            A new policy.

        Examples
        --------
        >>> Policy(sensitive={"ill": {"at_most": {"Yes": "1/4"}}}).with_l_alone({"ill": 4})
        Policy, method bsgi
          ill  sensitive  l=4
        """
        return self._changed({name: {"l": l, "at_most": None, "gain": None} for name, l in ls.items()})

    def _changed(self, keys: Mapping[str, Mapping[str, Any]]) -> Policy:
        """The same policy with other keys of some attributes, which are sound."""
        attributes = {
            name: attribute.model_copy(update=dict(keys.get(name, {}))) for name, attribute in self.attributes.items()
        }
        return self.model_copy(update={"attributes": attributes})

    def _parts(self) -> Iterator[str | Columns]:
        publish = self.publish
        words = ["Policy", f"method {publish.method}", *(f"{name}={value}" for name, value in publish.options.items())]
        words += [f"variant {publish.variant}"] * (publish.variant != "hardened")
        words += [f"up to {publish.suppress:.1%} of rows suppressed"] * (publish.suppress > 0)
        words += [f"k={self.k}"] * (self.k is not None) + [f"person {self.person}"] * (self.person is not None)
        words += ["other columns dropped"] * (self.others is not None)
        yield ", ".join(words)
        rows = [[name, str(column.role), column.brief()] for name, column in self.columns.items()]
        yield Columns(("", "", ""), rows)
        yield from (f"  rule {rule}" for rule in self.rules)
        yield from (f"  an adversary knows {', '.join(adversary.knows)}" for adversary in self.adversaries)

    def check_columns(self, present: list[str]) -> None:
        """Refuse a table whose columns are not the ones this policy speaks of.

        Parameters
        ----------
        present : list of str
            The columns of the table.

        Raises
        ------
        PolicyError
            If one is missing, or nothing is said of one.

        Examples
        --------
        >>> Policy(sensitive={"disease": 2}).check_columns(["diseases"])
        Traceback (most recent call last):
        pluralis.errors.PolicyError: The policy names 'disease', the table has no such column. Did you mean 'diseases'?
        """
        needed = self.needed
        for name in needed:
            if name not in present:
                rule = next((rule for rule in self.rules if name in (*rule.knows, rule.protects)), None)
                who = f"The rule `{rule}`" if rule is not None and name not in self.attributes else "The policy"
                raise PolicyError(f"{who} names {name!r}, the table has no such column. {did_you_mean(name, present)}")
        unnamed = [name for name in present if name not in needed]
        if unnamed and self.others is None:
            shown = ", ".join(map(repr, unnamed[:8])) + (", …" if len(unnamed) > 8 else "")
            raise PolicyError(
                f"The policy says nothing about {shown}. Give each a role, or write `others: drop` to leave them out."
            )


def as_policy(policy: Policy | str | Path) -> Policy:
    """A policy, or the one that a file holds."""
    if not isinstance(policy, Policy | str | Path):
        raise PolicyError(f"A policy is a pls.Policy or a file, not {type(policy).__name__}. Try Policy.from_dict.")
    return policy if isinstance(policy, Policy) else Policy.read(policy)
