"""Cycles of receives, and receives that form no cycle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.collectives import Kind
from ddpdoctor.model.diagnosis import Confidence, Deadlock
from ddpdoctor.model.progress import EventKind
from tests.unit.diagnose.builders import Act, At, Doing, job

AT = At()


@pytest.mark.parametrize("size", [2, 3, 5])
def test_all_receive_first(size: int) -> None:
    report = examine(job([Doing([AT.recv(4, (rank - 1) % size)]) for rank in range(size)]))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, found.confidence) == ("DD218", (), Confidence.CERTAIN)
    assert report.deadlock is Deadlock.PROVEN


def test_two_of_three_at_different_lines() -> None:
    found = examine(job([Doing([AT.recv(4, 1)]), Doing([AT.recv(9, 0)]), Doing([AT.all("barrier", 12)])])).diagnoses[0]
    assert (found.code, found.confidence) == ("DD218", Confidence.LIKELY)


def test_a_sender_in_a_collective_can_have_any_reason() -> None:
    report = examine(job([Doing([AT.recv(4, 1)]), Doing([AT.all("barrier", 12)])]))
    assert "DD218" not in [d.code for d in report.diagnoses]


def sent(peer: int) -> Act:
    return Act(EventKind.CALL, AT.line(9), "send", Kind.SEND, peer=peer)


def test_one_micro_batch_more_than_the_peer_sends() -> None:
    # GIVEN stages that reckon with three and with two micro-batches
    report = examine(job([Doing([sent(1), sent(1), AT.all("barrier", 12)]), Doing([AT.recv(4, 0)] * 3)]))
    found = report.diagnoses[0]
    # THEN the pair is told, and nobody is called guilty
    assert (found.code, found.confidence, found.culprits.members) == ("DD218", Confidence.LIKELY, ())
    assert "rank 1 receives for the 3rd time from rank 0, which has sent 2 times" in found.summary


def test_whoever_exchanges_once_more_than_all_others_agree_on() -> None:
    both = [sent(1), AT.recv(5, 1)]
    usual = Doing([*both, *both, AT.all("barrier", 12)])
    # GIVEN a strip between two others that alone goes on with its exchange
    own = [sent(0), AT.recv(5, 0), sent(2), AT.recv(5, 2)]
    found = examine(job([usual, Doing([*own, *own, AT.recv(5, 0)]), usual])).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD218", (1,), 5)


SUBSTEPS = """\
def advance(count):
    for _ in range(count):
        if left is not None:
            exchange()
def exchange():
    dist.recv(edge, 2)
    dist.send(edge, 2)
def main():
    for day in days:
        advance(substeps())
        loss.backward()
        dist.all_reduce(grads)
        optimizer.step()
