"""Lists of attributes under letters: what is written once says what was written often."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from pluralis.release.attribute_lists import AttributeLists
from pluralis.release.manifest import Claim, claim_words

NAMES = ["age", "sex", "zipcode", "Q", "q", "A", "b, c", "a (b)", "race | x", "income", "job", "a very long name"]
QUASI = [f"attribute {i:02}" for i in range(40)]


def rule(known: tuple[str, ...], attribute: str = "secret") -> tuple[str, tuple[str, ...]]:
    claim = Claim(rule="", model="frequency", adversary=known, attribute=attribute, l=3)
    return claim_words(claim, "generalized"), known


@given(st.sets(st.sampled_from(NAMES)), st.lists(st.sets(st.sampled_from(NAMES), min_size=1).map(tuple), min_size=1))
@example({"age", "sex"}, [("age", "sex"), ("age", "sex", "job")])
def test_letters_are_no_names_and_every_sentence_stays_its_own(quasi: set[str], known: list[tuple[str, ...]]) -> None:
    rules = [rule(whom) for whom in known]
    lists = AttributeLists.over(quasi, rules)
    names = {name.casefold() for name in quasi.union(*known)}
    assert not {letter.casefold() for letter in lists.defined} & names
    assert len({lists.shortened(words) for words, _ in rules}) == len({words for words, _ in rules})
    assert all(lists.shortened(words).startswith("P(secret | ") for words, _ in rules)
    assert all(lists.shortened(words).endswith(") ≤ 1/3") for words, _ in rules)


def test_forty_columns_are_written_once() -> None:
    rules = [rule(tuple(QUASI)), rule((*QUASI, "job")), rule((*QUASI[:30], "job"))]
    lists = AttributeLists.over(QUASI, rules)
    assert [lists.shortened(words) for words, _ in rules] == [
        "P(secret | Q) ≤ 1/3", "P(secret | Q, job) ≤ 1/3", "P(secret | A) ≤ 1/3",
    ]  # fmt: skip
    assert lists.defined["Q"] == "every quasi-identifier: " + ", ".join(QUASI)
    assert lists.defined["A"] == f"Q without {', '.join(QUASI[30:])}, and job"
    assert lists.in_question(f"job, knowing {', '.join(QUASI)}, pay") == "job, knowing Q, pay"
    for known, short in ((QUASI[2:], f"Q without {', '.join(QUASI[:2])}"), ([*QUASI[:30], "job"], "A")):
        asked = f"pay, knowing {', '.join(known)}, and more"
        assert lists.in_question(asked, known) == f"pay, knowing {short}, and more"
    assert lists.in_question(f"job, knowing {', '.join(QUASI)}x") == f"job, knowing {', '.join(QUASI)}x"


def test_what_is_short_and_occurs_once_is_left_as_it_is() -> None:
    lists = AttributeLists.over(["age", "sex"], [rule(("age", "sex"))])
    assert lists == AttributeLists(quasi=("age", "sex"))
    words, _ = rule(("age", "sex"))
    assert lists.shortened(words) == words


def test_a_sentence_that_is_no_claim_is_left_as_it_is() -> None:
    lists = AttributeLists.over(["age", "sex"], [rule(("age", "sex")), rule(("age", "sex"), "other")])
    assert lists.shortened("P(evil | age, sex) ≤ 1/9") == "P(evil | age, sex) ≤ 1/9"
