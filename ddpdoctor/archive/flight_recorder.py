"""Pure. Flight Recorder dumps of every format version (2.0 to 2.10), pickle or JSON, of NCCL and gloo.

What differs between versions: `seq_id` became `collective_seq_id` and `p2p_seq_id` (2.1); `pg_config` came with 2.1,
`pg_status` with 2.3, `timeout_ms` and `is_p2p` with 2.2, threads with 2.5; JSON writes 0 where the pickle has None and
never has frames. gloo leaves every operation "scheduled" and its `pg_config` without ranks: there `retired` alone says
that an operation is done. On NCCL, `retired` without "completed" means that the watchdog gave it up.
(Read from FlightRecorder.hpp of torch 2.3 to 2.13, and measured on gloo.)
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from ddpdoctor.archive import unpickle
from ddpdoctor.archive.recorder_values import HUGE, CallSites, DumpError, as_number, as_text, count_extents
from ddpdoctor.diagnose.digest import operations
from ddpdoctor.model import json_text
from ddpdoctor.model.recorder_set import Step
from ddpdoctor.model.stacks import Site
from ddpdoctor.probe.redact import plain

#: tensor extents of one operation that are read without a prior count
_FEW_EXTENTS = 48
_MOST_ENTRIES = 1_000_000
_MOST_RANKS = 1 << 20
#: raw operations that are cached so that equal ones are parsed once
_MOST_SEEN = 200_000
_STATES = frozenset({"scheduled", "started", "completed"})

#: the fields of model.recorder_set.Step in order, with the site as (file, line, function) or None
StepRow = tuple[Any, ...]
#: (name, members, description); members are empty if the dump does not list them
GroupRow = tuple[str, tuple[int, ...], str]
#: the same, with the members still as text
_Named = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class RecorderDump:
    """One dump; its operations and groups are indices into the reader's tables."""

    version: str
    steps: array[int]
    #: indexed by role
    groups: tuple[int, ...]
    truncated: bool
    newest_ns: int
    #: the rank as derived from the operations; None if only the file's name can tell
    rank: int | None