"""


def test_an_inner_loop_that_goes_round_once_more_skipped_nothing() -> None:
    """The exchange of its next round would look the same, but no way leads past the backward."""
    main, within = At(function="main"), (AT.line(4, "advance"), AT.line(10, "main"))

    def swap(peer: int) -> list[Act]:
        at = At(function="exchange")
        receives = replace(at.recv(6, peer), path=(at.line(6), *within))
        sends = Act(EventKind.CALL, at.line(7), "send", Kind.SEND, peer=peer, path=(at.line(7), *within))
        return [receives, sends]

    rest = [main.backward(11), main.all("all_reduce", 12), main.update(13)]
    days = [*swap(2), *swap(2), *rest] * 3
    usual = Doing([*days, *swap(2), *swap(2), *rest[:2]])
    partner = Doing([*[*swap(0), *swap(0), *rest] * 3, *swap(0), *swap(0), *rest[:2]])
    odd = Doing([*days, *swap(2), *swap(2), *swap(2)[:1]], callers=within)
    report = examine(job([odd, usual, partner], code={AT.file: SUBSTEPS}))
    assert [one.code for one in report.diagnoses] == ["DD218"], report.diagnoses
    assert report.diagnoses[0].culprits.members == (0,)


def test_whoever_asks_one_that_has_met_another_while_its_own_partner_waits() -> None:
    # GIVEN pairs of chance: 0 with 2 and 1 with 3, for which rank 3 alone takes rank 2
    before = {rank: [sent(peer), AT.recv(5, peer)] for rank, peer in ((0, 3), (1, 2), (2, 1), (3, 0))}
    others = {rank: [sent(peer), AT.recv(5, peer)] for rank, peer in ((0, 1), (1, 0), (2, 3), (3, 2))}
    met = {rank: [sent(peer), AT.recv(5, peer), AT.all("all_reduce", 9)] for rank, peer in ((0, 2), (2, 0))}
    stand = {**met, 1: [sent(3)], 3: [AT.recv(5, 2)]}
    ranks = [Doing([*before[rank], *others[rank], *stand[rank]]) for rank in range(4)]
    found = examine(job(ranks)).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD218", (3,), 5)


def test_worker_that_sent_less_than_the_others_in_its_part() -> None:
    served = [AT.recv(4, 1), AT.recv(4, 2)]
    ranks = [
        Doing([*served, *served, AT.recv(4, 1)]),
        Doing([sent(0), sent(0), AT.all("barrier", 12)]),
        Doing([sent(0), sent(0), sent(0)]),
    ]
    found = examine(job(ranks)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD218", (1,))


PIPELINE = """\
class First:
    def step(self, rows):
        for part in rows.chunk(3):
            put(self.net(part), 1)       # line 4
        for _ in range(3):
            self.grad = take(1)          # line 6
        self.opt.step()                  # line 7


class Last:
    def step(self):
        for _ in range(3):
            self.rows.append(take(0))    # line 13
        for _ in range(3):
            put(self.rows.pop(), 0)
        self.opt.step()                  # line 16


def put(tensor, peer):
    dist.send(tensor, dst=peer)          # line 20


def take(peer):
    dist.recv(tensor, src=peer)          # line 24
"""


def _put(peer: int) -> Act:
    return Act(EventKind.CALL, AT.line(20, "put"), "send", Kind.SEND, peer=peer)


def _take(peer: int) -> Act:
    return Act(EventKind.CALL, AT.line(24, "take"), "recv", Kind.RECV, peer=peer)


def _stages(rounds: int) -> tuple[Doing, Doing]:
    """The last batch of the first stage has two parts only."""
    first = [*[_put(1)] * 3, *[_take(1)] * 3, AT.update(7)] * rounds
    last = [*[_take(0)] * 3, *[_put(0)] * 3, AT.update(16)] * rounds
    return (
        Doing([*first, *[_put(1)] * 2, _take(1)], callers=(AT.line(6, "step"),)),
        Doing([*last, *[_take(0)] * 3], callers=(AT.line(13, "step"),)),
    )


def test_the_stage_that_left_the_order_of_its_earlier_rounds() -> None:
    found = examine(job(_stages(3), code={AT.file: PIPELINE})).diagnoses[0]
    assert (found.code, found.confidence, found.culprits.members) == ("DD218", Confidence.LIKELY, (0,))
    assert found.locations[0].line == 3
    assert "left the order of its earlier rounds" in found.summary


def test_a_phase_that_several_ranks_began_is_nobodys_mistake() -> None:
    """The stage before sends two at once from this round on, too: the schedule is wrong, and no single rank."""
    first, last = _stages(3)
    third = [_put(0), AT.update(60)]
    other = Doing([*third * 3, _put(0), _put(0), AT.recv(70, 0)])
    found = examine(job([first, last, other], code={AT.file: PIPELINE})).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD218", ())


@pytest.mark.parametrize("rounds", [0, 1])
def test_too_few_rounds_show_no_order(rounds: int) -> None:
    """A helper that both stages call is one line, but not the mistake."""
    found = examine(job(_stages(rounds), code={AT.file: PIPELINE})).diagnoses[0]
    assert (found.code, found.confidence, found.culprits.members) == ("DD218", Confidence.LIKELY, ())


def test_a_receive_that_has_returned_before_is_not_wrong_by_itself() -> None:
    rounds = [AT.recv(4, 1), sent(1)]
    found = examine(job([Doing([*rounds, AT.recv(4, 1)]), Doing([AT.recv(4, 0)])])).diagnoses[0]
    assert (found.code, found.confidence) == ("DD218", Confidence.LIKELY)


STAGE = """\
def main(rank):
    for step in range(90):
        for _ in range(2):
            hidden = take(rank - 1)          # line 4
            loss = criterion(net(hidden))
            if not loss.isfinite():
                continue                     # line 7
            loss.backward()                  # line 8
            put(hidden.grad, rank - 1)       # line 9
        optimizer.step()                     # line 10


