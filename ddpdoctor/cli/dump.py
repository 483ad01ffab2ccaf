"""Impure. `ddpdoctor dump [PID...]`: the verdict on a job that nobody wrapped, from outside and without touching it."""

from __future__ import annotations

import argparse
import dataclasses
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import ddpdoctor
from ddpdoctor.cli import duration, forms, options, output_paths
from ddpdoctor.collect.capture import Part, PartKind, Sample
from ddpdoctor.errors import ExitCode, InputError, UsageError
from ddpdoctor.model.diagnosis import Outcome
from ddpdoctor.model.evidence import Gap
from ddpdoctor.model.processes import Exit
from ddpdoctor.model.ranks import Rank, Role, Worker
from ddpdoctor.model.report import Report

if TYPE_CHECKING:
    # psutil comes with them; help, completion and the manual pages do without
    from ddpdoctor.collect.recorder_files import Recorders
    from ddpdoctor.launch.host_jobs import HostJob
    from ddpdoctor.observe.inspector import Inspector, Verdict

_EPILOG = """examples:
  ddpdoctor dump                    the job of yours that runs on this host
  ddpdoctor dump --wait 5s          look for five seconds: what stands still is suspected only then
  ddpdoctor dump 4711               the job that this process belongs to: a launcher, a rank, a data worker
  ddpdoctor dump train.py           the job that runs train.py
  ddpdoctor dump --all --follow     all jobs that may be read, again every 30 s, as long as they run
  ddpdoctor dump --json - | jq .outcome
  srun --jobid 812 --overlap --ntasks-per-node 1 ddpdoctor dump --shared /home/ada/dumps
  sudo ddpdoctor dump 4711          a job of another user, or in a container
  docker exec NAME ddpdoctor dump   in a container that has ddpdoctor; kubectl exec POD -- ddpdoctor dump

The job is not touched: its processes are neither stopped nor signalled, and nothing is loaded into them.

exit status:
  0  healthy
  1  a diagnosis was made
  2  invalid arguments, no such job, or several jobs and none was named"""

#: seconds of a look without --wait, and between the looks of --follow
_MOMENT = 0.8
_PAUSE = 30.0
#: seconds by which the kernel's time of a start may be early: the boot time is known to the second only
_BOOT_TIME_ERROR = 1.0
_NOT_WATCHED = "nobody watched this job: what its ranks did before is not known (`ddpdoctor watch` would)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "ddpdoctor dump [options] [PID|NAME ...]"
    parser.epilog = _EPILOG
    parser.add_argument(
        "jobs",
        metavar="PID|NAME",
        nargs="*",
        help="a process of the job, or the job's name: its script's, its rendezvous id, its Slurm job (default: the "
        "only job of your own user on this host)",
    )
    parser.add_argument("--all", action="store_true", help="every job on this host that may be read, whoever owns it")
    parser.add_argument(
        "--wait",
        metavar="DURATION",
        help="look for so long: what stands still is suspected to hang only after 5 s; without it a first answer",
    )
    parser.add_argument(
        "--follow", action="store_true", help="look again every 30 s, and tell when the verdict changes"
    )
    forms.add_format(parser)
    parser.add_argument(
        "--json", metavar="FILE", nargs="?", const="-", help="also write the report as JSON to FILE; alone: to stdout"
    )
    parser.add_argument("--html", metavar="FILE", help="also write the report as one HTML page to FILE; `-` for stdout")
    parser.add_argument("--bundle", metavar="DIR", type=Path, help="keep the evidence in DIR, for `ddpdoctor diagnose`")
    parser.add_argument(
        "--shared",
        metavar="DIR",
        type=Path,
        help="keep the evidence in DIR/HOST-PID, for a job on several nodes: `ddpdoctor diagnose DIR` joins them",
    )
    parser.add_argument("--native", action="store_true", help="also collect native frames (slower, py-spy --native)")
    parser.add_argument("--no-locals", action="store_true", help="read no local variables: peers and counters are lost")


