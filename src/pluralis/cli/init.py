"""`pluralis init`: a first policy, to edit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pluralis.cli.options import AsJson, Encoding, Separator, TableFiles, read
from pluralis.cli.progress_bars import progress
from pluralis.cli.terminal import terminal
from pluralis.display.escaping import print_json
from pluralis.errors import OutputError


def init(
    table: TableFiles,
    out: Annotated[Path, typer.Option("--out", "-o", help="The policy file to write.")] = Path("policy.yaml"),
    encoding: Encoding = "utf-8",
    separator: Separator = None,
    as_json: AsJson = False,
) -> None:
    """Write a first policy with comments, to edit. It is tried on the table before it is written."""
    from pluralis.policy.policy import Policy
    from pluralis.profiling.drafting import drafted, left_out_words, not_suggested_words, written
    from pluralis.profiling.profiles import profile as look_at

    if out.exists():
        raise OutputError(f"{out} exists already. Choose another name with -o, or remove it.")
    with progress():
        draft = drafted(look_at(read(table, encoding, separator)))
    text = written(draft)
    undecided = Policy.parse(text).named("decide")
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(f"{out} exists already. Choose another name with -o, or remove it.") from None
    except OSError as error:
        raise OutputError(f"Cannot write {out}: {error.strerror}.") from None
    if as_json:
        print_json({"policy": str(out), "undecided": undecided, "left_out": draft.left_out})
        return
    console, named = terminal(), " ".join(map(str, table))
    if undecided:
        console.say(
            "{} of {}'s columns wait for you to decide what they are: {}.", len(undecided), named, ", ".join(undecided)
        )
    if draft.left_out:
        console.say("{}", left_out_words(draft.left_out))
    if draft.not_suggested:
        console.say("{}", not_suggested_words(draft.not_suggested))
    first = "decide those, read every line" if undecided else "Read every line"
    console.say("Wrote {}. {}, then: pluralis publish {} --policy {} --out release",
                out, first[0].upper() + first[1:], named, out, wrap=False)  # fmt: skip
