"""Privacy rules: `hospital, race -> zipcode : l=3`.

Read it as: whoever knows hospital and race must not guess zipcode with more than 1/3.
"""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

_RULE = re.compile(r"(?P<left>.*?)->(?P<right>.*?)(:\s*l\s*=\s*(?P<l>\S+)\s*)?$")


class Rule(BaseModel):
    """Knowing these attributes must not reveal that one.

    >>> print(Rule.parse("race, hospital -> zipcode : l=3"))
    hospital, race -> zipcode : l=3
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    knows: tuple[str, ...]
    protects: str
    l: int

    @classmethod
    def parse(cls, text: str) -> Rule:
        match = _RULE.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a rule. Write `age, sex -> disease : l=3`.")
        knows = [name.strip() for name in match["left"].split(",")]
        protects = match["right"].strip()
        if not all(knows) or not protects or "," in protects:
            raise ValueError(f"{text!r}: name at least one known attribute and exactly one protected one.")
        if protects in knows:
            raise ValueError(
                f"{text!r}: {protects!r} stands on both sides. Whoever knows it has nothing to learn; remove it."
            )
        if match["l"] is None or not re.fullmatch(r"\d{1,9}", match["l"]) or int(match["l"]) < 2:
            raise ValueError(f"{text!r}: end the rule with `: l=2` or a larger whole number.")
        return cls(knows=tuple(sorted(set(knows))), protects=protects, l=int(match["l"]))

    def __str__(self) -> str:
        return f"{', '.join(self.knows)} -> {self.protects} : l={self.l}"
