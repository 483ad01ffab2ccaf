"""The kinds of communication calls. Apart from the calls themselves, which lint does not load."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """What a thread waits for while it is inside a call; determines the edges of the wait-for graph."""

    #: every member: all_reduce, barrier, all_gather, reduce_scatter, all_to_all, group creation
    ALL = "all"
    #: non-root ranks wait for the root: broadcast, scatter
    FROM_ROOT = "from_root"
    #: the root waits for all others: reduce, gather
    TO_ROOT = "to_root"
    SEND = "send"
    RECV = "recv"
    #: Work.wait(); the operation it completes is given by op, group and seq if known
    WAIT = "wait"
    #: TCPStore get/wait: waits for the rank that sets the key
    STORE = "store"
    #: autograd's backward: the reducer's pending all_reduce is in the recorder, not in a Python call
    BACKWARD = "backward"


#: operations that all members of a group take part in, in one order
COLLECTIVE = frozenset({Kind.ALL, Kind.FROM_ROOT, Kind.TO_ROOT})
