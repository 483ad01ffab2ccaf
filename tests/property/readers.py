"""Every reader of what other processes wrote: what it is tried on, and what it may raise."""

from __future__ import annotations

import json
import os
import pickle
import signal
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ddpdoctor import workers
from ddpdoctor.archive import parallel_dumps, read, recorder_json, resource_limits
from ddpdoctor.archive.fragment import Format
from ddpdoctor.archive.input_files import InputFile
from ddpdoctor.cli import watch_settings
from ddpdoctor.collect import bundle, flight_recorder, pyspy
from ddpdoctor.collect.assemble import assemble
from ddpdoctor.collect.capture import Capture, Sample
from ddpdoctor.collect.page import decode_identity, decode_lock_files, decode_page
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.errors import DoctorError
from ddpdoctor.meeting import messages, wire
from ddpdoctor.meeting.messages import Absent, Behaviour, Call, Digest, Doing, Entry, Opening, Why
from ddpdoctor.model.codec import DecodeError
from ddpdoctor.model.evidence import Timing
from ddpdoctor.model.ranks import Rank
from ddpdoctor.report import json as report_json
from tests.property import mutation
from tests.property.test_page import sound_page

GOLDEN = Path(__file__).parents[1] / "golden"
#: a folder that no disk is behind, if there is one
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@dataclass(frozen=True)
class Reader:
    """`seeds` are sound inputs; whatever is made of them is read, or refused with one of these exceptions."""

    read: Callable[[bytes], object]
    seeds: Callable[[], tuple[bytes, ...]]
    refuses: tuple[type[Exception], ...] = (ValueError,)


def _pages(data: bytes) -> None:
    for decode in (decode_page, decode_identity, decode_lock_files):
        try:
            decode(data)
        except ValueError:
            continue


def _archives(data: bytes) -> None:
    for kind in Format:
        read.read(data, "rank_3.txt", kind)


def _store(data: bytes) -> None:
    """Everything that another node may have left in the job's store."""
    list(messages.entries(data))
    kinds = (Digest, Call)
    readers: tuple[Callable[[bytes], object], ...] = (
        messages.registered,
        messages.claimed,
        wire.unpack,
        *(partial(messages.unpack, kind) for kind in kinds),
    )
    for decode in readers:
        try:
            decode(data)
        except ValueError:
            continue


def _store_seeds() -> tuple[bytes, ...]:
    digest = Digest(Rank(0), 5.0, (Behaviour("0-7", Doing.WAITING, "all_reduce", "0", "a.py:3", (1, 2, 3), "f00"),))
    capture = Capture((Sample(1.0, (), (), ()),), Timing(0.0, 1.0, 2.0, 3.0))
    return (
        messages.line(Entry(Rank(0), "node-0", "0-7", "boot")) * 3,
        messages.claim(Opening(Rank(0), Why.STILL)),
        messages.pack(digest),
        messages.pack(Call("0,8", (Absent("9", "node-1", "does not answer"),))),
        wire.pack(capture, "node-0"),
    )


def _bundles(data: bytes) -> None:
    """The manifest of a bundle, judged as `diagnose` does."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        bundle.write(Path(folder) / "kept", Capture((Sample(1.0, (), (), ()),), Timing(0.0, 1.0, 2.0, 3.0)))
        manifest = Path(folder) / "kept" / bundle.MANIFEST
        manifest.write_bytes(data)
        examine(assemble(bundle.read(manifest.parent)))


def _bundle_seeds() -> tuple[bytes, ...]:
    with tempfile.TemporaryDirectory() as folder:
        bundle.write(Path(folder) / "kept", Capture((Sample(1.0, (), (), ()),), Timing(0.0, 1.0, 2.0, 3.0)))
        return ((Path(folder) / "kept" / bundle.MANIFEST).read_bytes(),)


def _config(data: bytes) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        (Path(folder) / "pyproject.toml").write_bytes(data)
        watch_settings.resolve({}, Path(folder))


def _config_seeds() -> tuple[bytes, ...]:
    return (
        b'[tool.ddpdoctor.watch]\nstall-after = "5m"\non-hang = "stop"\nlive = "line"\nquiet = true\n',
        b'[tool.ddpdoctor.watch]\non-desync = "ignore"\n\n[tool.ddpdoctor.lint]\nselect = ["DD111"]\n',
    )


def _recorders() -> tuple[bytes, ...]:
    return (*_pickles(), json.dumps(mutation.RECORDER).encode())


def _pickles() -> tuple[bytes, ...]:
    return tuple(pickle.dumps(mutation.RECORDER, protocol) for protocol in (2, 4, 5))


def _dumps(data: bytes) -> None:
    """Files that `diagnose` is given: the reader makes the process with limits, and a gap of whatever it ends by."""
    said = parallel_dumps.read_all([InputFile("trace", None, Format.RECORDER_PICKLE, data=data)], lambda _: 3)
    if not said.members:
        (gap,) = said.gaps
        assert "ended the reading process" not in gap.reason, gap.reason


def _recorder_files(data: bytes) -> None:
    """Files of a live job: what the program `recorder_json` does with its input, without the start of an interpreter.

    Raises ValueError if it is refused, whether in words or by a limit.
    """
    ((_, ended, _),) = workers.each(_begin_reduced, [[data]], 1)
    if isinstance(ended, workers.Lost):
        assert ended.signal == signal.SIGPROF or ended.status == resource_limits.OUT_OF_MEMORY, ended
        raise ValueError("ended by a limit")
    if ended is not None:
        raise ended


def _begin_reduced() -> Callable[[bytes], Exception | None]:
    resource_limits.impose()
    return _reduced


def _reduced(data: bytes) -> Exception | None:
    signal.setitimer(signal.ITIMER_PROF, recorder_json.MOST_SECONDS)
    try:
        json.dumps(recorder_json.reduced(data))
    except MemoryError:
        os._exit(resource_limits.OUT_OF_MEMORY)
    except Exception as error:  # noqa: BLE001 - judged by who asked
        return error
    return None


def _reports() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(GOLDEN.glob("*.json")))


READERS: dict[str, Reader] = {
    "pages": Reader(_pages, lambda: (sound_page(),)),
    "recorders": Reader(flight_recorder.parse, lambda: (json.dumps(mutation.RECORDER).encode(),)),
    "recorder files": Reader(_recorder_files, _recorders, (ValueError, RecursionError)),
    "recorder dumps": Reader(_dumps, _recorders),
    "stacks": Reader(pyspy.parse, lambda: (json.dumps(mutation.STACK).encode(),)),
    "logs and dumps": Reader(_archives, mutation.seeds),
    "store": Reader(_store, _store_seeds),
    "bundles": Reader(_bundles, _bundle_seeds, (DoctorError,)),
    "reports": Reader(
        lambda data: report_json.read(data.decode(errors="surrogateescape")), _reports, (DecodeError, RecursionError)
    ),
    "settings": Reader(_config, _config_seeds, (DoctorError,)),
}
