"""ICD-9 and ICD-10: every category has one section and one chapter, and only codes are codes."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

from pluralis.table.icd import icd_line, sections
from support.data_files import data_file

# numbers that are no category of ICD-9-CM: between the last category of a section and the first of the next
NONE = """019 028 029 043 044 067 068 069 089 105 106 107 108 109 119 166 167 168 169 177 178 247 248 328 329 399 400
406 407 408 409 418 419 439 450 467 468 469 479 489 497 498 499 509 544 545 546 547 548 549 554 559 609 613 687 688 689
699 849 855 856 857 858 859 888 889 898 899""".split()  # noqa: SIM905


def inside(category: str, span: str) -> bool:
    first, _, last = span.partition("-")
    return first <= category <= (last or first)


def test_every_three_digits_of_icd_9_have_one_section_and_chapter_or_are_no_category() -> None:
    placed = sections(9)
    numbers = [f"{number:03}" for number in range(1, 1000)]
    assert [number for number in numbers if number not in placed] == NONE
    spans = set(placed.values())
    for number in set(numbers) - set(NONE):
        assert [span for span in spans if inside(number, span[0]) and span[0][0].isdigit()] == [placed[number]]
        assert inside(number, placed[number][1])


def test_v_and_e_codes_of_icd_9() -> None:
    placed = sections(9)
    assert [v for v in (f"V{i:02}" for i in range(1, 92)) if v not in placed] == []
    assert {placed[f"E{i}"][1] for i in range(800, 1000) if f"E{i}" in placed} == {"E000-E999"}
    assert [i for i in range(800, 1000) if f"E{i}" not in placed] == [808, 809, 839, 859, 877, 889]


def test_categories_of_icd_10_lie_in_their_sections_and_chapters() -> None:
    placed = sections(10)
    for category, (section, chapter) in placed.items():
        if category[2].isdigit():
            assert inside(category, section)
        assert inside(category, chapter) or category == "O9A"
    assert len({section for section, _ in placed.values()}) > 200
    assert len({chapter for _, chapter in placed.values()}) == 22


def test_a_section_belongs_to_one_chapter() -> None:
    for revision in (9, 10):
        pairs = sorted(set(sections(revision).values()))
        assert all(one[0] != two[0] for one, two in itertools.pairwise(pairs))


@pytest.mark.parametrize(
    ("code", "revision", "line"),
    [("250.01", 9, ["250.01", "250", "249-259", "240-279", "*"]),
     ("25001", 9, ["25001", "250", "249-259", "240-279", "*"]),
     ("042", 9, ["042", "042", "042", "001-139", "*"]), ("V27.0", 9, ["V27.0", "V27", "V20-V29", "V01-V91", "*"]),
     ("E8120", 9, ["E8120", "E812", "E810-E819", "E000-E999", "*"]), ("8", 9, ["8", "008", "001-009", "001-139", "*"]),
     ("v30", 9, ["v30", "V30", "V30-V39", "V01-V91", "*"]), ("E11.9", 10, ["E11.9", "E11", "E08-E14", "E00-E90", "*"]),
     ("C4A0", 10, ["C4A0", "C4A", "C43-C44", "C00-D49", "*"]),
     ("S72001A", 10, ["S72001A", "S72", "S70-S79", "S00-T98", "*"])],
)  # fmt: skip
def test_lines_of_codes(code: str, revision: int, line: list[str]) -> None:
    assert icd_line(code, revision) == line


@pytest.mark.parametrize(
    "text", ["", "flu", "?", "2500000", "25.123", "V2", "E81", "250.", "000", "019", "-250", "1e3"]
)
def test_what_is_no_code_of_icd_9(text: str) -> None:
    line = icd_line(text, 9)
    assert line is None or (text == "250." and line[1] == "250")


@pytest.mark.parametrize("text", ["", "flu", "250", "A1", "AA1", "A00.", "A0012345", "G33", "G48.1"])
def test_what_is_no_code_of_icd_10(text: str) -> None:
    assert icd_line(text, 10) is None


def test_every_code_of_real_claims_has_a_line() -> None:
    claims = pl.read_parquet(data_file("desynpuf_inpatient_claims.parquet"))
    names = [name for name in claims.columns if name.startswith("icd9_dx") or name == "admitting_icd9"]
    assert len(names) == 10
    for name in names:
        codes = claims[name].drop_nulls().unique().to_list()
        assert [code for code in codes if icd_line(code, 9) is None] == []
