"""Pure. Splits a log of several ranks by the prefixes that launchers and torch put before each line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ddpdoctor.archive.log_wrappers import unwrap
from ddpdoctor.model.ranks import MOST_RANKS, Rank

#: how far into a line a prefix may start, after time stamps, pod names and other tools' prefixes
_REACH = 96
#: characters of a line that are read: some patterns take quadratic time in the length of a line
_MOST_LINE = 4096
#: share of lines that must begin with a number and a colon to be recognised as `srun --label`
_LABELLED = 0.9
_LOOKED_AT = 200

#: `[rank3]:`, written by torch 2.2 and later before its own lines and before tracebacks
_RANK = re.compile(r"\[rank(\d{1,7})\]:[ ]?")
#: `[1,3]<stderr>:`, mpirun --tag-output
_MPI = re.compile(r"\[\d+,(\d{1,7})\]<std(?:out|err)>:[ ]?")
#: `[default3]:`, torchrun --tee: the role's name and the local rank
_ROLE = re.compile(r"^\[([A-Za-z_][\w-]*?)(\d{1,4})\]:[ ]?")
#: `3: `, srun --label
_LABEL = re.compile(r"^\s{0,6}(\d{1,7}): ?")
#: a stack frame that torch's watchdog writes within one message, which has a prefix on its first line only
_CONTINUED = re.compile(r"^#\d{1,4} \S.* from .*:\d+\s*$")


@dataclass(frozen=True, slots=True)
class LogStream:
    """The lines of one rank without their prefix; rank and local rank are None for lines without a prefix."""

    rank: Rank | None
    local_rank: int | None
    lines: tuple[str, ...]
    #: the container, pod, host or actor that wrote them, "" if not named
    source: str = ""


def split(text: str) -> tuple[LogStream, ...]:
    """Streams in the order of their first lines; within a stream, lines keep their order."""
    lines = [(source, line[:_MOST_LINE]) for source, line in unwrap(text.splitlines())]
    labelled = _is_labelled([line for _, line in lines[: 4 * _LOOKED_AT]])
    found: dict[tuple[str, Rank | None, int | None], list[str]] = {}
    owner: tuple[str, Rank | None, int | None] = ("", None, None)
    for source, line in lines:
        if line.startswith("#") and source == owner[0] and _CONTINUED.match(line):
            found.setdefault(owner, []).append(line)
            continue
        rank, local_rank, rest = _prefix(line, labelled)
        # a global rank identifies the stream by itself, so its lines from several sources are joined
        owner = (source if rank is None else "", rank, local_rank)
        found.setdefault(owner, []).append(rest)
    return tuple(LogStream(rank, local, tuple(said), source) for (source, rank, local), said in found.items())


def _prefix(line: str, labelled: bool) -> tuple[Rank | None, int | None, str]:
    if "[" in line[:_REACH]:
        found = _RANK.search(line, 0, _REACH) or _MPI.search(line, 0, _REACH)
        if found and int(found[1]) < MOST_RANKS:
            rest = line[found.end() :]
            # torch's own prefix may follow the launcher's
            again = _RANK.match(rest)
            return Rank(int(found[1])), None, rest[again.end() :] if again else rest
        role = _ROLE.match(line)
        if role and role[1].lower() not in ("rank", "gpu", "cuda"):
            return None, int(role[2]), line[role.end() :]
    if labelled and (label := _LABEL.match(line)):
        return Rank(int(label[1])), None, line[label.end() :]
    return None, None, line


def _is_labelled(lines: list[str]) -> bool:
    """Whether nearly all lines begin with a task number, and at least two different ones."""
    said = [line for line in lines if line.strip()][:_LOOKED_AT]
    numbers = [found[1] for line in said if (found := _LABEL.match(line))]
    return len(set(numbers)) > 1 and len(numbers) >= _LABELLED * len(said) and all(int(n) < MOST_RANKS for n in numbers)
