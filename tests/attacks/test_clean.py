"""Clean releases, which several attacks are shown: none raises an alarm."""

from __future__ import annotations

import pytest

from pluralis.attacks import Options, attacks
from support.effort import tries
from support.planted_releases import KINDS, clean, clean_by_hand

PUBLISHED = {
    "association": 40,
    "background": 80,
    "homogeneity": 160,
    "linkage": 200,
    "prior": 30,
    "skewness": 200,
}  # at least so many in a long run
BY_HAND = [(name, kind, tries(70)) for name in ("background", "homogeneity") for kind in KINDS]
BY_HAND += [("linkage", kind, tries(100)) for kind in ("generalized", "sliced")]  # where k is promised


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_releases_raise_no_alarm(name: str) -> None:
    attack = attacks()[name]
    exposed = [one for one in clean() if attack.applies(one.release)]
    assert len(exposed) >= PUBLISHED[name] * tries(30) // 30
    for one in exposed:
        results = attack.run(one.release, one.original, Options())
        assert results
        assert not [result for result in results if result.breach]


@pytest.mark.parametrize(("name", "kind", "many"), BY_HAND)
def test_groups_by_hand_raise_no_alarm(name: str, kind: str, many: int) -> None:
    """Promises of all kinds that hold, and each could have been broken: 200 or more for each attack in a long run."""
    attack = attacks()[name]
    for seed in range(many):
        one = clean_by_hand(kind, seed)
        assert attack.applies(one.release)
        results = attack.run(one.release, one.original, Options())
        assert [result for result in results if result.promised is not None]
        assert not [result for result in results if result.breach]
