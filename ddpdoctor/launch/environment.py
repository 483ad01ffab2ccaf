"""Which environment variables `watch` sets for a job, depending on its torch version, and why. The user's own values
are kept.

Sources: ProcessGroupNCCL.hpp and FlightRecorder.hpp of torch 2.2 to 2.13; the names changed in 2.8.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PLUGIN = Path(__file__).resolve().parent.parent / "probe" / "plugin"

#: the ring's length: the name up to 2.7, and the name from 2.8 on, which takes precedence
RECORDER_NAMES = ("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE")

#: entries of the Flight Recorder's ring: torch's default from 2.11 on, 0 before
RECORDER_ENTRIES = 2000


@dataclass(frozen=True, slots=True)
class EnvironmentPlan:
    """What is set and why, and what the user had set and is kept."""

    set: Mapping[str, str]
    why: Mapping[str, str]
    kept: Mapping[str, str]

    def explained(self) -> dict[str, str]:
        """variable -> "value: why", as reports show it."""
        return {name: f"{value}: {self.why[name]}" for name, value in self.set.items()}


@dataclass(frozen=True, slots=True)
class TorchVersion:
    """The torch that a job will use, as far as it is known before the start."""

    #: as installed in the interpreter of the command, None if that is not known
    known: str | None
    #: what a shell script most likely starts; used only where `known` is None
    likely: str | None = None


def plan(
    environ: Mapping[str, str],
    torch: TorchVersion,
    *,
    run: Path | None,
    watch_pid: int,
    group_timeout: float | None = None,
) -> EnvironmentPlan:
    """Decide what to set. `run` None: no probe. `group_timeout` in seconds, for groups without one of their own."""
    wanted = dict(_recorder(torch))
    if run is not None:
        wanted |= _probe(environ, run, watch_pid, group_timeout)
    own = ("PYTHONPATH", "_DDPDOCTOR_RUN", "_DDPDOCTOR_WATCH_PID", "_DDPDOCTOR_GROUP_TIMEOUT")
    if any(name in environ for name in RECORDER_NAMES):
        # one setting under two names: setting the other name could override the user's
        wanted = {name: pair for name, pair in wanted.items() if name not in RECORDER_NAMES}
    kept = {name: environ[name] for name in (*wanted, *RECORDER_NAMES) if name in environ and name not in own}
    taken = {name: pair for name, pair in wanted.items() if name not in kept}
    return EnvironmentPlan(
        set={name: value for name, (value, _) in taken.items()},
        why={name: reason for name, (_, reason) in taken.items()},
        kept=kept,
    )


def _probe(
    environ: Mapping[str, str], run: Path, watch_pid: int, group_timeout: float | None
) -> dict[str, tuple[str, str]]:
    before = environ.get("PYTHONPATH", "")
    wanted = {
        "PYTHONPATH": (f"{PLUGIN}:{before}" if before else str(PLUGIN), "torch loads the probe from this folder"),
        "_DDPDOCTOR_RUN": (str(run), "where the ranks write their pages"),
        "_DDPDOCTOR_WATCH_PID": (str(watch_pid), "the process that may read the ranks' stacks"),
    }
    if group_timeout is not None:
        why = "--nccl-timeout, for process groups without a timeout of their own"
        wanted["_DDPDOCTOR_GROUP_TIMEOUT"] = (f"{group_timeout:g}", why)
    return wanted


def _recorder(torch: TorchVersion) -> dict[str, tuple[str, str]]:
    """The recorder's ring is off by default before torch 2.11; an unknown version may be one of those.

    From 2.8 on the older name makes every rank print a warning, so it is not set if the likely version is newer.
    """
    release, guess = _release(torch.known), _release(torch.likely)
    if release is not None and release >= (2, 11):
        return {}
    why = "the Flight Recorder's ring, which is off by default before torch 2.11"
    names: tuple[str, ...] = RECORDER_NAMES
    if release is not None and release < (2, 8):
        names = RECORDER_NAMES[:1]
    elif release is None and guess is not None and guess >= (2, 8):
        names = RECORDER_NAMES[1:]
    return {name: (str(RECORDER_ENTRIES), why) for name in names}


def probe_obstacle(torch: str | None, environ: Mapping[str, str]) -> str:
    """Why torch will not load the probe that is on its path, "" if nothing is known against it.

    torch loads plug-ins at the end of its import from 2.5 on (`torch/__init__.py`, `_import_device_backends`).
    """
    if environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
        return "TORCH_DEVICE_BACKEND_AUTOLOAD=0 turns it off"
    release = _release(torch)
    return "it needs torch 2.5" if release is not None and release < (2, 5) else ""


def _release(version: str | None) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return (int(found[1]), int(found[2])) if found else None


def installed_torch(command: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    """torch's version in the interpreter that the command will run, read from its metadata; torch is not imported.

    None if it is not known: the command is not a Python program (a shell script, say), or its environment has another
    layout.
    """
    for packages in package_folders(command, environ):
        for metadata in packages.glob("torch-*.dist-info"):
            return metadata.name.removeprefix("torch-").removesuffix(".dist-info").partition("+")[0]
    return None


def package_folders(command: tuple[str, ...], environ: Mapping[str, str]) -> Iterator[Path]:
    """Where the interpreter that the command will run looks for packages; nothing if it is not known."""
    interpreter = _interpreter(command, environ)
    if interpreter is not None:
        yield from _package_folders(interpreter, environ)


def likely_torch(environ: Mapping[str, str]) -> str | None:
    """The version that a shell script most likely starts: that of the first torchrun or Python on PATH that has
    torch."""
    found = (installed_torch((name,), environ) for name in ("torchrun", "python", "python3"))
    return next(filter(None, found), None)


def _package_folders(interpreter: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Where the interpreter looks for packages: PYTHONPATH, its environment, the user's, the system's (two names on
    Debian)."""
    yield from (Path(entry) for entry in environ.get("PYTHONPATH", "").split(":") if entry)
    home = interpreter.parent.parent
    version = re.search(r"python3\.\d+$", interpreter.resolve().name)
    libraries = (version[0], "python3") if version else ("python3*",)
    system = {home, Path("/usr/local")} if home == Path("/usr") else {home}
    user = {Path(environ["HOME"], ".local")} if "HOME" in environ else set[Path]()
    for prefix in (home, *sorted(user), *sorted(system - {home})):
        for library in libraries:
            yield from sorted(prefix.glob(f"lib/{library}/*-packages"))


def _interpreter(command: tuple[str, ...], environ: Mapping[str, str]) -> Path | None:
    found = shutil.which(command[0], path=environ.get("PATH"))
    if found is None:
        return None
    path = Path(found)
    try:
        with path.open("rb") as file:
            first = file.read(2)
            shebang = file.readline(512) if first == b"#!" else b""
    except OSError:
        return None
    if shebang:
        words = shebang.decode(errors="replace").split()
        if words and words[0].endswith("/env"):
            words = [word for word in words[1:] if not word.startswith("-")]
        named = shutil.which(words[0], path=environ.get("PATH")) if words else None
        path = Path(named) if named else path
    return path if "python" in path.name else None
