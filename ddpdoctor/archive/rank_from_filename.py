"""Pure. Ranks and process ids from file names, for files whose content does not state them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ddpdoctor.model.ranks import Rank

#: `rank_3`, `rank3.txt`, `nccl_trace_rank_3`, `comm_lib_trace_rank_3`, `global-rank.3`; `r3` alone is too ambiguous
_STATED = re.compile(
    r"(?:^|[^a-z])(?:global[_.-]?)?(?:rank|trainer|worker|task|proc(?:ess)?|gpu|slot)[_.=-]?(\d{1,7})(?!\d)", re.I
)
#: an explicit rank; the other words also occur in machine names such as gpu17 and worker3
_RANK = re.compile(r"(?:^|[^a-z])(?:global[_.-]?)?(?:rank|trainer)[_.=-]?\d", re.I)
#: `12345.stacks.json`, `pyspy-12345.txt`, `dump.pid12345`
_PID = re.compile(r"(?:^|[^0-9a-z])(?:pid[_.=-]?)?(\d{2,10})(?!\d)", re.I)
_NUMBER = re.compile(r"\d+")
#: parts of a bundle of ddpdoctor, which are named by process and lie in one folder per sample
_BUNDLE_PART = re.compile(r"(?:^|/)\d+\.(?:page|recorder\.json|stacks\.json|process\.json|fatal\.txt)$")


def explicit_rank(name: str) -> Rank | None:
    """The rank that a path states in words, the innermost component first: `logs/rank_3/stderr.log` is rank 3."""
    for part in reversed(name.replace("\\", "/").split("/")):
        found = _STATED.findall(part)
        if found:
            return Rank(int(found[-1]))
    return None


def pid(name: str) -> int | None:
    """The process id in a file's name, if exactly one number can be one."""
    found = [int(number) for number in _PID.findall(name.rpartition("/")[2])]
    return found[0] if len(found) == 1 and found[0] > 1 else None


def ranks(names: Iterable[str]) -> Mapping[str, Rank]:
    """Ranks of files: those that state it, then those whose names differ in one number that counts from 0.

    `slurm-812_0.out` to `slurm-812_3.out`, `attempt_0/0/stderr.log` to `attempt_0/3/stderr.log`, `0.log` to `3.log`. A
    number that does not count up (a process id, a date) is not a rank.
    """
    every = sorted(name for name in set(names) if not is_bundle_part(name))
    found = _stated(every)
    found.update(_by_counting([name for name in every if name not in found]))
    for numbers in _series([name for name in every if name not in found]):
        # one folder per worker holds stdout and stderr, so several series may give the same ranks
        if len(numbers) < 2 or any(len(same) > 1 for same in numbers.values()):
            continue
        if sorted(numbers) == list(range(len(numbers))):
            found.update({same[0]: Rank(number) for number, same in numbers.items() if same[0] not in found})
    return found


def _stated(names: Iterable[str]) -> dict[str, Rank]:
    found = {name: rank for name in names if (rank := explicit_rank(name)) is not None}
    for name in _machine_names(found):
        del found[name]
    return found


def _series(names: Iterable[str]) -> Iterable[Mapping[int, list[str]]]:
    """Names that differ in one number only: that number -> the names with it."""
    series: dict[tuple[str, int], dict[int, list[str]]] = {}
    for name in names:
        for index, number in enumerate(_NUMBER.finditer(name)):
            shape = f"{name[: number.start()]}#{name[number.end() :]}"
            series.setdefault((shape, index), {}).setdefault(int(number[0]), []).append(name)
    return series.values()


def _machine_names(said: Mapping[str, Rank]) -> list[str]:
    """Names such as `log-gpu17-0.out` and `log-gpu17-1.out`, in which the apparent rank is a machine that several files
    share."""
    sharing: dict[tuple[str, Rank], list[str]] = {}
    for name, rank in said.items():
        if not _RANK.search(name):
            sharing.setdefault((shape(name), rank), []).append(name)
    shared = {alike for (alike, _), names in sharing.items() if len(names) > 1}
    return [name for name in said if shape(name) in shared and not _RANK.search(name)]


def _by_counting(names: list[str]) -> dict[str, Rank]:
    """Ranks of names with the same shape in which exactly one of the numbers counts all of them from 0."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(shape(name), []).append(name)
    found: dict[str, Rank] = {}
    for same in alike.values():
        columns = zip(*([int(number) for number in _NUMBER.findall(name)] for name in same), strict=True)
        counting = [column for column in columns if sorted(column) == list(range(len(same)))]
        if len(same) > 1 and len(counting) == 1:
            found.update({name: Rank(number) for name, number in zip(same, counting[0], strict=True)})
    return found


def is_bundle_part(name: str) -> bool:
    """Whether a file is a raw part of a bundle, named by process."""
    return _BUNDLE_PART.search(name) is not None


def shape(name: str) -> str:
    """The name with `#` in place of each number: files of one kind, one per rank, have the same shape."""
    return _NUMBER.sub("#", name)


_TRAILING = re.compile(r"(\d{1,7})(?:\.[A-Za-z]+)*$")


def rank_of(path: str) -> Rank | None:
    """The rank of a recorder dump from its path: as stated in words, or else the number at the end of the name.

    Only for files that are written once per rank, such as `TORCH_FR_DUMP_TEMP_FILE` plus the rank.
    """
    said = explicit_rank(path)
    if said is not None:
        return said
    found = _TRAILING.search(path.replace("\\", "/").rpartition("/")[2])
    return Rank(int(found[1])) if found else None
