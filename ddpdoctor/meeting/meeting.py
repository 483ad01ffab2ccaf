"""Impure. A watcher's access to the other watchers of its job: none on one node, a session for each attempt on several.

The probe says where the job's store is (probe/meeting_place.py) as soon as a rank knows that the job spans several
watchers. Then this watcher connects, once, and stays connected. If the store is lost, it is tried again, ever less
often; what the watcher sees of its own ranks is all it has meanwhile, and it says so.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ddpdoctor.collect.folder_changes import FolderChanges
from ddpdoctor.meeting.board import Board
from ddpdoctor.meeting.episode import Conclude
from ddpdoctor.meeting.folder import FolderBoard
from ddpdoctor.meeting.messages import Absent, Entry, Why
from ddpdoctor.meeting.session import Delegate, Session
from ddpdoctor.meeting.store import Address, StoreBoard, environ_of
from ddpdoctor.model import json_text
from ddpdoctor.model.ranks import Rank, RankSet
from ddpdoctor.probe.meeting_place import NOTE, NOWHERE, clock

#: seconds until a store that was lost is tried again, doubled each time
RETRY, LONGEST_RETRY = 5.0, 60.0


@dataclass(frozen=True, slots=True)
class Note:
    """Where the job's processes meet, as the first of our ranks has noted it."""

    host: str
    port: int
    namespace: str
    world_size: int
    rank: Rank
    pid: int
    python: str


class Meeting:
    """`want` and `tick` as those of a session, whether there is one or not."""

    def __init__(self, run: Path, delegate: Delegate, shared: Path | None = None) -> None:
        """`shared`: a folder that all nodes see, in place of the job's store."""
        self._run = run
        self._delegate = delegate
        self._shared = shared
        self._note: Note | None = None
        #: the note that was read last, which stands as long as the folder is as it was
        self._read: Note | None = None
        self._changes = FolderChanges(run)
        self._session: Session | None = None
        #: what the others will be asked for as soon as there is a session
        self._wanted: Why | None = None
        self._retry, self._pause = 0.0, RETRY
        #: why there is no session, "" while there is one
        self.obstacle = ""

    @property
    def spans(self) -> bool:
        """Whether the job has ranks that other watchers see."""
        return self._note is not None or self._newest() is not None

    @property
    def meets(self) -> bool:
        return self._wanted is not None or (self._session is not None and self._session.meets)

    def want(self, why: Why) -> bool:
        """Ask the others for a verdict; False if they are out of reach: a store that was lost counts as lost until it
        has answered again."""
        if self._session is None and not self.obstacle and self.spans:
            # the ranks have only just said that there are others
            self._wanted = why if self._wanted in (None, Why.STILL) else self._wanted
            return True
        if self._session is None or (self.obstacle and not self._session.connected):
            return False
        self._session.want(why)
        return True

    def tick(self, now: float, ranks: RankSet) -> Conclude | None:
        """Do what is due at `now` (CLOCK_MONOTONIC); `ranks` are those that this watcher sees."""
        note = self._newest()
        if note is not None and note != self._note:
            self._drop()
            self._note, self._retry, self._pause = note, 0.0, RETRY
        if self._session is None:
            self._open(now, ranks)
            return None
        self._session.sees(ranks)
        concluded = self._session.tick(now)
        if self._session.connected:
            self.obstacle, self._pause = "", RETRY
        if concluded is not None and concluded.cut:
            self.obstacle = concluded.over
            self._drop()
            self._again_later(now)
        return concluded

    def hosts(self) -> dict[Rank, str]:
        """The hosts of the watchers that are known."""
        return {node: entry.host for node, entry in self._session.entries().items()} if self._session else {}

    def close(self) -> None:
        self._drop()

    def others(self, ranks: RankSet) -> tuple[Absent, ...]:
        """Whom this watcher does not see, with what is known of why, for a verdict of its own."""
        if self._note is None or not self.obstacle:
            return ()
        unseen = RankSet.of(range(self._note.world_size)) - ranks
        return (Absent(str(unseen), "", f"not asked, because {self.obstacle}"),) if unseen else ()

    def _newest(self) -> Note | None:
        """The note of the newest attempt."""
        if self._changes.any():
            try:
                self._read = self._read_newest()
            except (OSError, ValueError):
                self._read = None
                self._changes.forget()
        return self._read

    def _read_newest(self) -> Note | None:
        """Raises OSError and ValueError."""
        found: list[tuple[float, Path]] = []
        with os.scandir(self._run) as files:
            for file in files:
                if file.name.startswith(NOTE) and file.name.count(".") == NOTE.count(".") + 1:
                    found.append((file.stat().st_mtime, Path(file.path)))
        return _read(max(found)[1]) if found else None

    def _open(self, now: float, ranks: RankSet) -> None:
        note = self._note
        if note is None or not ranks or now < self._retry:
            return
        entry = Entry(note.rank, os.uname().nodename, str(ranks), clock())
        try:
            board = self._board(note)
        except OSError as error:
            self.obstacle, self._wanted = f"the place to meet cannot be used ({error.strerror or error})", None
            self._again_later(now)
            return
        self._session = Session(board, note.namespace, entry, note.world_size, self._delegate)
        if self._wanted is not None:
            self._session.want(self._wanted)
            self._wanted = None

    def _again_later(self, now: float) -> None:
        self._retry, self._pause = now + self._pause, min(LONGEST_RETRY, 2 * self._pause)

    def _board(self, note: Note) -> Board:
        """Raises OSError."""
        if self._shared is not None:
            return FolderBoard(self._shared)
        if (note.host, note.port) == NOWHERE:
            raise OSError("no other process can connect to the job's store; --shared DIR names a folder instead")
        return StoreBoard(Address(note.host, note.port, note.python), environ_of(note.pid))

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None


def _read(path: Path) -> Note:
    """Raises OSError and ValueError."""
    value = json_text.parsed(path.read_text(encoding="utf-8"))
    match value:
        case {
            "host": str(host),
            "port": int(port),
            "namespace": str(namespace),
            "world_size": int(size),
            "rank": int(rank),
            "pid": int(pid),
            "python": str(python),
        }:
            return Note(host, port, namespace, size, Rank(rank), pid, python)
    raise ValueError("not a note of where the job meets")
