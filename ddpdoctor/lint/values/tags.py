"""Tags: what travels with a value beside its taint, and through what is computed from it.

A set of tags is an integer with one bit for each: joined with `|`, asked with `&`. `Tag` is a class of plain integers
and no `enum.Flag`, whose operators take ten to forty times as long: tags are joined millions of times in a long run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

#: a set of tags
Tags: TypeAlias = int


class Tag:
    """One bit each."""

    #: a function of the rank, by the numbers of all ranks
    RANK: Final = 1 << 0
    #: a function of the rank on its node
    LOCAL_RANK: Final = 1 << 1
    #: the number of ranks, or made of it
    WORLD: Final = 1 << 2
    #: a rank in some group: another number on each rank, but not known which
    IN_GROUP: Final = 1 << 3
    #: a rank that a process was started with: it may be that on its node as well
    SPAWNED: Final = 1 << 4

    #: named as ranks are, where nothing else is known of it
    RANK_BY_NAME: Final = 1 << 40

    # how data differs between ranks
    #: a batch of this rank's data, or computed from one
    BATCH: Final = 1 << 5
    #: the clock
    TIME: Final = 1 << 6
    #: a share of the data by rank, of which a rank can have more than another
    SHARD: Final = 1 << 7
    #: a tensor made of the rank's number
    OWN: Final = 1 << 8
    #: a random draw that is another on each rank
    RANDOM: Final = 1 << 9
    #: whether a file is there
    FILE: Final = 1 << 10
    #: a flag that a signal handler sets
    SIGNAL: Final = 1 << 11
    #: made up by each process for itself: a uuid, a temporary file, a process number
    UNIQUE: Final = 1 << 12
    #: a file whose path is another on each rank
    OWN_FILE: Final = 1 << 13
    #: chosen by a condition on this rank's data
    LOCAL_CHOICE: Final = 1 << 14
    #: of which this rank's data decides how many elements there are
    UNEVEN: Final = 1 << 15
    #: a share by rank in blocks of a length that was rounded up, or with the remainder for one rank
    BLOCK: Final = 1 << 16

    # what is taken out of data, or put together from it
    #: a part of data: whether there is one, is the same for all ranks
    PART: Final = 1 << 17
    #: None where the data of this rank does not have it
    OPTIONAL: Final = 1 << 18
    #: a list that holds data of this rank
    COLLECTED: Final = 1 << 19
    #: a list of uneven length that was added to: it may have been filled up to the same length
    FILLED_UP: Final = 1 << 20
    #: the number of elements of something
    LENGTH: Final = 1 << 21
    #: the result of a comparison with data of this rank, element by element
    MASK: Final = 1 << 22
    #: counts the rounds of a loop
    INDEX: Final = 1 << 23
    #: rounded up
    CEIL: Final = 1 << 24
    #: goes on without end
    ENDLESS: Final = 1 << 25
    #: ends after a number of elements that is the same on all ranks
    CUT: Final = 1 << 26

    # what a tensor was computed by
    #: a wrapped model
    DDP: Final = 1 << 27
    #: the network behind a wrapper, so that the wrapper does not know of it
    BYPASS: Final = 1 << 28
    #: a model whose parameters FSDP has spread over the ranks; also that model
    SHARDED: Final = 1 << 29

    # what a model or loader is
    #: a model in a wrapper
    WRAPPED: Final = 1 << 30
    #: the network behind a wrapper
    INNER: Final = 1 << 31
    #: made ready by a framework, which gives each rank its share and tells the epoch
    PREPARED: Final = 1 << 32

    # what is sure of it
    #: this object on some paths or ranks only
    MAYBE: Final = 1 << 33
    #: surely given by the caller: no default
    GIVEN: Final = 1 << 34
    #: what a function gave that runs collectives: perhaps what all ranks have agreed on
    AGREED: Final = 1 << 35
    #: an answer to whether a model is sharded
    ASKS_SHARDED: Final = 1 << 36

    # randomness
    #: the seed that torch has: the same wherever it was seeded alike
    SEEDED: Final = 1 << 37
    #: a generator whose numbers are another rank's only by chance
    OWN_GENERATOR: Final = 1 << 38

    #: whether an exception was raised
    EXCEPTION: Final = 1 << 39


#: the empty set
NO_TAGS: Tags = 0

#: what a tensor was computed by
ORIGIN: Final = Tag.DDP | Tag.BYPASS | Tag.SHARDED
#: what a model is; with MAYBE, on some paths only
MODEL: Final = Tag.WRAPPED | Tag.INNER
#: why data differs between ranks
REASONS: Final = Tag.BATCH | Tag.TIME | Tag.SHARD | Tag.OWN | Tag.RANDOM | Tag.FILE | Tag.SIGNAL
#: data of which one rank can have more than another
UNEQUAL: Final = Tag.SHARD | Tag.UNEVEN
#: the place of a process in the job, of either kind
ANY_RANK: Final = Tag.RANK | Tag.LOCAL_RANK
#: data that is shared out by rank, or what it is shared out by
SHARED_OUT: Final = ANY_RANK | Tag.WORLD | Tag.SHARD | Tag.BLOCK
#: a name that each process makes up for itself
MADE_UP: Final = Tag.TIME | Tag.UNIQUE
#: tags of data that what is computed from it has as well
DATA: Final = ORIGIN | REASONS | Tag.UNIQUE | Tag.LOCAL_CHOICE | Tag.BLOCK | Tag.OWN_FILE | Tag.UNEVEN
#: tags that outlive arithmetic
STICKY: Final = (
    ORIGIN | REASONS | ANY_RANK | Tag.BLOCK | Tag.WORLD | Tag.CEIL | Tag.SEEDED | Tag.UNIQUE | Tag.OWN_FILE
    | Tag.IN_GROUP | Tag.RANK_BY_NAME | Tag.ASKS_SHARDED | Tag.MASK
)  # fmt: skip
#: tags that say how a value differs between ranks
BY_RANK: Final = REASONS | ANY_RANK | Tag.UNIQUE | Tag.BLOCK | Tag.LOCAL_CHOICE


def union(sets: Iterable[Tags]) -> Tags:
    """The tags that are in any of the sets."""
    tags = NO_TAGS
    for more in sets:
        tags |= more
    return tags


def names(tags: Tags) -> list[str]:
    """The tags of a set by their names, for whoever looks at a value."""
    return [name for name, bit in vars(Tag).items() if name.isupper() and tags & bit]
