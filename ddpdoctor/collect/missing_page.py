"""Impure. Why a live process has no page: what prevented torch from loading the probe in it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
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
        process = Path("/proc", str(worker.pid))
        environ = _variables((process / "environ").read_bytes())
        words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        owner = process.stat().st_uid
    except OSError:
        return Gap(Source.PAGES, worker.rank, "this process has no page")
    return Gap(Source.PAGES, worker.rank, *_reason(environ, words, owner))


def _reason(environ: Mapping[str, str], words: list[str], owner: int) -> tuple[str, str]:
    """The reason and its remedy."""
    run = environ.get("_DDPDOCTOR_RUN", "")
    if not run:
        dropped = "was --no-probe given, or does sudo, ssh or `env -i` drop the environment?"
        return "the probe's environment variables did not reach this process", dropped
    if environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
        return "TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps torch from loading the probe", "unset it"
    ignoring = sorted({"-I", "-E"} & {f"-{letter}" for letter in python_options(words)})
    if ignoring:
        return f"`python {ignoring[0]}` ignores the PYTHONPATH that the probe is on", "start it without"
    if not any(Path(entry, _PLUGIN).exists() for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry):
        return "something replaced the PYTHONPATH that the probe is on", "extend it: PYTHONPATH=...:$PYTHONPATH"
    if owner not in (os.geteuid(), 0):
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
    return "it has not reached init_process_group, or its torch is older than 2.5 and cannot load the probe", ""


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