def run(args: argparse.Namespace) -> ExitCode:
    """Find the jobs, look, print. Raises UsageError and InputError."""
    seconds = _MOMENT if args.wait is None else duration.parse(args.wait, "--wait")
    _check_output(args)
    jobs = _wanted(args)
    if len(jobs) > 1 and (args.json or args.html or args.bundle or args.format != "text"):
        raise UsageError(f"one report only: {len(jobs)} jobs are meant", hint="name one by its PID")
    if args.follow:
        return _follow(jobs, args, seconds)
    verdicts = [_look(job, args, seconds).verdict for job in jobs]
    for job, verdict in zip(jobs, verdicts, strict=True):
        _tell(job, verdict, args, seconds)
    healthy = all(verdict.report.outcome is Outcome.HEALTHY for verdict in verdicts)
    return ExitCode.OK if healthy else ExitCode.FOUND


def _check_output(args: argparse.Namespace) -> None:
    if args.json and args.json != "-":
        if args.json.isdigit():
            raise UsageError(f"--json {args.json}: a number is no file", hint=f"`ddpdoctor dump {args.json} --json`")
        output_paths.check_file(Path(args.json), "--json")
    if args.html:
        output_paths.check_file(Path(args.html), "--html", stdout=True)
    output_paths.check_folder(args.bundle, "--bundle")
    if args.bundle and args.shared:
        raise UsageError("--bundle and --shared both say where to keep the evidence", hint="choose one")


def _wanted(args: argparse.Namespace) -> list[HostJob]:
    """The jobs that are meant. Raises InputError if there is none, or if there are several and none was named."""
    found = _running()
    if args.jobs:
        return list(dict.fromkeys(job for name in args.jobs for job in _called(name, found)))
    own = _own_users()
    jobs = [job for job in found if args.all or job.uid in own]
    if not jobs:
        raise InputError("no distributed job is running on this host" + _others(found), hint=_hint(found))
    if len(jobs) > 1 and not args.all:
        raise InputError(f"{len(jobs)} jobs run on this host", hint=f"name one, or --all:\n{_listed(jobs)}")
    return jobs


def _running() -> tuple[HostJob, ...]:
    """Every job on this host: by the ranks' environments, and those of mp.spawn."""
    from ddpdoctor.launch import host_jobs, spawned_jobs

    processes = host_jobs.processes_of_host()
    found = host_jobs.find(processes)
    known = {pid for job in found for pid in (*job.roots, *job.ranks)}
    return (*found, *spawned_jobs.find(processes, known))


def _called(name: str, found: Sequence[HostJob]) -> Iterable[HostJob]:
    """The job with this PID or name. Raises InputError."""
    from ddpdoctor.collect import procfs, refusal
    from ddpdoctor.launch import host_jobs

    if not name.isdigit():
        jobs = host_jobs.named(name, found)
        if not jobs:
            known = ", ".join(sorted({job.name for job in found})) or "none"
            raise InputError(f"no job is called {name!r}", hint=f"jobs on this host: {known}")
        if len(jobs) > 1:
            raise InputError(f"{len(jobs)} jobs are called {name!r}", hint=f"name one by its PID:\n{_listed(jobs)}")
        return jobs
    job = host_jobs.of_process(int(name), found)
    if job is not None:
        return (job,)
    state = procfs.state(int(name))
    if not procfs.runs(int(name)):
        gone = "has ended" if state else "does not exist"
        raise InputError(f"process {name} {gone}", hint="if its job has ended, `ddpdoctor diagnose` reads what it left")
    if not _is_readable(int(name)):
        seen = refusal.circumstances(int(name))
        obstacle = refusal.why(seen)
        reason = f"process {name} may not be looked into: {obstacle.reason(seen)}"
        raise InputError(reason, hint=obstacle.remedy(seen))
    raise InputError(
        f"process {name} belongs to no distributed job: neither it nor a process below it has RANK and WORLD_SIZE",
        hint=f"jobs on this host:\n{_listed(found)}" if found else "`ddpdoctor watch -- COMMAND` needs neither",
    )