def put(tensor, peer):
    dist.send(tensor, dst=peer)


def take(peer):
    dist.recv(tensor, src=peer)              # line 18
"""


def test_a_stage_that_left_out_a_backward_skipped_a_batch() -> None:
    """The gradient that follows the backward is missing, and the stage before waits for it."""
    taken = Act(EventKind.CALL, AT.line(18, "take"), "recv", Kind.RECV, peer=0)
    given = Act(EventKind.CALL, AT.line(14, "put"), "send", Kind.SEND, peer=0)
    part = [taken, AT.backward(8), given]
    stage = Doing([*[*part, *part, AT.update(10)] * 3, taken, taken], callers=(AT.line(4, "main"),))
    before = [_put(1), _take(1), AT.backward(50)]
    usual = Doing([*[*before, *before, AT.update(52)] * 3, *before[:2]])
    report = examine(job([usual, stage], code={AT.file: STAGE}))
    found = report.diagnoses[0]
    assert (found.code, found.confidence, found.culprits.members) == ("DD207", Confidence.LIKELY, (1,))
    assert found.locations[0].line == 7
    assert "DD218" not in {one.code for one in report.diagnoses}


def _tagged(act: Act, tag: int) -> Act:
    return replace(act, tag=tag)


def test_tags_that_differ() -> None:
    """A ring of four: rank 2 has counted its tag on, and takes nothing that rank 1 sends."""
    ranks = [Doing([_tagged(AT.recv(4, (rank - 1) % 4), int(rank == 2))]) for rank in range(4)]
    ranks[1] = Doing([_tagged(sent(2), 0)])
    report = examine(job(ranks))
    found = report.diagnoses[0]
    assert (found.code, found.culprits.members, report.deadlock) == ("DD218", (2,), Deadlock.PROVEN)
    assert "rank 1 sends to rank 2 with tag 0" in found.summary
    assert "rank 2 receives from rank 1 with tag 1" in found.summary


@pytest.mark.parametrize("tags", [(0, 0), (7, 7)])
def test_both_sides_of_one_message_prove_nothing(tags: tuple[int, int]) -> None:
    """A large message over a slow network: nobody is in a cycle, and nobody is stuck."""
    report = examine(job([Doing([_tagged(sent(1), tags[0])]), Doing([_tagged(AT.recv(4, 0), tags[1])])]))
    assert report.deadlock is not Deadlock.PROVEN
    assert "DD218" not in [found.code for found in report.diagnoses]


def test_of_histories_that_have_lost_their_beginning_the_last_round_is_counted() -> None:
    both, meet = [sent(1), AT.recv(5, 1)], AT.all("all_reduce", 12)
    usual = Doing([meet, meet, *both, *both, meet])
    own = [sent(0), AT.recv(5, 0), sent(2), AT.recv(5, 2)]
    found = examine(job([usual, Doing([meet, meet, *own, *own, AT.recv(5, 0)]), usual], lost=1)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD218", (1,))
    assert "for the 3rd time from rank 0 since their last collective, which has sent 2 times" in found.summary


def test_a_rank_that_broke_off_its_round_and_began_the_next() -> None:
    """A worker without updates of its own: its rounds begin as its first one does."""
    weights, count = AT.recv(9, 0), [replace(sent(0), site=AT.line(3))]
    whole, short = [weights, *count, *[sent(0)] * 3], [weights, *count, *[sent(0)] * 2]
    sends = [replace(sent(rank), site=AT.line(20)) for rank in (1, 2)]
    takes = [act for rank in (1, 2) for act in (AT.recv(22, rank), *[AT.recv(24, rank)] * 3)]
    learner = [*sends, *takes, AT.update(30)]
    ranks = [
        Doing([*learner * 4, *sends, *takes]),
        Doing([AT.all("init_process_group", 1), *whole * 5, weights]),
        Doing([AT.all("init_process_group", 1), *whole * 4, *short, weights]),
    ]
    found = examine(job(ranks)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD218", (2,))
    # WHEN its rounds were of several lengths before THEN that was no mistake
    ranks[2] = Doing([AT.all("init_process_group", 1), *short, *whole * 3, *short, weights])
    assert examine(job(ranks)).diagnoses[0].culprits.members == ()


def test_a_stage_that_went_on_while_all_further_ones_wait_along_the_chain() -> None:
    """The stages share no line, so that nothing but their messages can be compared."""
    lines = [At("/job/first.py", "feed"), At("/job/middle.py", "relay"), At("/job/last.py", "judge")]
    first = [replace(sent(1), site=lines[0].line(5))]
    middle = [lines[1].recv(5, 0), replace(sent(2), site=lines[1].line(6))]
    last = [lines[2].recv(5, 1)]
    done = AT.all("broadcast", 30, function="main")
    ranks = [Doing([*first * 3, done]), Doing([*middle * 3, middle[0]]), Doing([*last * 4])]
    found = examine(job(ranks)).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD218", (0,))
    # WHEN there are only two THEN either may be wrong
    pair = [Doing([*first * 3, done]), Doing([lines[1].recv(5, 0)] * 4)]
    assert examine(job(pair)).diagnoses[0].culprits.members == ()


def test_whoever_sends_more_while_one_waits_for_it_and_the_others_have_been_there() -> None:
    """A learner that takes messages of its pilots, and then shares its weights with all."""
    pilot, learner = At("/job/pilot.py", "fly"), At("/job/learner.py", "learn")
    shared = At("/job/wire.py", "spread").broadcast(40, 0)
    sends = replace(sent(0), site=pilot.line(21))
    takes = [learner.recv(9, rank) for rank in (1, 2)]
    turn = [*takes, learner.update(13), shared]
    ranks = [Doing([*turn * 4]), Doing([*[sends, shared] * 3, sends, sends]), Doing([*[sends, shared] * 4, sends])]
    evidence = job(ranks)
    found = examine(evidence).diagnoses[0]
    assert (found.code, found.culprits.members) == ("DD218", (1,))


def test_of_a_pair_the_one_that_left_its_usual_round_is_to_blame_though_it_did_so_before() -> None:
    rest = [AT.backward(14), AT.all("all_reduce", 15), AT.update(16)]
    # GIVEN a count and most often rows, of which the sender leaves out the rows where the count is none
    count, rows = replace(sent(1), site=AT.line(8)), replace(sent(1), site=AT.line(10))
    asks, takes = AT.recv(4, 0), AT.recv(5, 0)
    ours = [count, rows, *rest] * 4 + [count, *rest] + [count, rows, *rest] * 3
    theirs = [asks, takes, *rest] * 4 + [asks, *rest] + [asks, takes, *rest] * 3
    found = examine(job([Doing([*ours, count, *rest[:2]]), Doing([*theirs, asks, takes])])).diagnoses[0]
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD218", (0,), 10)
    assert found.evidence[0].startswith("rank 0 did not come to send at train.py:10 in its last round")
