"""A capture on disk: the raw parts beside a manifest, replayed by `ddpdoctor diagnose`.

    manifest.json               what everything is, with a schema version
    samples/<n>/<pid>.<suffix>  one raw part each, suffixes as in PartKind
    code/<n>.txt                the job's source files as they were
    report.json                 the verdict at the time of the capture, not read back

Folders are 0700 and files 0600: stacks and command lines are private to the owner of the job.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from ddpdoctor.collect.capture import Capture, Gone, Part, PartKind, Sample
from ddpdoctor.errors import DoctorError, InputError
from ddpdoctor.model import json_text
from ddpdoctor.model.codec import DecodeError, decode, encode
from ddpdoctor.model.course import Course
from ddpdoctor.model.evidence import Gap, Source, SourceFile, Timing
from ddpdoctor.model.processes import Exit, JobEnd
from ddpdoctor.model.ranks import Worker
from ddpdoctor.probe.redact import redacted_command

SCHEMA = "ddpdoctor.bundle/1"
MANIFEST = "manifest.json"

_MOST_BYTES = 256 << 20
_PART_NAME = re.compile(r"^(\d{1,10})\.(page|recorder\.json|stacks\.json|process\.json|fatal\.txt)$")
_SOURCE_OF = {
    PartKind.PAGE: Source.PAGES,
    PartKind.RECORDER: Source.RECORDER,
    PartKind.STACKS: Source.STACKS,
    PartKind.PROCESS: Source.PROCESSES,
    PartKind.FATAL: Source.FAULTHANDLER,
}


def write(directory: Path, capture: Capture, report_json: str | None = None) -> None:
    """Write a bundle, replacing an older one of the same name atomically. Raises DoctorError if it cannot be
    written."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    except OSError as error:
        raise _unwritable(directory, error) from error
    try:
        _write_parts(building, capture)
        _write_file(building / MANIFEST, json.dumps(_manifest(capture), indent=1).encode())
        if report_json is not None:
            _write_file(building / "report.json", report_json.encode())
        if (directory / MANIFEST).exists() or (directory.exists() and not any(directory.iterdir())):
            shutil.rmtree(directory)
        building.rename(directory)
    except OSError as error:
        shutil.rmtree(building, ignore_errors=True)
        raise _unwritable(directory, error) from error


def _unwritable(directory: Path, error: OSError) -> DoctorError:
    reason = error.strerror or str(error)
    return DoctorError(f"the bundle cannot be written to {directory}: {reason}", hint="choose another --bundle folder")


def _write_parts(building: Path, capture: Capture) -> None:
    (building / "samples").mkdir(mode=0o700)
    for number, sample in enumerate(capture.samples):
        folder = building / "samples" / str(number)
        folder.mkdir(mode=0o700)
        for part in sample.parts:
            _write_file(folder / f"{part.pid}.{part.kind.value}", part.data)
    (building / "code").mkdir(mode=0o700)
    for number, source in enumerate(capture.code.values()):
        _write_file(building / "code" / f"{number}.txt", source.text.encode(errors="surrogateescape"))


def _write_file(path: Path, data: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


def _manifest(capture: Capture) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "timing": encode(capture.timing),
        "command": encode(redacted_command(capture.command)),
        "versions": encode(capture.versions),
        "environment": encode(capture.environment),
        "exits": encode(capture.exits),
        "end": encode(capture.end),
        "memory_kills": capture.memory_kills,
        "threads": {str(pid): list(threads) for pid, threads in capture.threads.items()},
        "course": encode(capture.course),
        "samples": [
            {
                "time": sample.time,
                "workers": [{**encode(w), "command": encode(redacted_command(w.command))} for w in sample.workers],
                "gaps": encode(sample.gaps),
                "gone": encode(sample.gone),
                "parts": [{"file": f"{p.pid}.{p.kind.value}", "rung": p.source} for p in sample.parts],
            }
            for sample in capture.samples
        ],
        "code": [{"path": path, "changed": source.changed} for path, source in capture.code.items()],
    }


