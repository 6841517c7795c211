"""How a policy names a hierarchy: which wider value each value may be published as."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from pluralis.policy.strict import Strict

Period = Literal["day", "month", "year"]


class FileHierarchy(Strict):
    """A tree in ARX's format: a line per leaf, the leaf first, its ancestors after it, `;` or `,` between."""

    file: str

    def brief(self) -> str:
        return self.file


class MaskHierarchy(Strict):
    """One character more is hidden at each level: 10075, 1007*, 100**, … , *."""

    mask: Literal["right", "left"]

    def brief(self) -> str:
        return f"mask {self.mask}"


class IntervalHierarchy(Strict):
    """Numbers in ever wider intervals; each width is a multiple of the one before."""

    intervals: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)]
    start: float = 0

    def brief(self) -> str:
        return f"intervals {', '.join(f'{width:g}' for width in self.intervals)}"


class ColumnsHierarchy(Strict):
    """Columns of the table itself, each of which decides the next: zipcode, county, region."""

    columns: Annotated[list[str], Field(min_length=1)]

    def brief(self) -> str:
        return f"columns {', '.join(self.columns)}"

    def wider(self, name: str) -> list[str]:
        """The columns above a column, which may stand first itself."""
        return self.columns[1:] if self.columns[0] == name else self.columns


class IcdHierarchy(Strict):
    """Codes of diagnoses: code, category, section, chapter, *."""

    icd: Literal[9, 10]

    def brief(self) -> str:
        return f"ICD-{self.icd}"


class DateHierarchy(Strict):
    """Dates in ISO form: the date, its month 2024-05, its year 2024, *."""

    date: Annotated[list[Period], Field(min_length=1)]

    def brief(self) -> str:
        return f"date {', '.join(self.date)}"


TextHierarchy = FileHierarchy | MaskHierarchy | ColumnsHierarchy | IcdHierarchy | DateHierarchy

KEYS = ("file", "mask", "intervals", "columns", "icd", "date")
_NAMES = dict(
    zip(
        ("FileHierarchy", "MaskHierarchy", "IntervalHierarchy", "ColumnsHierarchy", "IcdHierarchy", "DateHierarchy"),
        KEYS,
        strict=True,
    )
)


def _which_hierarchy(spec: Any) -> str | None:
    if isinstance(spec, dict):
        return next((key for key in KEYS if key in spec), None)
    return _NAMES.get(type(spec).__name__)


AnyHierarchy = Annotated[
    Annotated[FileHierarchy, Tag("file")]
    | Annotated[MaskHierarchy, Tag("mask")]
    | Annotated[IntervalHierarchy, Tag("intervals")]
    | Annotated[ColumnsHierarchy, Tag("columns")]
    | Annotated[IcdHierarchy, Tag("icd")]
    | Annotated[DateHierarchy, Tag("date")],
    Discriminator(
        _which_hierarchy,
        custom_error_type="no_hierarchy",
        custom_error_message="write {file: NAME}, {mask: right}, {mask: left}, {intervals: [5, 10]}, "
        "{columns: [county, region]}, {icd: 9}, {icd: 10} or {date: [month, year]}",
    ),
]
