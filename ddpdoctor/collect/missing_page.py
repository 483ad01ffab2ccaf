"""Impure. Why live processes have no page: what prevented torch from loading the probe in them."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import Worker
from ddpdoctor.probe import page

#: lies in the folder that `watch` adds to PYTHONPATH
_PLUGIN = "ddpdoctor_probe_plugin.py"
_PYTHON = re.compile(r"^(pypy|python)\d*(\.\d+)*$")


def missing_page_gap(worker: Worker) -> Gap:
    """The gap of a rank without a page, with the reason as far as /proc shows it."""
    try:
        started = _Started.of(worker.pid)
    except OSError:
        return Gap(Source.PAGES, worker.rank, "this process has no page")
    reason = started.obstacle() or (
        "it has not reached init_process_group, or its torch is older than 2.5 and cannot load the probe",
        "",
    )
    return Gap(Source.PAGES, worker.rank, *reason)


def unprobed_gap(workers: Iterable[Worker]) -> Gap | None:
    """What is known of processes that have loaded torch and cannot have loaded the probe, None if there are none.

    A job whose ranks are such processes looks as if it had no ranks, where a framework tells them their number later
    than in their environment. Reads a small file of each process, and the maps of those that are suspected.
    """
    found: Counter[tuple[str, str]] = Counter()
    for worker in workers:
        with contextlib.suppress(OSError):
            obstacle = _Started.of(worker.pid).obstacle()
            if obstacle is not None and _has_torch(worker.pid):
                found[obstacle] += 1
    if not found:
        return None
    ((reason, remedy), number) = found.most_common(1)[0]
    have = f"{number} processes have" if number > 1 else "a process has"
    return Gap(Source.PAGES, None, f"{have} loaded torch without the probe: {reason}", remedy)


@dataclass(frozen=True, slots=True)
class _Started:
    """How a process was started."""

    environ: Mapping[str, str]
    words: list[str]
    #: the user that it runs as
    owner: int

    @classmethod
    def of(cls, pid: int) -> _Started:
        """Raises OSError."""
        process = Path("/proc", str(pid))
        environ = _variables((process / "environ").read_bytes())
        words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        return cls(environ, words, process.stat().st_uid)

    def obstacle(self) -> tuple[str, str] | None:
        """What keeps torch from loading the probe in it, or the probe from making its page, and the remedy; None if
        nothing is known against it."""
        environ, run = self.environ, self.environ.get("_DDPDOCTOR_RUN", "")
        if not run:
            dropped = "was --no-probe given, or does sudo, ssh or `env -i` drop the environment?"
            return "the probe's environment variables did not reach this process", dropped
        if environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
            return "TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps torch from loading the probe", "unset it"
        ignoring = sorted({"-I", "-E"} & {f"-{letter}" for letter in python_options(self.words)})
        if ignoring:
            return f"`python {ignoring[0]}` ignores the PYTHONPATH that the probe is on", "start it without"
        if not any(Path(entry, _PLUGIN).exists() for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry):
            return "something replaced the PYTHONPATH that the probe is on", "extend it: PYTHONPATH=...:$PYTHONPATH"
        if self.owner not in (os.geteuid(), 0):
            return "it runs as another user, who cannot write its page", "run `watch` as that user"
        if not Path(run).is_dir():
            return (
                f"the folder of its page is not there: {run}",
                "keep what cleans up temporary files off it, or point XDG_RUNTIME_DIR to another local folder",
            )
        if _free_bytes(run) < page.SIZE:
            return (
                f"there is no space left for its page in {run}",
                "point XDG_RUNTIME_DIR to a local folder with free space",
            )
        return None


def _has_torch(pid: int) -> bool:
    """Whether it has loaded torch's library. Raises OSError."""
    return "/libtorch" in Path("/proc", str(pid), "maps").read_text(errors="replace")


def python_options(words: Sequence[str]) -> frozenset[str]:
    """The single-letter options of an interpreter's command line: `python -IB -m pkg` has I, B and m."""
    found: set[str] = set()
    rest = iter(words[1:] if words and _PYTHON.match(Path(words[0]).name) else ())
    for word in rest:
        if not word.startswith("-") or word in ("-", "--"):
            break
        if word in ("-X", "-W", "--check-hash-based-pycs"):
            next(rest, None)
        elif not word.startswith(("--", "-X", "-W")):
            letters, ends, _ = word[1:].partition("c")
            before, runs, _ = letters.partition("m")
            found.update(before + ends + runs)
            if ends or runs:
                break
    return frozenset(found)


def _free_bytes(folder: str) -> int:
    try:
        space = os.statvfs(folder)
    except OSError:
        return page.SIZE  # it has ended, which is reported as another reason
    return space.f_bavail * space.f_frsize


def _variables(block: bytes) -> dict[str, str]:
    pairs = (entry.decode(errors="replace").partition("=") for entry in block.split(b"\0"))
    return {name: value for name, _, value in pairs}
