"""Pure. Some ranks of a capture as bytes for another node: raw parts, without source, arguments or environment."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from typing import Any

from ddpdoctor.collect.capture import Capture, Gone, Part, PartKind, Sample
from ddpdoctor.meeting.messages import inflated
from ddpdoctor.model import json_text
from ddpdoctor.model.codec import decode, encode
from ddpdoctor.model.evidence import Gap, Timing
from ddpdoctor.model.processes import Exit
from ddpdoctor.model.ranks import RankSet, Role, Worker


def of_ranks(capture: Capture, ranks: RankSet) -> Capture:
    """The capture with these ranks and their children alone."""
    return replace(capture, samples=tuple(_sample(sample, ranks) for sample in capture.samples))


def _sample(sample: Sample, ranks: RankSet) -> Sample:
    kept = {worker.pid for worker in sample.workers if worker.role is Role.RANK and worker.rank in ranks}
    kept |= {worker.pid for worker in sample.workers if worker.role is Role.CHILD and worker.parent in kept}
    return Sample(
        sample.time,
        tuple(replace(worker, command=()) for worker in sample.workers if worker.pid in kept),
        tuple(part for part in sample.parts if part.pid in kept),
        tuple(gap for gap in sample.gaps if gap.rank is None or gap.rank in ranks),
        tuple(gone for gone in sample.gone if gone.pid in kept),
    )


def pack(capture: Capture, host: str) -> bytes:
    """`host`: the name of the node that saw it."""
    value = {
        "host": host,
        "timing": encode(capture.timing),
        "exits": encode(capture.exits),
        "memory_kills": capture.memory_kills,
        "versions": encode(capture.versions),
        "samples": [_encoded(sample) for sample in capture.samples],
    }
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 6)


def _encoded(sample: Sample) -> dict[str, Any]:
    return {
        "time": sample.time,
        "workers": encode(sample.workers),
        "gaps": encode(sample.gaps),
        "gone": encode(sample.gone),
        "parts": [
            [part.kind.value, part.pid, part.source, base64.b64encode(_without_commands(part)).decode()]
            for part in sample.parts
        ],
    }


def _without_commands(part: Part) -> bytes:
    """Processes that hold what a rank waits for are named; how they were called is nobody's business elsewhere."""
    if part.kind is not PartKind.PROCESS or b'"command"' not in part.data:
        return part.data
    return json.dumps(_without(json_text.parsed(part.data))).encode()


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(inner) for key, inner in value.items() if key != "command"}
    return [_without(inner) for inner in value] if isinstance(value, list) else value


def unpack(data: bytes) -> tuple[Capture, str]:
    """A capture and the host that it is of. Raises ValueError for anything else."""
    try:
        value = json_text.parsed(inflated(data))
        capture = Capture(
            samples=tuple(_decoded(entry) for entry in value["samples"]),
            timing=decode(Timing, value["timing"]),
            exits=decode(tuple[Exit, ...], value["exits"]),
            versions={str(name): str(version) for name, version in value["versions"].items()},
            memory_kills=int(value["memory_kills"]),
        )
        return capture, str(value["host"])
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__} {error}") from None


def _decoded(entry: Any) -> Sample:
    return Sample(
        float(entry["time"]),
        decode(tuple[Worker, ...], entry["workers"]),
        tuple(
            Part(PartKind(kind), int(pid), base64.b64decode(data), str(source))
            for kind, pid, source, data in entry["parts"]
        ),
        decode(tuple[Gap, ...], entry["gaps"]),
        decode(tuple[Gone, ...], entry["gone"]),
    )
