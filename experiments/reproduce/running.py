"""Running a paper's experiments, point by point, so that an interrupted run goes on where it stopped.

Each point that is done is a line of `<experiment>.part.jsonl` beside the results. When all experiments of the paper are
done they become its CSV files, and the parts go. Parts of another version of the experiment are not used.
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import importlib
import json
import platform
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

import pluralis
from experiments.reproduce.paper import Experiment, Lab, Paper, Printed, Results
from pluralis.errors import InputError, did_you_mean
from pluralis.progress import stage

CHECKOUT = Path(__file__).resolve().parents[2]
PAPERS = ("bsgi", "decomposition", "sloms", "randomized-addition", "versatile")


def load(name: str) -> Paper:
    """A paper of this checkout."""
    if name not in PAPERS:
        raise InputError(f"There is no paper {name!r}. {did_you_mean(name, PAPERS)}")
    paper: Paper = importlib.import_module(f"experiments.{name.replace('-', '_')}.run").PAPER
    return paper


def printed(paper: Paper) -> Printed:
    """What the paper printed."""
    return tomllib.loads((folder_of(paper, CHECKOUT) / "expected.toml").read_text(encoding="utf-8"))


def folder_of(paper: Paper, root: Path) -> Path:
    return root / "experiments" / paper.folder


def run(paper: Paper, lab: Lab, root: Path) -> None:
    """Measure every point, and write results and what they were measured on."""
    for name in paper.data:
        lab.file(name)
    folder = folder_of(paper, root) / "results"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [folder / f"{experiment.name}.part.jsonl" for experiment in paper.experiments]
    done = [
        _measured(experiment, lab, part, f"{paper.name}, {experiment.title}", _fingerprint(paper, lab))
        for experiment, part in zip(paper.experiments, parts, strict=True)
    ]
    for experiment, (rows, _) in zip(paper.experiments, done, strict=True):
        _write(folder / f"{experiment.name}.csv", rows)
    seconds = sum(seconds for _, seconds in done)
    (folder / "about.json").write_text(json.dumps(_about(lab, seconds), indent=1) + "\n")
    for part in parts:
        part.unlink()


def has_results(paper: Paper, root: Path) -> bool:
    """Whether the paper was run to its end."""
    return (folder_of(paper, root) / "results" / "about.json").is_file()


def results(paper: Paper, root: Path) -> Results:
    """What was measured before."""
    folder = folder_of(paper, root) / "results"
    paths = {experiment.name: folder / f"{experiment.name}.csv" for experiment in paper.experiments}
    if not has_results(paper, root) or not all(path.is_file() for path in paths.values()):
        raise InputError(f"{folder} has no results of {paper.name}. Run `pluralis reproduce {paper.name}` to its end.")
    return {name: pl.read_csv(path, infer_schema_length=None) for name, path in paths.items()}


def about(paper: Paper, root: Path) -> dict[str, Any]:
    """When and where results were measured."""
    circumstances: dict[str, Any] = json.loads(
        (folder_of(paper, root) / "results" / "about.json").read_text(encoding="utf-8")
    )
    return circumstances


def _measured(
    experiment: Experiment, lab: Lab, part: Path, title: str, fingerprint: str
) -> tuple[list[dict[str, Any]], float]:
    """The rows of all points, and how long these took."""
    points = experiment.quick if lab.quick else experiment.points
    known = dict(_known(part, fingerprint))
    lines = [json.dumps(fingerprint), *(json.dumps([key, *measured]) for key, measured in known.items())]
    part.write_text("\n".join(lines) + "\n", encoding="utf-8")  # without a line that was cut off
    with stage(title) as done, part.open("a", encoding="utf-8") as file:
        for i, point in enumerate(points):
            key = json.dumps(point, sort_keys=True)
            if key not in known:
                begin = time.perf_counter()
                rows = [dict(row) for row in experiment.measure(point, lab)]
                known[key] = rows, time.perf_counter() - begin
                file.write(json.dumps([key, *known[key]]) + "\n")
                file.flush()
            done((i + 1) / len(points))
    measured = [(point, *known[json.dumps(point, sort_keys=True)]) for point in points]
    rows = [{**point, **row} for point, rows, _ in measured for row in rows]
    return rows, sum(seconds for _, _, seconds in measured)


def _known(part: Path, fingerprint: str) -> Iterator[tuple[str, tuple[list[dict[str, Any]], float]]]:
    """Points that are done; a line that was cut off by an interruption is not."""
    lines = part.read_text(encoding="utf-8").split("\n") if part.is_file() else []
    if not lines or lines[0] != json.dumps(fingerprint):
        return
    for line in lines[1:-1]:
        key, rows, seconds = json.loads(line)
        yield key, (rows, seconds)


def _fingerprint(paper: Paper, lab: Lab) -> str:
    """What a measurement depends on: the program, what runs experiments, this one, and which run it is."""
    digest = hashlib.sha256(f"{pluralis.__version__} {lab.quick}".encode())
    own = [
        p for p in folder_of(paper, CHECKOUT).rglob("*.*") if p.parent.name not in ("results", "figures", "__pycache__")
    ]
    shared = [*Path(__file__).parent.glob("*.py"), *Path(pluralis.__file__).parent.rglob("*.py")]
    for path in sorted([*own, *shared]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def _about(lab: Lab, seconds: float) -> dict[str, Any]:
    known = Path("/proc/cpuinfo")
    facts = known.read_text().splitlines() if known.exists() else []
    chip = next((line.split(":")[1].strip() for line in facts if line.startswith("model name")), "")
    return {
        "date": datetime.date.today().isoformat(),
        "machine": chip or platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "pluralis": pluralis.__version__,
        "quick": lab.quick,
        "seconds": round(seconds),
    }
