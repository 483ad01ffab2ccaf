"""Impure. `ddpdoctor watch -- COMMAND`: runs a distributed job, and says which rank breaks it, where and why."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import platform
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import ddpdoctor
from ddpdoctor.cli import duration, output_paths
from ddpdoctor.cli.background_lint import BackgroundLint
from ddpdoctor.cli.console import Console
from ddpdoctor.config import Live, OnHang, WatchConfig
from ddpdoctor.errors import UsageError

if TYPE_CHECKING:
    from ddpdoctor.cli.verdict_actions import VerdictActions
    from ddpdoctor.launch.supervisor import Job

_EPILOG = """examples:
  ddpdoctor watch -- torchrun --nproc-per-node 4 train.py
  ddpdoctor watch --on-hang stop --json report.json -- python -m torch.distributed.run --nproc-per-node 8 train.py

Ctrl-\\ (SIGQUIT) inspects the job now, prints the result, and the job continues.

exit status:
  the command's own, or 128+n if a signal ended it
  124  a hang was found and --on-hang stop ended the job, or a desync and --on-desync stop did
  125  ddpdoctor itself failed
  126  the command cannot be started; 127: it was not found; 2: invalid arguments"""

#: signals that --dump-signal can name
_DUMP_SIGNALS = {"QUIT": signal.SIGQUIT, "USR1": signal.SIGUSR1, "USR2": signal.SIGUSR2}
#: seconds between ticks of a job that is not watched
_TICK = 0.25


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "ddpdoctor watch [options] -- COMMAND..."
    parser.epilog = _EPILOG
    parser.add_argument(
        "--stall-after",
        metavar="auto|DURATION",
        default="auto",
        help=(
            "time without progress that counts as a stall; a proven deadlock is reported at once, independent of it. "
            "auto: at least 30 s and 5 times the run's own longest gap; 10 minutes before the first optimizer step or "
            "20 s of other progress"
        ),
    )
    parser.add_argument(
        "--on-hang",
        metavar="report|stop|COMMAND",
        default="report",
        help="report: print and keep watching (default); stop: print, and end the job with exit status 124 if the "
        "deadlock is proven or a second look shows the same; anything else: a program to run with the report's path",
    )
    parser.add_argument(
        "--on-desync",
        metavar="report|ignore|stop|COMMAND",
        default="report",
        help="while all ranks move, one of them has shifted against the others (it skipped a batch): report: print a "
        "warning (default); ignore: only the JSON tells; stop: end the job with exit status 124; anything else: a "
        "program to run with the report's path",
    )
    parser.add_argument(
        "--nccl-timeout",
        metavar="DURATION",
        help="default timeout of process groups (of every backend) for which the script sets none",
    )
    _add_outputs(parser)
    _add_read(parser)
    parser.add_argument(
        "--lint", action="store_true", help="lint the script first and print the findings; never stops the job"
    )
    parser.add_argument(
        "--dump-signal",
        metavar="NAME",
        default="QUIT",
        help="a signal that inspects the job, as Ctrl-\\ does: USR1 or USR2, which otherwise are passed on to the job",
    )
    _add_shown(parser)
    # the opposites, for who set one of them elsewhere
    for option, attribute in (("native", "native"), ("lint", "lint"), ("quiet", "quiet")):
        parser.add_argument(f"--no-{option}", action="store_false", dest=attribute, help=argparse.SUPPRESS)
    parser.add_argument("--probe", action="store_false", dest="no_probe", help=argparse.SUPPRESS)
    parser.add_argument("--locals", action="store_false", dest="no_locals", help=argparse.SUPPRESS)


def _add_read(parser: argparse.ArgumentParser) -> None:
    """What is read of the ranks."""
    parser.add_argument("--native", action="store_true", help="also collect native frames (slower, py-spy --native)")
    parser.add_argument("--no-locals", action="store_true", help="read no local variables: loop counters are lost")
    parser.add_argument("--no-probe", action="store_true", help="load nothing into the ranks; much less can be proven")


def _add_shown(parser: argparse.ArgumentParser) -> None:
    """What is printed beside verdicts."""
    parser.add_argument(
        "--quiet", action="store_true", help="print no start line and no end line, and show no line of the running job"
    )
    parser.add_argument(
        "--live",
        action="store_const",
        const=Live.TABLE.value,
        default=Live.LINE.value,
        help="on a terminal: a table of the ranks below the job's output, in place of one line",
    )
    parser.add_argument(
        "--no-live", action="store_const", const=Live.OFF.value, dest="live", help="on a terminal: neither of them"
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    """Where the verdict goes beside the terminal."""
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="write the report as JSON to FILE; `-` for stdout, beside the job's"
    )
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="write the report as one HTML page to FILE; `-` for stdout"
    )
    parser.add_argument(
        "--bundle", metavar="DIR", type=Path, help="where to keep the evidence (default: the state directory)"
    )
    parser.add_argument(
        "--shared",
        metavar="DIR",
        type=Path,
        help="a folder that all nodes see: where the watchers of a job on several nodes meet if they cannot reach its "
        "store",
    )
    parser.add_argument(
        "--metrics-file",
        metavar="FILE",
        type=Path,
        help="keep the job's state in FILE, for the Prometheus node exporter's textfile collector (name it *.prom)",
    )
    parser.add_argument(
        "--notify-url",
        metavar="URL",
        help="post a JSON message (Slack's format) to URL for each hang or crash, and one when it is over",
    )


def run(args: argparse.Namespace) -> int:
    """Watch one job; returns the exit status of `watch`. Raises UsageError, and the errors of starting the command."""
    config = _config(args)
    console = Console(sys.stderr, os.environ, quiet=config.quiet)
    from ddpdoctor.launch.environment import TorchVersion, installed_torch, likely_torch, plan, probe_obstacle
    from ddpdoctor.launch.run_directory import run_directory
    from ddpdoctor.launch.supervisor import Job

    environ = dict(os.environ)
    with run_directory(environ) as directory, _background_lint(config, environ, console) as prelint:
        torch = installed_torch(config.command, environ)
        if directory is None:
            console.say("no private folder can be made in the temporary directory: watching from outside only")
        planned = plan(
            environ,
            TorchVersion(torch, likely_torch(environ) if torch is None else None),
            run=directory if config.probe else None,
            watch_pid=os.getpid(),
            group_timeout=config.group_timeout,
        )
        prelint.wait()
        from ddpdoctor.cli.live_display import LiveDisplay

        started, wall = time.monotonic(), time.time()
        with (
            LiveDisplay(config, sys.stderr, environ) as display,
            Job(config.command, {**environ, **planned.set}, look_on=config.dump_signal) as job,
        ):
            job.before_suspension = display.close
            console.started(config, torch, planned.set)
            launch = _Launch(directory, _versions(torch), planned.explained(), started, wall)
            probe = config.probe and directory is not None and not probe_obstacle(torch, environ)
            follower = _follower(job, launch, config, console, probe=probe)
            while job.poll() is None:
                if follower is not None:
                    follower.tick()
                prelint.tick()
                display.tick(follower.seen if follower is not None else None)
                job.sleep(follower.pause if follower is not None else _TICK)
            display.close()
            status = job.poll() or 0
            return status if follower is None else follower.finish(status)


@dataclasses.dataclass(frozen=True, slots=True)
class _Launch:
    """How the job was started: what reports show of it."""

    run: Path | None
    versions: Mapping[str, str]
    environment: Mapping[str, str]
    started: float
    started_wall: float


def _follower(
    job: Job, launch: _Launch, config: WatchConfig, console: Console, *, probe: bool
) -> VerdictActions | None:
    """What watches the job; None if that is not possible, and the job runs on."""
    try:
        from ddpdoctor.cli.verdict_actions import VerdictActions
        from ddpdoctor.collect.memory_kills import memory_kills
        from ddpdoctor.observe.inspector import Inspector

        inspector = Inspector(
            run=launch.run or Path("/nonexistent"),
            command=config.command,
            versions=launch.versions,
            environment=launch.environment,
            started=launch.started,
            started_wall=launch.started_wall,
            native=config.native,
            read_locals=config.read_locals,
            kills_before=memory_kills(),
        )
        return VerdictActions(job, inspector, config, console, probe=probe)
    except Exception as error:  # noqa: BLE001 - boundary: our own failure must not touch the job
        console.say(f"cannot watch ({type(error).__name__}: {error}); the job runs on")
        return None


@contextlib.contextmanager
def _background_lint(config: WatchConfig, environ: dict[str, str], console: Console) -> Iterator[BackgroundLint]:
    """Lint the script beside the job, if requested."""
    prelint = BackgroundLint(config.command if config.lint else None, environ, console)
    try:
        yield prelint
    finally:
        prelint.close()


def _config(args: argparse.Namespace) -> WatchConfig:
    stall_after = (
        None if args.stall_after == "auto" else duration.parse(args.stall_after, "--stall-after", words="auto, ")
    )
    timeout = None if args.nccl_timeout is None else duration.parse(args.nccl_timeout, "--nccl-timeout")
    on_hang = _action(args.on_hang, "--on-hang", OnHang.REPORT, OnHang.STOP)
    on_desync = _action(args.on_desync, "--on-desync", OnHang.REPORT, OnHang.IGNORE, OnHang.STOP)
    output_paths.check_file(args.json, "--json", stdout=True)
    output_paths.check_file(args.html, "--html", stdout=True)
    output_paths.check_folder(args.bundle, "--bundle")
    output_paths.check_folder(args.shared, "--shared", own=False)
    output_paths.check_file(args.metrics_file, "--metrics-file")
    return WatchConfig(
        command=tuple(args.command),
        stall_after=stall_after,
        on_hang=on_hang,
        hang_command=args.on_hang,
        on_desync=on_desync,
        desync_command=args.on_desync,
        group_timeout=timeout,
        json=args.json,
        html=args.html,
        bundle=args.bundle,
        shared=args.shared,
        metrics_file=args.metrics_file,
        notify_url=_notify_url(args.notify_url),
        native=args.native,
        read_locals=not args.no_locals,
        probe=not args.no_probe,
        quiet=args.quiet,
        live=_live(args.live),
        dump_signal=_dump_signal(args.dump_signal),
        lint=args.lint,
    )


def _action(text: str, option: str, *words: OnHang) -> OnHang:
    """What an option asks for: one of these words, or a command. Raises UsageError for a command that cannot be run."""
    named = {word.value: word for word in words}
    if text not in named:
        _check_command(text, option, hint=f"type {', '.join(named)}, or a command")
    return named.get(text, OnHang.COMMAND)


def _live(text: str) -> Live:
    """Raises UsageError for a word of a variable or a file that means nothing."""
    try:
        return Live(text)
    except ValueError:
        raise UsageError(f"live = {text}: it is none of {', '.join(live.value for live in Live)}") from None


def _notify_url(text: str | None) -> str:
    """Raises UsageError for what is no http or https address."""
    if text is None:
        return ""
    from ddpdoctor.notify import webhook

    return webhook.check(text)


def _dump_signal(text: str) -> signal.Signals:
    """The signal with this name, with or without SIG. Raises UsageError."""
    number = _DUMP_SIGNALS.get(text.upper().removeprefix("SIG"))
    if number is None:
        raise UsageError(f"--dump-signal {text}: cannot be used", hint=f"type one of {', '.join(_DUMP_SIGNALS)}")
    return number


def _check_command(text: str, option: str, hint: str) -> None:
    """Check that a command can be run before the job starts. Raises UsageError."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: {str(error).lower()}", hint=hint) from None
    if not words:
        raise UsageError(f"{option}: no action given", hint=hint)
    if shutil.which(words[0]) is None:
        raise UsageError(f"{option}: {words[0]}: command not found", hint=hint)


def _versions(torch: str | None) -> dict[str, str]:
    found = {"ddpdoctor": ddpdoctor.__version__, "python": platform.python_version()}
    if torch is not None:
        found["torch"] = torch
    return found
