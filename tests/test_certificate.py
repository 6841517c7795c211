"""The certificate: what was measured stands in the manifest, and is what the tables give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pluralis.audit import audit
from pluralis.publish import publish
from tables import KEY, PATIENTS, patients_policy


@pytest.mark.parametrize("method", ["bsgi", "anatomy", "mondrian", "randomized-addition", "decomposition", "uad"])
def test_the_manifest_says_what_the_audit_measured(method: str, tmp_path: Path) -> None:
    l = 2
    verdict = publish(PATIENTS, patients_policy(l, method=method), key=KEY).save(tmp_path / "release")
    measured = {finding.claim: finding.measured for finding in verdict.findings}
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert manifest["claims"]
    for claim in manifest["claims"]:
        assert claim["measured"] == measured[claim["rule"]]
        assert (
            f"- {claim['rule']} (measured {claim['measured']:.4g})" in (tmp_path / "release" / "README.md").read_text()
        )
    again = audit(tmp_path / "release")
    assert again.holds
    assert "what the manifest says was measured is what its tables give" in {f.claim for f in again.findings}


def test_a_certificate_that_says_something_else_is_refused(tmp_path: Path) -> None:
    publish(PATIENTS, patients_policy(2), key=KEY).save(tmp_path / "release")
    path = tmp_path / "release" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["claims"][0]["measured"] = 0.25
    path.write_text(json.dumps(manifest))
    verdict = audit(tmp_path / "release")
    assert [finding.claim for finding in verdict.failures] == [
        "what the manifest says was measured is what its tables give"
    ]
    assert verdict.failures[0].note == manifest["claims"][0]["rule"]
