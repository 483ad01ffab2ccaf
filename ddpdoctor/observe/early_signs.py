"""Pure. Signs that loops over a loader will not end together: their lengths, and a rank that has begun anew.

Until the end of the epoch each batch of the one rank meets one batch of the others, so nothing shifts. Whether the
program runs its loaders to their ends cannot be seen: a sign is a hint and no warning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import LOCAL_STOP_DECISION, UNEVEN_INPUTS
from ddpdoctor.model.early_sign import EarlySign
from ddpdoctor.model.progress import LoaderCount
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.model.stacks import Site
from ddpdoctor.observe.shifts import End

#: batches in which ranks have met in the loop until its length says anything
FEWEST = 3
#: collectives that the others have made since a rank began anew, and have not
SINCE = 3


@dataclass(frozen=True, slots=True)
class Standing:
    """A rank at one reading."""

    loaders: tuple[LoaderCount, ...]
    #: collectives of the group that the ranks meet in
    collectives: int
    #: when the loop's loader came to its end, oldest first; seconds after the start of the job
    ends: tuple[End, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """Ranks that meet in the loop over a loader."""

    site: Site
    ranks: Mapping[int, Standing]
    #: when the last of them had its first batch, and now; seconds after the start of the job
    began: float
    now: float
    #: the program takes the loader again when it ends, until its steps are done, or may do so
    goes_round: bool = True
    #: the loop is under torch's Join, where it may end apart
    joins: bool = False


@dataclass(frozen=True, slots=True)
class _Apart:
    """Some ranks are in the loop once more than others, as it was first seen."""

    time: float
    #: the most collectives of any rank
    collectives: int
    #: the loader of each rank that is behind
    behind: Mapping[int, LoaderCount]

    def is_of(self, behind: Mapping[int, LoaderCount]) -> bool:
        """Whether the same ranks are behind, in the same round of their loop: where rounds are short, ranks that meet
        only now and then are a round apart at one reading after the other, and have gone round in between."""
        return behind.keys() == self.behind.keys() and all(
            (one.made, one.stops) == (self.behind[rank].made, self.behind[rank].stops) for rank, one in behind.items()
        )

    def go_on(self, behind: Mapping[int, LoaderCount]) -> bool:
        """Whether each has had batches since: who has none may have come to the end of its loop."""
        return all(one.delivered > self.behind[rank].delivered for rank, one in behind.items())


@dataclass(slots=True)
class EarlySigns:
    """Compares readings of all ranks; each loader is told once for each kind of sign."""

    _lengths: set[Site] = field(default_factory=set)
    _left: set[Site] = field(default_factory=set)
    _ended: set[Site] = field(default_factory=set)
    #: loader -> how ranks are apart in it
    _apart: dict[Site, _Apart] = field(default_factory=dict)

    def take(self, reading: Reading) -> list[EarlySign]:
        """Signs that are new with this reading."""
        site, ranks = reading.site, reading.ranks
        counts = {rank: _of(standing, site) for rank, standing in ranks.items()}
        known = {rank: count for rank, count in counts.items() if count is not None and count.made}
        if len(known) != len(ranks) or len(ranks) < 2 or reading.joins:
            return []
        found = []
        if site not in self._lengths and (sign := _of_lengths(reading, known)) is not None:
            self._lengths.add(site)
            found.append(sign)
        if site not in self._left and (sign := self._begun_anew(reading, known)) is not None:
            self._left.add(site)
            found.append(sign)
        # lengths that differ have said so already
        if not {site} & (self._ended | self._lengths) and (sign := _of_ends(reading, known)) is not None:
            self._ended.add(site)
            found.append(sign)
        return found

    def _begun_anew(self, reading: Reading, counts: Mapping[int, LoaderCount]) -> EarlySign | None:
        """The sign that some are in the loop again, and that the others have gone on with it for longer than ranks that
        meet in it are apart."""
        site, ranks = reading.site, reading.ranks
        fewest = min(count.made for count in counts.values())
        behind = {rank: count for rank, count in counts.items() if count.made == fewest}
        if len(behind) == len(ranks):
            self._apart.pop(site, None)
            return None
        apart = self._apart.get(site)
        if apart is None or not apart.is_of(behind):
            most = max(standing.collectives for standing in ranks.values())
            self._apart[site] = _Apart(reading.now, most, behind)
            return None
        if min(ranks[rank].collectives for rank in behind) < apart.collectives + SINCE or not apart.go_on(behind):
            return None
        ended = _has_ended(counts, behind)
        if ended and reading.goes_round:
            self._apart.pop(site, None)
            return None
        return _of_rounds(reading, RankSet.of(behind), apart.time, ended=ended)


def _has_ended(counts: Mapping[int, LoaderCount], behind: Mapping[int, LoaderCount]) -> bool:
    """Whether a rank that has begun anew had come to the end of the loop."""
    open_ones = max(one.made - one.stops for one in behind.values())
    return any(one.made - one.stops <= open_ones for rank, one in counts.items() if rank not in behind)


def _of_rounds(reading: Reading, on: RankSet, since: float, *, ended: bool) -> EarlySign:
    """The sign that the ranks `on` are behind by a round; `ended`: the others came to the end of theirs."""
    anew = RankSet.of(reading.ranks) - on
    left = "came to the end of" if ended else "left"
    early = "" if ended else " before its end"
    return EarlySign(
        (UNEVEN_INPUTS if ended else LOCAL_STOP_DECISION).code,
        anew if len(anew) < len(on) else on if len(on) < len(anew) else RankSet(),
        reading.site,
        since,
        reading.now,
        f"{wording.ranks(anew)} {left} the loop over the loader at {wording.place(reading.site)}{early} and began it "
        f"anew, and {wording.ranks(on)} {wording.verb(on, 'goes', 'go')} on with it",
        "all ranks take equally many steps",
    )


def _of(standing: Standing, site: Site) -> LoaderCount | None:
    return next((count for count in standing.loaders if count.site == site), None)


def _of_ends(reading: Reading, counts: Mapping[int, LoaderCount]) -> EarlySign | None:
    """The sign that loaders have come to their ends after different numbers of batches.

    Where all ranks stop with the first that has no more, the others have left the loop: then some of their iterators
    never came to an end.
    """
    if reading.goes_round or any(count.made - count.stops > 1 for count in counts.values()):
        return None
    ends = _first_apart(reading.ranks)
    if ends is None:
        return None
    alike: dict[int, list[int]] = defaultdict(list)
    for rank, end in ends.items():
        alike[end.batches].append(rank)
    usual, ranks = max(alike.items(), key=lambda one: (len(one[1]), one[0]))
    odd = RankSet.of(rank for rank, end in ends.items() if end.batches != usual)
    said = ", ".join(
        f"{wording.batches(batches)} on {wording.ranks(RankSet.of(own))}" for batches, own in sorted(alike.items())
    )
    return EarlySign(
        UNEVEN_INPUTS.code,
        odd if 2 * len(ranks) > len(ends) else RankSet(),
        reading.site,
        min(end.time for end in ends.values()),
        reading.now,
        f"the loop over the loader at {wording.place(reading.site)} came to its end after {said}",
        "a rank without data replays what the others do",
    )


def _first_apart(ranks: Mapping[int, Standing]) -> dict[int, End] | None:
    """The first end that all ranks have come to, and after different numbers of batches."""
    every = [{end.number: end for end in standing.ends} for standing in ranks.values()]
    for number in sorted(set.intersection(*map(set, every))):
        ends = {rank: ended[number] for rank, ended in zip(ranks, every, strict=True)}
        if len({end.batches for end in ends.values()}) > 1:
            return ends
    return None


def _of_lengths(reading: Reading, counts: Mapping[int, LoaderCount]) -> EarlySign | None:
    """The sign that loaders have not equally many batches, if their newest iterators are those of the same epoch."""
    lengths = {rank: count.length for rank, count in counts.items()}
    if None in lengths.values() or len(set(lengths.values())) == 1 or len({c.made for c in counts.values()}) > 1:
        return None
    if any(count.delivered < FEWEST for count in counts.values()):
        return None
    alike: dict[int, list[int]] = defaultdict(list)
    for rank, length in lengths.items():
        alike[length or 0].append(rank)
    (usual, ranks), *_ = sorted(alike.items(), key=lambda one: (-len(one[1]), -one[0]))
    majority = 2 * len(ranks) > len(lengths)
    odd = RankSet.of(rank for rank, length in lengths.items() if length != usual)
    where = wording.place(reading.site)
    said = ", ".join(
        f"{wording.batches(length)} on {wording.ranks(RankSet.of(own))}" for length, own in sorted(alike.items())
    )
    return EarlySign(
        UNEVEN_INPUTS.code,
        odd if majority else RankSet(),
        reading.site,
        reading.began,
        reading.now,
        f"the loader at {where} has {said}",
        "the loop is cut to the same number of steps on all ranks, or they train under Join",
    )
