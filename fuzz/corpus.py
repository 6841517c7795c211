"""Cases that were faults once, kept in `fuzz/corpus`: `python -m fuzz.corpus [FILE …] [--close]` checks them again.

A case whose fault is known and not mended yet says so under `open`. `--close` takes that word out of those that pass.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from fuzz.harness import CORPUS, Fault, Fuzzer
from fuzz.run import fuzzer_named


def cases() -> list[Path]:
    """Every case that is kept; histories first, since they fork, which a process that has computed cannot do."""
    return sorted(CORPUS.glob("*.json"), key=lambda path: (not path.name.startswith("histories"), path.name))


def read(path: Path) -> dict[str, Any]:
    """A case as it was kept: `fuzzer`, `fault`, `case`, perhaps `open`."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept


def replayed(path: Path, fuzzer: Fuzzer | None = None) -> Fault | None:
    """What is wrong with a case today."""
    kept = read(path)
    return (fuzzer or fuzzer_named(kept["fuzzer"])).check(kept["case"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--close", action="store_true", help="cases that pass are no longer open")
    options = parser.parse_args()
    bad = 0
    for path in options.files or cases():
        fault, kept = replayed(path), read(path)
        bad += fault is not None and "open" not in kept
        print(f"{'passes' if fault is None else 'open  ' if 'open' in kept else 'FAULT '} {path.name}  {fault or ''}")
        if options.close and fault is None and kept.pop("open", None):
            path.write_text(json.dumps(kept, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