class RecorderReader:
    """Reads dumps one after the other and keeps each distinct operation once."""

    def __init__(self) -> None:
        self.rows: list[StepRow] = []
        self.groups: list[GroupRow] = []
        self._numbers: dict[StepRow, int] = {}
        self._seen: dict[tuple[Any, ...], int] = {}
        self._members: dict[str, tuple[int, ...]] = {}
        self._grouped: dict[_Named, int] = {}

    def read(self, data: bytes) -> RecorderDump:
        """Read one dump. Raises DumpError, whatever the bytes are."""
        try:
            return self._read(_loaded(data))
        except DumpError:
            raise
        except unpickle.RefusedError as error:
            raise DumpError(str(error)) from None
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError, AttributeError) as error:
            reason = plain(str(error)).partition("\n")[0][:120]
            raise DumpError(f"not shaped like a recorder's dump ({type(error).__name__}: {reason})") from None

    def _read(self, dump: object) -> RecorderDump:
        if not isinstance(dump, dict) or ("entries" not in dump and "version" not in dump):
            raise DumpError("no Flight Recorder dump: it has neither entries nor a version")
        entries = dump.get("entries") or []
        if not isinstance(entries, list) or len(entries) > _MOST_ENTRIES:
            raise DumpError("its entries are not a list, or are too many")
        groups = self._named(dump.get("pg_config"))
        roles = {group[0]: role for role, group in enumerate(groups)}
        steps = self._steps(entries, groups, roles)
        first, last = (entries[0], entries[-1]) if entries else ({}, {})
        return RecorderDump(
            version=as_text(str(dump.get("version", ""))[:32]),
            steps=self._settled(steps),
            groups=tuple([self._group(group) for group in groups]),
            truncated=as_number(first.get("record_id", 0)) > 0,
            newest_ns=as_number(last.get("time_created_ns", 0)),
            rank=self._own_rank(steps, groups, entries),
        )

    def _named(self, config: object) -> list[_Named]:
        """The rank's groups, sorted by an order that is independent of their numbering."""
        found: list[_Named] = []
        for key, given in config.items() if isinstance(config, dict) else ():
            name, ranks = as_text(given.get("name", key)), given.get("ranks", "[]")
            if name == "":  # gloo's only entry; it does not name a group
                continue
            found.append((name, ranks if isinstance(ranks, str) else json.dumps(ranks), as_text(given.get("desc", ""))))
        return sorted(found, key=lambda group: (group[2], len(self._ranks(group[1])), _natural(group[0])))

    def _group(self, group: _Named) -> int:
        number = self._grouped.get(group)
        if number is None:
            number = self._grouped[group] = len(self.groups)
            self.groups.append((group[0], self._ranks(group[1]), group[2]))
        return number

    def _ranks(self, text: str) -> tuple[int, ...]:
        """`[0, 1]` as torch writes it; equal texts are parsed once."""
        known = self._members.get(text)
        if known is None:
            inner = text.strip().removeprefix("[").removesuffix("]").strip()
            known = tuple(int(part) for part in inner.split(",")) if inner else ()
            if len(known) > _MOST_RANKS or any(not 0 <= rank < _MOST_RANKS for rank in known):
                raise DumpError("a group's ranks are out of bounds")
            self._members[text] = known
        return known

    def _steps(self, entries: list[Any], groups: list[_Named], roles: dict[str, int]) -> array[int]:
        steps = array("I")
        if not entries:
            return steps
        fields, framed = _fields(entries[0]), "frames" in entries[0]
        take, rest_of = itemgetter("profiling_name", "input_sizes", "input_dtypes", fields[0]), _several(fields[1:])
        seen, sites = self._seen, CallSites()
        for entry in entries:
            name, sizes, dtypes, group = take(entry)
            where = group[0] if isinstance(group, (tuple, list)) else group
            if where not in roles:
                _add_group(group, groups, roles)
            site = sites.of(entry["frames"]) if framed else None
            if len(sizes) > _FEW_EXTENTS or sum(map(len, sizes)) > _FEW_EXTENTS or len(dtypes) > _FEW_EXTENTS:
                count_extents(sizes, dtypes)
            key = (roles[where], name, tuple(map(tuple, sizes)), tuple(dtypes), site, rest_of(entry))
            number = seen.get(key)
            if number is None:
                if len(seen) >= _MOST_SEEN:
                    seen.clear()
                number = seen[key] = self._intern(_row(dict(zip(fields[1:], key[5], strict=True)), key))
            steps.append(number)
        return steps

    def _intern(self, row: StepRow) -> int:
        number = self._numbers.get(row)
        if number is None:
            number = self._numbers[row] = len(self.rows)
            self.rows.append(row)
        return number

    def _settled(self, steps: array[int]) -> array[int]:
        """Copy the state of a coalesced batch to its operations: only the batch's entry, which follows them, records
        it. That of a batch of messages is left out: it has the number of a collective (torch 2.11), and is none."""
        if not any(self.rows[number][2] == "coalesced" for number in set(steps)):
            return steps
        ends: dict[tuple[Any, ...], tuple[bool, bool]] = {}
        settled = array("I")
        messages: tuple[bool, bool] | None = None
        for place in range(len(steps) - 1, -1, -1):
            row, before = self.rows[steps[place]], self.rows[steps[place - 1]] if place else None
            batch = (row[0], row[9], row[1])
            if row[2] == "coalesced" and before is not None and before[9]:
                messages = (row[7], row[8])
                continue
            messages = messages if row[9] else None
            if row[2] == "coalesced":
                ends[batch] = (row[7], row[8])
            state = messages or ends.get(batch)
            own = row[2] == "coalesced" or row[7] or state is None
            settled.append(steps[place] if own or state is None else self._intern((*row[:7], *state, *row[9:])))
        return settled[::-1]

    def _own_rank(self, steps: array[int], groups: list[_Named], entries: list[Any]) -> int | None:
        """The rank itself: a send names its source and a recv its target, as indices into the group."""
        for number, entry in zip(steps, entries, strict=True):
            row = self.rows[number]
            if row[10] is None:
                continue
            members = self._ranks(groups[row[0]][1])
            own = _ends(str(entry["profiling_name"]))
            if own is not None and own[0] < len(members):
                return members[own[0]]
        return None


