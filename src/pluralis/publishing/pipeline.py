"""From a table and a policy to an audited release.

`publish` decides, builds in memory and attacks what it built; `Publication.save` stages the files, audits the staged
bytes and only then lets them become visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pluralis.assembling.building import Built, build
from pluralis.attacks import Result
from pluralis.comparison.choice import choose
from pluralis.method import AUTO
from pluralis.policy.policy import Policy, as_policy
from pluralis.progress import stage
from pluralis.publishing.attack_scores import (
    measured,
    not_stopped,
    remarks_on_cells,
    remarks_on_names,
    remarks_on_plain,
)
from pluralis.publishing.republishing import Known
from pluralis.publishing.saving import Publication
from pluralis.randomness import Key
from pluralis.release.form import SEVERAL
from pluralis.release.release import Release
from pluralis.report.exposure import Exposure, exposures

ATTACKED = True  # a release that is built is attacked, unless whoever publishes says otherwise


def publish(
    table: object,
    policy: Policy | str | Path,
    *,
    key: Key | None = None,
    encoding: str = "utf-8",
    separator: str | None = None,
    attacks: bool | None = None,
) -> Publication:
    """Decide and build a release of a table under a policy, in memory. Nothing is visible until it is saved.

    Parameters
    ----------
    table : str, Path or data frame
        A CSV or Parquet file, or a polars, pandas or pyarrow table.
    policy : Policy, str or Path
        A policy, or a policy file. ``method: auto`` compares methods first, and takes the best.
    key : Key, optional
        To publish the same people again: that of the publication before, or `key_for` its folder. It also holds what
        must be repeated. Without it, a new one.
    encoding, separator : str
        Of a CSV file, as in `read_table`.
    attacks : bool, optional
        Whether to attack what was built; if not given, it is: 5,000 people, however large the table.

    Returns
    -------
    Publication
        The release in memory, with its loss and what attacks got; ``save`` writes it, after the audit.

    Raises
    ------
    Infeasible
        If no such release exists, with what would work.
    InputError, PolicyError
        If the table or the policy cannot be read, or do not fit.

    Examples
    --------
    >>> import polars as pl
    >>> import pluralis as pls
    >>> people = pl.DataFrame({"age": [20, 30, 40, 50], "disease": ["flu", "hiv", "flu", "gout"]})
    >>> policy = pls.Policy(quasi={"age": {"type": "number"}}, sensitive={"disease": 2})
    >>> pls.publish(people, policy, key=pls.Key.test()).tables["microdata"].rows()
    [('[20, 30]', 'flu', 1), ('[20, 30]', 'hiv', 1), ('[40, 50]', 'flu', 2), ('[40, 50]', 'gout', 2)]
    >>> pls.publish(people, pls.Policy(quasi=["age"], sensitive={"disease": 3}))
    Traceback (most recent call last):
    pluralis.errors.Infeasible: 'disease' cannot be 3-diverse: 'flu' fills 2 of 4 rows (50.0%). The largest l it \
allows is 2; set l: 2, or allow suppress: 0.25.
    """
    policy = as_policy(policy)
    asked, notes = policy, list[str]()
    if policy.publish.method == AUTO:
        policy, why = choose(table, policy, encoding=encoding, separator=separator)
        notes.append(why)
    made = build(table, policy, key or Key.new(), encoding=encoding, separator=separator, notes=notes)
    return publication_of(made, asked, attacks=ATTACKED if attacks is None else attacks)


def publication_of(made: Built, asked: Policy, *, attacks: bool, exposing: bool = True) -> Publication:
    """What was built for a policy as it was asked, attacked, and packed for saving.

    Where it is attacked, the report says how sure guesses are group by group, unless the caller does that elsewhere.
    """
    release, attacked, exposed = made.release, None, tuple[Exposure, ...]()
    if attacks:
        attacked = measured(release, made.original, made.person)
        exposed = exposures(release) if exposing else ()
    manifest = release.manifest.model_copy(update={"breaks": _breaks(release, attacked, made.people)})
    known = Known.sampled(made.original, made.people, in_order=bool(made.key.made) or asked.republish is not None)
    with stage("packing the tables"):
        remarks = (*made.notes, *remarks_on_names(made.original, asked), *remarks_on_plain(attacked or ()))
        if attacked is not None:
            remarks = (*remarks, *remarks_on_cells(made.original, asked))
        return Publication(manifest, release.tables, asked, made.key, made.loss, remarks, attacked, exposed, known)


def _breaks(release: Release, attacked: Sequence[Result] | None, people: int) -> tuple[str, ...]:
    """What a release does not stop; what was measured of several rows takes the place of the sentence without it."""
    sentences = tuple(not_stopped(release, attacked, people))
    measured_again = any(sentence.startswith(SEVERAL) for sentence in sentences)
    kept = (sentence for sentence in release.manifest.breaks if not (measured_again and sentence.startswith(SEVERAL)))
    return tuple(dict.fromkeys((*kept, *sentences)))
