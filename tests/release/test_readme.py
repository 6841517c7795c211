"""The README of a release shows names and remarks as text, whatever they hold."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pluralis.display.escaping import markdown, printable
from pluralis.policy.policy import Policy
from pluralis.publishing.pipeline import publish
from pluralis.release.kinds.bucketized import Bucketized
from pluralis.release.manifest import Claim, Manifest
from pluralis.release.readme import release_readme
from support.sample_tables import KEY, PATIENTS, policy_of

NAMES = [
    "<script>alert(1)</script>",
    "[link](http://evil.example)",
    "](javascript:alert(1))",
    "![x](http://evil.example/x.png)",
    "`code` ``",
    "a | b",
    "[bold]x[/] [link=http://evil.example]y[/link]",
    "<http://evil.example>",
    "http://evil.example www.evil.example me@evil.example",
    "*a* _b_ **c** ~~d~~ &lt; &#106;",
    "a\n# Every claim holds",
    "a\n\n- forged",
    "x\u202ey\x1b[2J",
    "\\[x](y)",
    "# heading",
    "1. one",
    "- item",
    "=====",
    "> quote",
    "[x]: http://evil.example",
    "```sh",
    "+ a",
]


class Shown(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.tags = "", list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002, as its parent calls it
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(text: str) -> Shown:
    return Shown(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


def words(text: str) -> str:
    return re.sub(r"\s+", " ", printable(text)).strip()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_text(name: str) -> None:
    page = shown(f"- {markdown(name)}\n- after\n")
    assert page.tags == ["ul", "li", "li"]
    assert " ".join(page.text.split()) == f"{words(name)} after"


@given(st.text(st.sampled_from("ab1 .-+*_`[]()<>!#|~&:/\\\n=@'\"{}"), max_size=20))
def test_any_text_is_text(name: str) -> None:
    page = shown(f"- x {markdown(name)} x\n")
    assert page.tags == ["ul", "li"]
    assert re.sub(r"\s", "", page.text) == re.sub(r"\s", "", printable(f"x{name}x"))


def test_claims_and_remarks_of_a_manifest() -> None:
    claims = tuple(Claim(rule=name, adversary=("age",), attribute="disease", model="frequency", l=2) for name in NAMES)
    parameters = Bucketized.parameters(linked=True, l={}, options={}).model_copy(update={"csv_escape": NAMES[1]})
    manifest = Manifest(
        method=NAMES[4], variant=NAMES[0], kind="bucketized", rows=2, suppressed=0, claims=claims,
        breaks=tuple(NAMES), parameters=parameters, tables=(),
    )  # fmt: skip
    page = shown(release_readme(manifest))
    assert set(page.tags) <= {"h1", "h2", "p", "ul", "li", "code"}
    assert page.tags.count("h1") == 1
    assert page.tags.count("h2") == 2
    text = " ".join(page.text.split())
    assert all(words(name) in text for name in NAMES)


def test_columns_with_such_names() -> None:
    for name in ("<script>", "[link](http://x)", "](javascript:x)", "`", "a|b", "[bold]"):
        policy = policy_of(
            {name: {"role": "quasi", "type": "number"}, f"disease {name}": {"role": "sensitive", "l": 2}},
            others="drop",
            method="anatomy",
        )
        people = PATIENTS.rename({"age": name, "disease": f"disease {name}"})
        page = shown(release_readme(publish(people, policy, key=KEY, attacks=False).manifest))
        assert set(page.tags) <= {"h1", "h2", "p", "ul", "li", "code"}
        assert name in page.text


def test_bare_addresses_are_no_links() -> None:
    """Some readers make links of them; none of the forms that they look for is left."""
    escaped = markdown("http://evil.example WWW.evil.example me@evil.example ftp://x")
    assert not re.search(r"(?i)\w://|www\.|\w@\w", escaped)


@pytest.mark.parametrize(
    ("method", "age", "pay", "said"),
    [
        ("incognito", {"hierarchy": {"intervals": [10, 20, 40]}, "top": 90, "bottom": 25}, {}, True),
        ("anatomy", {"top": 90, "bottom": 25}, {}, False),
        ("anatomy", {}, {"bin": 20, "top": 90, "bottom": 25}, True),
    ],
)
def test_a_label_that_holds_the_top_holds_all_above(method: str, age: Any, pay: Any, said: bool) -> None:
    numbers = [20, 30, 40, 50, 60, 70, 80, 105] * 5
    people = pl.DataFrame({"age": numbers, "pay": numbers[::-1]})
    quasi, sensitive = {"age": {"type": "number", **age}}, {"pay": {"type": "number", "l": 2, **pay}}
    text = release_readme(publish(people, Policy(quasi=quasi, sensitive=sensitive, method=method), key=KEY).manifest)
    name = "age" if age else "pay"
    above = ": a label that holds 90 holds every number above it, whatever its upper end" if said else ""
    below = ": a label that holds 25 holds every number below it, whatever its lower end" if said else ""
    assert f"- In `{name}` `90` means 90 or more{above}.\n" in text
    assert f"- In `{name}` `25` means 25 or less{below}.\n" in text