def _is_readable(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb"):
            return True
    except OSError:
        return False


def _own_users() -> frozenset[int]:
    """One's own user, under sudo both: who called it and who runs it."""
    caller = os.environ.get("SUDO_UID", "")
    return frozenset({os.geteuid(), *([int(caller)] if caller.isdigit() else [])})


def _others(found: Sequence[HostJob]) -> str:
    return f" for your user; {len(found)} of others" if found else ""


def _hint(found: Sequence[HostJob]) -> str:
    if found:
        return f"--all, or name one:\n{_listed(found)}"
    return "in a container or on another node, run it there (`ddpdoctor dump --help` has the commands)"


def _listed(jobs: Iterable[HostJob]) -> str:
    """One line for each job."""
    import pwd

    lines = []
    for job in jobs:
        try:
            user = pwd.getpwuid(job.uid).pw_name
        except KeyError:
            user = str(job.uid)
        ranks = f"{len(job.ranks)} of {job.world_size} ranks"
        lines.append(f"  {job.pid:>8}  {job.name:<24} {ranks:<16} user {user:<10} for {_span(job.age)}")
    return "\n".join(lines)


def _span(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s"


@dataclasses.dataclass(frozen=True, slots=True)
class _Look:
    """One look at a job, and what the next one starts from."""

    verdict: Verdict
    #: the sample that the next look is compared with, and when it was taken, seconds since the epoch
    last: Sample
    taken: float


def _look(job: HostJob, args: argparse.Namespace, seconds: float, before: _Look | None = None) -> _Look:
    """Take samples of the job for so long, and judge them with the last one of the look before. Raises InputError if
    the job has ended meanwhile."""
    from ddpdoctor.collect import recorder_files
    from ddpdoctor.launch.discovery import Discovery
    from ddpdoctor.launch.spawned_jobs import as_ranks
    from ddpdoctor.observe.first_answer import first_answer

    discovery = Discovery(job.run)
    workers = as_ranks(discovery.find(*job.roots), job)
    if not any(worker.role is Role.RANK for worker in workers):
        raise InputError(
            f"{job.name} (process {job.pid}) has just ended", hint="`ddpdoctor diagnose` reads what it left"
        )
    gone = tuple(_finished(rank, job) for rank in (() if job.run else job.finished))
    exits = tuple(Exit(worker.pid, 0, time.monotonic()) for worker in gone)
    inspector, detected = _inspector(job, args), time.monotonic()
    samples = _samples(inspector, lambda: (*as_ranks(discovery.find(*job.roots), job), *gone), seconds, before)
    last, taken = samples[-1], time.time()
    notes: tuple[str, ...] = ()
    if job.run is None:
        recorders = recorder_files.collect(last.workers)
        samples = (*samples[:-1], _with_recorders(last, recorders))
        notes = (*recorders.notes, _NOT_WATCHED)
        if recorders.parts and args.follow:
            # its answer is work of the job: the next look is compared with what comes after it
            last, taken = inspector.sample(last.workers), time.time()
    verdict = inspector.judged(inspector.captured(samples, detected, inspector.started, exits))
    # a look of 5 s may have samples that lie a hundredth less apart
    report = first_answer(verdict.report, max(seconds, samples[-1].time - samples[0].time))
    report = dataclasses.replace(report, notes=(*report.notes, *notes))
    return _Look(dataclasses.replace(verdict, report=_with_lint(report)), last, taken)


def _samples(
    inspector: Inspector, find: Callable[[], tuple[Worker, ...]], seconds: float, before: _Look | None
) -> tuple[Sample, ...]:
    """Samples whose motion is the job's own. A rank that writes its recorder's file while it stands looks as if it
    worked, so what was taken around such a moment is not compared; once, since a job may write them all the time."""
    from ddpdoctor.collect.recorder_files import wrote_since

    if before is not None and wrote_since(find(), before.taken):
        before = None
    began = time.time()
    samples = inspector.samples_over(find, seconds, before.last if before else None)
    return inspector.samples_over(find, seconds) if wrote_since(samples[-1].workers, began) else samples


def _with_recorders(sample: Sample, recorders: Recorders) -> Sample:
    parts = [Part(PartKind.RECORDER, pid, data) for pid, data in recorders.parts.items() if isinstance(data, bytes)]
    gaps = [gap for gap in recorders.parts.values() if isinstance(gap, Gap)]
    return dataclasses.replace(sample, parts=(*sample.parts, *parts), gaps=(*sample.gaps, *gaps))


def _finished(rank: int, job: HostJob) -> Worker:
    """A rank that is gone, whose process id nobody knows any more."""
    return Worker(-1 - rank, job.started, Role.RANK, Rank(rank), world_size=job.world_size)


def _with_lint(report: Report) -> Report:
    from ddpdoctor.cli.lint_citations import with_lint_findings

    return with_lint_findings(report)


def _inspector(job: HostJob, args: argparse.Namespace) -> Inspector:
    from ddpdoctor.collect.gather import EVERYTHING
    from ddpdoctor.launch.namespaces import stacks_from_outside, view_of
    from ddpdoctor.observe.inspector import Inspector

    return Inspector(
        run=job.run or Path("/nonexistent"),
        command=job.command,
        versions={"ddpdoctor": ddpdoctor.__version__, "python": platform.python_version()},
        environment={},
        started=time.monotonic() - job.age,
        started_wall=job.started + _BOOT_TIME_ERROR,
        stacks=stacks_from_outside(native=args.native, read_locals=not args.no_locals),
        root=view_of(job.ranks[0]).root,
        kinds=EVERYTHING if job.run else frozenset({PartKind.PROCESS, PartKind.STACKS}),
    )


def _tell(job: HostJob, verdict: Verdict, args: argparse.Namespace, seconds: float) -> None:
    from ddpdoctor.collect import bundle
    from ddpdoctor.report import json

    folder = args.shared / f"{platform.node()}-{job.pid}" if args.shared else args.bundle
    if folder:
        bundle.write(folder, verdict.capture, json.render(verdict.report))
    files = {form: target for form, target in (("json", args.json), ("html", args.html)) if target}
    for form, target in files.items():
        forms.write(target, _rendered(verdict, form, "", ""))
    if forms.STDOUT not in files.values():
        told = f"process {job.pid}, looked at for {seconds:.2g} s; the job was left as it is"
        forms.show(_rendered(verdict, args.format, str(folder or ""), told))


def _rendered(verdict: Verdict, form: str, kept: str, job: str) -> str:
    if form != "text":
        from ddpdoctor import exhibit
        from ddpdoctor.collect.assemble import assemble

        return forms.render(form, exhibit.of(verdict.report, assemble(verdict.capture)), os.environ)
    from ddpdoctor.report import terminal

    screen = options.screen(sys.stdout, os.environ)
    return terminal.render(verdict.report, screen, job=job, bundle=kept, directory=_here())


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def _follow(jobs: Sequence[HostJob], args: argparse.Namespace, seconds: float) -> ExitCode:
    """Look again and again until all jobs have ended; a verdict is printed when it is another one. Each look is
    compared with the one before: what stands still from one to the next is suspected."""
    told: dict[int, object] = {}
    last: dict[int, _Look] = {}
    worst = ExitCode.OK
    left = list(jobs)
    while left:
        for job in tuple(left):
            try:
                last[job.pid] = _look(job, args, seconds, last.get(job.pid))
            except InputError as error:
                print(f"ddpdoctor: {error.message}", file=sys.stderr)
                left.remove(job)
                continue
            verdict = last[job.pid].verdict
            report = verdict.report
            gist = report.outcome, report.deadlock, [(d.code, d.culprits) for d in report.diagnoses[:1]]
            if told.get(job.pid) != gist:
                told[job.pid] = gist
                _tell(job, verdict, args, seconds)
            worst = worst if report.outcome is Outcome.HEALTHY else ExitCode.FOUND
        time.sleep(_PAUSE if left else 0)
    return worst
