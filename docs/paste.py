"""Paste what the program prints into the docs, and write the policy's JSON Schema.

`python docs/paste.py` rewrites what is stale; `--check` only says what is, and exits with 1. In a Markdown file the
lines between `<!-- paste: COMMAND -->` and `<!-- end -->` are what COMMAND prints; `the module graph` is drawn.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

DOCS = Path(__file__).resolve().parent
SCHEMA = DOCS.parent / "src" / "pluralis" / "policy" / "policy.schema.json"
GRAPH = re.compile(r"(<!-- paste: the module graph -->\n).*?(<!-- end -->)", re.DOTALL)
PASTED = re.compile(r"(<!-- paste: pluralis (?P<words>.*?) ?-->\n).*?(<!-- end -->)", re.DOTALL)
RUN = "import sys; sys.argv[0] = 'pluralis'; from pluralis.cli.main import main; main()"
SETTINGS = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


@cache
def printed(words: str) -> str:
    """What a command prints, without blanks at the ends of lines."""
    ran = subprocess.run(
        [sys.executable, "-c", RUN, *words.split()],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
        env={**os.environ, **SETTINGS, "PYTHONUTF8": "1"},
    )
    return "\n".join(line.rstrip() for line in ran.stdout.strip("\n").splitlines()).strip("\n")


def pasted(text: str) -> str:
    """The text with every pasted part fresh."""
    text = PASTED.sub(lambda part: f"{part[1]}\n```\n{printed(part['words'])}\n```\n\n{part[3]}", text)
    return GRAPH.sub(lambda part: f"{part[1]}\n```mermaid\n{module_graph()}\n```\n\n{part[2]}", text)


@cache
def module_graph() -> str:
    """Which package imports which."""
    sys.path.insert(0, str(DOCS))
    try:
        from module_graph import mermaid
    finally:
        sys.path.remove(str(DOCS))
    return mermaid()


def schema() -> str:
    """The JSON Schema of a policy."""
    from pluralis.policy.policy import Policy

    return json.dumps(Policy.model_json_schema(), indent=1) + "\n"


def stale() -> Iterator[tuple[Path, str]]:
    """Files that are not what they should be, and what that is."""
    for path in [*sorted(DOCS.rglob("*.md")), DOCS.parent / "ARCHITECTURE.md"]:
        text = path.read_text(encoding="utf-8")
        if (fresh := pasted(text)) != text:
            yield path, fresh
    fresh = schema()
    if not SCHEMA.exists() or SCHEMA.read_text(encoding="utf-8") != fresh:
        yield SCHEMA, fresh


def main(check: bool) -> int:
    pages = list(stale())
    for path, fresh in pages:
        name = path.relative_to(DOCS.parent)
        if check:
            print(f"{name} is stale. Run `make docs`.", file=sys.stderr)
        else:
            path.write_text(fresh, encoding="utf-8")
            print(f"wrote {name}")
    return 1 if check and pages else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
