"""The report on paper, as a browser prints it: a policy of 42 columns takes six pages, none of them empty."""

from __future__ import annotations

import re
import shutil
import subprocess
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pluralis as pls

BROWSER = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), "")
PAGES = 6
SECRETS = 14


def printed(page: Path, folder: Path) -> bytes:
    """The pages as PDF."""
    target = folder / "report.pdf"
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic",
               "--disable-background-networking", "--disable-component-update", "--disable-sync",
               f"--user-data-dir={folder / 'browser'}", "--no-pdf-header-footer", f"--print-to-pdf={target}",
               page.as_uri()]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return target.read_bytes()


def lines_of_text(pdf: bytes) -> list[int]:
    """How often each page of a PDF sets text."""
    objects = {int(number): body for number, body in re.findall(rb"(?ms)^(\d+) 0 obj\s(.*?)endobj", pdf)}
    pages = [body for body in objects.values() if re.search(rb"/Type\s*/Page\b(?!s)", body)]
    counts = []
    for body in pages:
        reference = re.search(rb"/Contents (\d+) 0 R", body)
        assert reference is not None
        head, _, stream = objects[int(reference[1])].partition(b"stream\n")
        length = re.search(rb"/Length (\d+)", head)
        assert length is not None
        counts.append(len(re.findall(rb"\bT[jJ]\b", zlib.decompress(stream[: int(length[1])]))))
    return counts


def people() -> tuple[pl.DataFrame, pls.Policy]:
    """Forty-two columns with names as long as those of a census; half of the secrets are rare answers."""
    random = np.random.default_rng(4)
    quasi = {f"characteristic_of_household_{i:02}": random.integers(0, 3 + i % 5, 600) for i in range(26)}
    words = np.array(["not in universe", "yes, in the last year", "yes, but before that", "never asked for it"])
    secret = {
        f"answer_to_question_number_{i:02}": words[
            random.choice(4, 600, p=[0.82, 0.08, 0.06, 0.04] if i % 2 else [0.25] * 4)
        ]
        for i in range(SECRETS)
    }
    rare = {"at_most": {str(word): "1/4" for word in words[1:]}}
    policy = pls.Policy(
        identifier=["number_of_record", "number_of_person"],
        quasi={name: {"type": "number"} for name in quasi},
        sensitive={name: rare if i % 2 else {"l": 2} for i, name in enumerate(secret)},
        adversaries=[{"knows": [*quasi, name]} for name in list(secret)[:4]],
    )
    numbers = {"number_of_record": range(600), "number_of_person": range(600)}
    return pl.DataFrame({**numbers, **quasi, **secret}), policy


def test_forty_two_columns_take_six_pages(tmp_path: Path) -> None:
    if not BROWSER:
        pytest.skip("no chromium is there to print the report: install it (Debian's package chromium)")
    table, policy = people()
    assert table.width == 42
    pls.publish(table, policy, key=pls.Key.test()).save(tmp_path / "release", allow_test=True)
    text = lines_of_text(printed(tmp_path / "release.private" / "report.html", tmp_path))
    assert 3 <= len(text) <= PAGES
    assert min(text) > 5, text
