"""Ranks that torch's own messages report missing: from a monitored barrier, or from the set-up of a communicator."""

from __future__ import annotations

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import Rule
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import RankSet


def named(facts: Facts) -> RankSet:
    """Ranks that torch's own message names as missing, and that no evidence shows in a wait."""
    reported = [said for seen in facts.evidence.ranks if seen.page is None for said in seen.reported]
    return RankSet.of(rank for said in reported for rank in said.missing) - facts.waiting


def of_missing(rule: Rule, facts: Facts, missing: RankSet) -> Diagnosis:
    """The diagnosis of the ranks that `named` found."""
    tellers = [seen for seen in facts.evidence.ranks if any(said.missing for said in seen.reported)]
    teller = tellers[0]
    op = next(said.op for said in teller.reported if said.missing)
    waiting = RankSet.of(seen.rank for seen in tellers)
    site = facts.state(teller.rank).site
    where = f"{op} at {wording.place(site)}" if site else op
    who = wording.ranks(missing)
    return diagnosis(
        rule,
        facts.waiting,
        confidence=Confidence.POSSIBLE,
        blame=Confidence.LIKELY,
        culprits=missing,
        summary=f"{who} did not reach {where}, where {wording.ranks(waiting)} timed out",
        why=(
            f"torch's own message names {who}. What {wording.verb(missing, 'it', 'they')} did instead, none of the "
            "given lines shows."
        ),
        fix=(
            f"Check the log, the exit status and the stack of {who}; py-spy dump shows where a rank that is still "
            "alive is."
        ),
        locations=(*facts.locations_of(missing), *facts.locations_of(facts.waiting)),
        evidence=tuple(
            f"rank {seen.rank} misses {wording.ranks(RankSet.of(said.missing))} in {said.op}"
            for seen in tellers[:8]
            for said in seen.reported
            if said.missing
        ),
    )
