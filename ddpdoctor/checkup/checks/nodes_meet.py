"""# DD319 nodes-meet

## What
With `--meet`: all nodes of the launch reach the address and port at which the ranks will meet. The node that the
address names listens on the job's own port for the time of the check; the others connect to it.

## Why it matters
A node that a firewall, a wrong interface or a wrong name keeps away leaves all others waiting in `init_process_group`
until its timeout, and none of them says which node is missing.

## Fix
Open the port between the nodes, or choose another address (`--rdzv-endpoint`). `nc -vz HOST PORT` tries it by hand.

## When it is wrong
The check is to be started on every node within the time that `--meet` gives. NCCL and gloo open further ports, which
are not tried. A node knows that something else listens at the endpoint only once it has connected: it sends nothing,
and leaves.
"""

from __future__ import annotations

import shlex

from ddpdoctor.checkup.check import Check
from ddpdoctor.checkup.judgement import Judgement, ok, problem, unknown
from ddpdoctor.checkup.machine import Machine, Meeting, Peer

#: names and numbers that are listed
_MOST = 16

CHECK = Check("DD319", "nodes-meet")


def judge(machine: Machine) -> Judgement:
    meeting = machine.meeting
    if meeting is None:
        return unknown("the nodes were not asked to meet (--meet)")
    endpoint = f"{meeting.address}:{meeting.port}"
    remedy = f"nc -vz {shlex.quote(meeting.address)} {meeting.port}"
    look = f"ss -ltnp 'sport = :{meeting.port}'"
    if meeting.error:
        who = "this node cannot host the meeting at" if meeting.hosted else "this node did not reach the others at"
        return problem(
            f"{who} {endpoint} within {meeting.seconds:g} s: {meeting.error}", look if meeting.hosted else remedy
        )
    names = _listed([_name(peer) for peer in meeting.peers])
    came = f"{len(meeting.peers)} of {meeting.expected} nodes came to {endpoint}"
    if len(meeting.peers) >= meeting.expected:
        return ok(f"{came}: {names}")
    return problem(
        f"{came} within {meeting.seconds:g} s: {names}; {_missing(meeting)}: "
        "was the check started there, and does a firewall let the port through?",
        remedy,
    )


def _missing(meeting: Meeting) -> str:
    """The numbers of those that are missing, if all that came know theirs."""
    known = {peer.number for peer in meeting.peers}
    absent = [number for number in range(meeting.expected) if number not in known]
    if None in known or len(absent) != meeting.expected - len(meeting.peers):
        return f"missing: {meeting.expected - len(meeting.peers)} (give --node-rank to learn which)"
    return f"missing: node {_listed([str(number) for number in absent])}"


def _name(peer: Peer) -> str:
    return peer.host if peer.number is None else f"{peer.host} (node {peer.number})"


def _listed(words: list[str]) -> str:
    more = f" and {len(words) - _MOST} more" if len(words) > _MOST else ""
    return ", ".join(words[:_MOST]) + more
