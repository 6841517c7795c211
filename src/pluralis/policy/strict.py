"""What all parts of a policy have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Whole = Annotated[int, Field(strict=True)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class Strict(BaseModel):
    """Unknown keys are errors, and what was read does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)
