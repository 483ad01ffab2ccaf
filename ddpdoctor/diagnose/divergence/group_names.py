"""Groups that ranks have under one name, with other members: they were not made alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ddpdoctor.diagnose.digest.histories import History
from ddpdoctor.diagnose.divergence.causes import CREATING
from ddpdoctor.diagnose.facts import Facts, kept
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.model.stacks import Site

#: all ranks that make a group by it count it; others count only the group that they are in
_COUNTED_BY_ALL = "new_group"
_BEGINS = "init_process_group"


@dataclass(frozen=True, slots=True)
class Misnamed:
    """A name that torch has given to different groups."""

    name: str
    #: members -> the ranks that have the group so
    sides: Mapping[RankSet, RankSet]
    #: where the ranks made it, as far as that is known
    made: tuple[tuple[Site, RankSet], ...]


@kept
def misnamed(facts: Facts) -> Misnamed | None:
    """The first such group, if ranks were last seen to use it for the first time, and all that they have created is
    known. Who has used it before has found its members, or what it took for them.

    torch counts anew after each `init_process_group`. A group that is split off (`split_group`) has the name of those
    that are split off beside it, and ranks that make a group among themselves (`use_local_synchronization`) give it a
    name of its members.
    """
    seen = [one for one in facts.evidence.ranks if one.page is not None]
    histories = [facts.histories.get(one.rank) for one in seen]
    if len(seen) < 2 or not all(history is not None and _counts_all(history) for history in histories):
        return None
    used = [name for one in seen if (name := _last_used(one))]
    first = {name for name in used if all(_uses(one, name) < 2 for one in seen)}
    return next(filter(None, (_under(facts, seen, name) for name in sorted(first, key=int))), None)


def _uses(seen: RankEvidence, name: str) -> int:
    events = seen.page.events if seen.page is not None else ()
    return sum(
        event.call is not None and event.call.group is not None and event.call.group.name == name for event in events
    )


def _counts_all(history: History) -> bool:
    """Whether it shows all groups that the rank has made, each of which all ranks count."""
    made = [step.op for step in history.steps if step.op == _BEGINS or step.op in CREATING]
    return not history.truncated and made.count(_BEGINS) == 1 and set(made) == {_BEGINS, _COUNTED_BY_ALL}


def _last_used(seen: RankEvidence) -> str:
    """The name of the group of the rank's last call, if torch has counted it; "" otherwise."""
    calls = [event.call for event in seen.page.events if event.call is not None] if seen.page is not None else []
    group = calls[-1].group if calls else None
    return group.name if group is not None and group.name.isdecimal() and group.name != "0" else ""


def _under(facts: Facts, seen: list[RankEvidence], name: str) -> Misnamed | None:
    sides: dict[RankSet, list[Rank]] = {}
    for one in seen:
        for group in one.page.groups if one.page is not None else ():
            if group.name == name and group.members:
                sides.setdefault(RankSet.of(group.members), []).append(one.rank)
    if len(sides) < 2:
        return None
    return Misnamed(
        name,
        {members: RankSet.of(ranks) for members, ranks in sides.items()},
        _made(facts, int(name), [rank for ranks in sides.values() for rank in ranks]),
    )


def _made(facts: Facts, number: int, ranks: list[Rank]) -> tuple[tuple[Site, RankSet], ...]:
    """Where ranks made their group of this number, as far as that is known."""
    places: dict[Site, list[Rank]] = {}
    for rank in ranks:
        creating = [step.site for step in facts.histories[rank].steps if step.op == _COUNTED_BY_ALL]
        site = creating[number - 1] if number <= len(creating) else None
        if site is not None:
            places.setdefault(site, []).append(rank)
    return tuple((site, RankSet.of(ranks)) for site, ranks in sorted(places.items()))