def step_of(row: StepRow) -> Step:
    role, seq, op, backend, sizes, dtypes, site, finished, timed_out, p2p, peer = row
    place = Site(*site) if site else None
    return Step(role, seq, op, backend, sizes, dtypes, place, finished, timed_out, p2p, peer)


def _loaded(data: bytes) -> object:
    if not data:
        raise DumpError("the file is empty")
    if data[:1] == b"\x80":
        return unpickle.load(data)
    try:
        return json_text.parsed(data)
    except ValueError as error:
        raise DumpError(f"neither a pickle nor JSON, or truncated ({plain(str(error))[:80]})") from None


def _fields(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields of an operation in this version beside its name and tensors, with the group first."""
    where = "process_group" if "process_group" in entry else "pg_id"
    optional = ("collective_seq_id", "seq_id", "p2p_seq_id", "state", "retired", "is_p2p")
    there = tuple(field for field in optional if field in entry)
    return (where, *there)


def _several(fields: tuple[str, ...]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """A getter that returns a tuple for any number of fields, also for one or none."""
    if len(fields) > 1:
        return itemgetter(*fields)
    return lambda entry: tuple(entry[field] for field in fields)


def _add_group(given: Any, groups: list[_Named], roles: dict[str, int]) -> None:
    """Add a group that `pg_config` does not list (gloo lists none)."""
    name, description = (given[0], given[1]) if isinstance(given, (tuple, list)) else (given, "")
    roles[name] = len(groups)
    groups.append((as_text(str(name)), "[]", as_text(str(description))))


def _row(fields: Mapping[str, Any], key: tuple[Any, ...]) -> StepRow:
    """Validate one operation's values and build its row."""
    role, name, sizes, dtypes, site = key[:5]
    backend, _, op = as_text(name).rpartition(":")
    ends = _ends(op)
    p2p = bool(fields.get("is_p2p", ends is not None))
    collective = fields.get("collective_seq_id", fields.get("seq_id", -1))
    seq = as_number(fields.get("p2p_seq_id", collective) if p2p else collective)
    state = fields.get("state", "scheduled")
    if state not in _STATES:
        raise DumpError(f"an operation is {plain(str(state))[:40]!r}, which is not a known state")
    retired = bool(fields.get("retired", False))
    finished = state == "completed" or (retired and not _tracks_completion(backend))
    for shape in sizes:
        for extent in shape:
            as_number(extent)
    kinds = tuple(as_text(dtype) for dtype in dtypes)
    op = op.partition(" ")[0]
    if not p2p and not operations.equal_sizes(op):
        # sizes differ between ranks: keeping them would make every operation of an uneven all_to_all distinct
        sizes = ()
    return (
        role,
        seq,
        op,
        backend,
        sizes,
        kinds,
        site,
        finished,
        retired and not finished,
        p2p,
        ends[1] if ends else None,
    )


def _tracks_completion(backend: str) -> bool:
    """Whether the backend tracks an operation until it is finished on the device: NCCL and its relatives (rccl, xccl,
    hccl, ncclx) do, gloo does not."""
    return "ccl" in backend or backend == ""


def _ends(name: str) -> tuple[int, int] | None:
    """(this rank, the peer) of `send 0->1` or `recv 1<-0` as indices into the group; None for other operations."""
    op, _, ends = name.rpartition(":")[2].partition(" ")
    left, _, right = ends.partition("->" if op == "send" else "<-")
    if op not in ("send", "recv") or not left.isdecimal() or not right.isdecimal():
        return None
    return (int(left[:9]), int(right[:9]))


def _natural(name: str) -> tuple[int, str]:
    return (int(name[:18]) if name.isdecimal() else HUGE, name)