def read(directory: Path) -> Capture:
    """Read a bundle back. Raises InputError if the folder is not a bundle; a missing part becomes a Gap."""
    manifest = _read_manifest(directory)
    try:
        samples = tuple(
            _read_sample(directory / "samples" / str(number), entry) for number, entry in enumerate(manifest["samples"])
        )
        return Capture(
            samples=samples,
            timing=decode(Timing, manifest["timing"]),
            exits=decode(tuple[Exit, ...], manifest["exits"]),
            code=_read_code(directory / "code", manifest["code"]),
            command=tuple(str(word) for word in manifest["command"]),
            versions={str(k): str(v) for k, v in manifest["versions"].items()},
            environment={str(k): str(v) for k, v in manifest["environment"].items()},
            memory_kills=int(manifest.get("memory_kills", 0)),
            end=decode(JobEnd, manifest["end"]) if manifest.get("end") else None,
            course=decode(Course, manifest["course"]) if "course" in manifest else Course(),
            threads={int(pid): decode(tuple[int, ...], seen) for pid, seen in manifest.get("threads", {}).items()},
        )
    except (DecodeError, KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise _damaged(directory, f"{type(error).__name__} {error}") from error


def _read_manifest(directory: Path) -> dict[str, Any]:
    path = directory / MANIFEST
    if not path.is_file():
        hint = "a bundle is the folder that `ddpdoctor watch` names on its last line"
        raise InputError(f"{directory} is not a bundle: it has no {MANIFEST}", hint=hint)
    try:
        loaded: Any = json_text.parsed(_read_file(path))
    except (OSError, ValueError) as error:
        raise _damaged(directory, f"{MANIFEST}: {error}") from error
    schema = loaded.get("schema") if isinstance(loaded, dict) else None
    if schema != SCHEMA:
        raise InputError(f"{directory}: schema {schema!r} is not {SCHEMA!r}", hint="was it written by a newer version?")
    if not loaded.get("samples"):
        raise _damaged(directory, "it has no samples")
    assert isinstance(loaded, dict)
    return loaded


def _read_sample(folder: Path, entry: dict[str, Any]) -> Sample:
    workers = tuple(decode(Worker, worker) for worker in entry["workers"])
    ranks = {worker.pid: worker.rank for worker in workers}
    gaps = [decode(Gap, gap) for gap in entry["gaps"]]
    parts: list[Part] = []
    for listed in entry["parts"]:
        found = _PART_NAME.match(str(listed["file"]))
        if found is None:
            raise ValueError(f"{listed['file']!r} is not the name of a part")
        pid, kind = int(found[1]), PartKind(found[2])
        try:
            parts.append(Part(kind, pid, _read_file(folder / found[0]), str(listed.get("rung", ""))))
        except OSError as error:
            reason = f"{found[0]} is missing from the bundle ({error.strerror})"
            gaps.append(Gap(_SOURCE_OF[kind], ranks.get(pid), reason))
    # bundles of versions before 0.2 do not list who had ended
    gone = decode(tuple[Gone, ...], entry.get("gone", []))
    return Sample(float(entry["time"]), workers, tuple(parts), tuple(gaps), gone)


def _read_code(folder: Path, entries: list[dict[str, Any]]) -> dict[str, SourceFile]:
    found: dict[str, SourceFile] = {}
    for number, entry in enumerate(entries):
        try:
            text = _read_file(folder / f"{number}.txt").decode(errors="surrogateescape")
        except OSError:
            continue
        path = str(entry["path"])
        found[path] = SourceFile(path, text, changed=bool(entry.get("changed")))
    return found


def _read_file(path: Path) -> bytes:
    """The bytes of a regular file; links are not followed, so that a crafted bundle cannot refer to files
    outside it."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if os.fstat(file.fileno()).st_size > _MOST_BYTES:
            raise ValueError(f"{path.name} is larger than {_MOST_BYTES >> 20} MB")
        return file.read()


def _damaged(directory: Path, what: str) -> InputError:
    return InputError(
        f"{directory}: the bundle is damaged: {what}", hint="capture it again, or copy it again completely"
    )
