"""The advice of DD271: in order of likelihood, without what the evidence excludes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.diagnose.offline import transport
from ddpdoctor.diagnose.offline.transport import Advice
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose.builders import At, Doing, job

NCCL, GLOO = frozenset({"nccl"}), frozenset({"gloo"})
AT = At()


def _places(advice: Advice, *words: str) -> list[int]:
    """Where each word first occurs, -1 where it does not."""
    return [advice.numbered().find(word) for word in words]


def test_the_first_operation_on_one_machine() -> None:
    found = transport.advise(NCCL, nodes=False, seq=1)
    places = _places(found, "NCCL_P2P_DISABLE", "ACS", "IOMMU", "NCCL_SHM_DISABLE", "NCCL_NVLS_ENABLE", "xid")
    assert -1 not in places
    assert places == sorted(places)
    # THEN the fabric between machines is not asked for, and the report says why
    assert _places(found, "NCCL_IB_DISABLE", "NCCL_SOCKET_IFNAME") == [-1, -1]
    assert "one machine" in found.excluded[0]


def test_the_first_operation_on_several_machines() -> None:
    places = _places(transport.advise(NCCL, nodes=True, seq=2), "NCCL_SOCKET_IFNAME", "NCCL_IB_DISABLE", "NCCL_P2P")
    assert -1 not in places
    assert places == sorted(places)


def test_a_later_operation_asks_for_a_device_that_dropped_out() -> None:
    found = transport.advise(NCCL, nodes=True, seq=811)
    places = _places(found, "xid", "NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_NVLS_ENABLE")
    assert -1 not in places
    assert places == sorted(places)
    assert _places(found, "NCCL_SOCKET_IFNAME") == [-1]
    assert "810 operations before" in found.excluded[0]


@pytest.mark.parametrize("nodes", [True, False, None])
def test_gloo_needs_no_gpu(nodes: bool | None) -> None:
    found = transport.advise(GLOO, nodes=nodes, seq=1)
    assert "NCCL" not in found.numbered()
    assert "gloo" in found.excluded[0]


def test_nothing_is_excluded_that_is_not_known() -> None:
    for backends in (frozenset[str](), frozenset({"cpu:gloo,cuda:nccl"}), frozenset({"gloo", "nccl"})):
        found = transport.advise(backends, nodes=None, seq=None)
        assert found.excluded == ()
        assert -1 not in _places(found, "NCCL_SOCKET_IFNAME", "NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "xid")


def on(backend: str, local_ranks: list[int | None]) -> Evidence:
    """All ranks in one all-reduce, with these places on their machines."""
    step = Doing([AT.next(3), AT.forward(4), AT.backward(5)])
    evidence = job([step] * len(local_ranks))
    ranks = [
        replace(
            seen,
            page=replace(seen.page, backend=backend) if seen.page else None,
            worker=replace(seen.worker, local_rank=local),
        )
        for seen, local in zip(evidence.ranks, local_ranks, strict=True)
    ]
    return replace(evidence, ranks=tuple(ranks))


@pytest.mark.parametrize(
    ("local_ranks", "asked", "excluded"),
    [([0, 1, 2, 3], False, True), ([0, 1, 0, 1], True, False), ([0, 1, None, 3], True, False)],
)
def test_machines_are_known_by_the_ranks_places(local_ranks: list[int | None], asked: bool, excluded: bool) -> None:
    found = examine(on("nccl", local_ranks)).diagnoses[0]
    assert found.code == "DD271"
    assert ("NCCL_IB_DISABLE" in found.fix) is asked
    assert any("one machine" in line for line in found.evidence) is excluded


def test_a_broadcast_that_everybody_has_entered() -> None:
    step = Doing([AT.next(3), AT.broadcast(4, 0)])
    found = examine(job([step, step, step])).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD271", ())


def test_a_broadcast_from_two_roots_is_no_transport_stall() -> None:
    one, other = Doing([AT.next(3), AT.broadcast(4, 0)]), Doing([AT.next(3), AT.broadcast(4, 1)])
    assert "DD271" not in {d.code for d in examine(job([one, other, one])).diagnoses}
