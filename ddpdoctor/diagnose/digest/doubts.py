"""The reasons why a waiting rank is not proven to be stuck."""

from __future__ import annotations

from enum import Enum


class Doubt(Enum):
    NO_WAIT = "it is not inside a blocking wait"
    BLIND = "something of the rank could not be looked at"
    NO_PAGE = "it has no page"
    FREE_THREAD = "another of its threads has communicated and is not blocked"
    #: from the stack, the kernel and the samples of the thread
    NO_STACK = "no stack confirms the wait"
    ANOTHER_STACK = "the stack does not confirm the wait"
    RAN_SINCE = "its stack was taken before, and the thread has run since"
    ONE_SAMPLE = "only one sample was taken"
    MOVED = "the rank made progress between two samples"
    STOPPED = "the process is stopped and may continue"
    THREAD_UNKNOWN = "the thread's state is not known"
    THREAD_AWAKE = "the thread does not sleep"
    COMPUTES = "the process is computing"
    MAY_BE_SENT = "a message that was sent without waiting may be on its way"
    MEETS_PEER = "its peer takes part: the message may be under way"
    #: from what is known of the operation
    NOT_GLOO = "only gloo's waits can be proven"
    DEVICE_QUEUE = "the process itself is in no communication call: only its GPU is known to wait"
    UNKNOWN_GROUP = "the group is not known"
    UNKNOWN_SETTER = "which rank sets a store key is not known"
    NO_MEMBERS_RECORDER = "the recorder of a member is missing"
    NO_RECORDER = "the rank has no recorder"
    NO_ENTRY = "no entry of the recorder belongs to the call"
    SHORT_HISTORY = "a member's history is incomplete"
    RECORDER_ONLY = "only a recorder shows it"
    LOG_ONLY = "only a log shows it"
