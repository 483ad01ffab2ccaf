"""Pure. Renders docs/accuracy.md from the results of benchmarks/accuracy.py."""

from __future__ import annotations

import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from benchmarks.desync_runs import ASKED, DesyncRun, in_words
from benchmarks.first_runs import FirstRun
from benchmarks.healthy import HealthyRun

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: why the known misses miss: [form.fixture] in TOML, or [any.fixture]
REASONS = Path(__file__).with_name("accuracy_reasons.toml")
#: a fixture as it is, and its cured program; any other form is one of the generator's
AS_IT_IS, CURED = "fixture", "cured"
#: a miss of these is a wrong answer; of the others (the time, the strength) it is a late or a weak one
_ANSWER = ("report", "outcome", "code", "culprits", "line")
#: how the parts of the page begin that are measured apart
_HEALTHY, _FIRST_RUNS = "## Healthy jobs", "## First runs of programs that the rules had not seen"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trial:
    """One run and what came of it."""

    form: str
    name: str
    number: int
    ranks: int
    expected: str = ""
    found: str = "none"
    #: a deadlock that can be proven
    provable: bool = False
    deadlock: str = "no"
    outcome: str = "healthy"
    confidence: str = "none"
    #: what -> (expected, found), of everything that did not come out as it should
    missed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    wrongly_certain: bool = False
    #: seconds from the last progress of any rank to the report
    silence: float | None = None
    #: what was measured: a hash of the engine's source, and the commit, "" outside of a checkout
    engine: str = ""
    commit: str = ""

    @property
    def key(self) -> str:
        """The same run has the same key in every invocation."""
        return f"{self.form}/{self.name}/{self.number}"

    @property
    def hangs(self) -> bool:
        """A broken program, not a watch for false alarms."""
        return self.form != CURED

    def right(self, what: str) -> bool:
        """Was this answered, and rightly? Without a report nothing was."""
        return what not in self.missed and "report" not in self.missed

    @property
    def is_miss(self) -> bool:
        """Anything at all was not as expected."""
        return bool(self.missed) or self.wrongly_certain

    @property
    def alarm(self) -> bool:
        """A job that ends well was called anything but slow, which a rank on a busy machine is."""
        called_slow = self.slow and self.deadlock == "no" and set(self.missed) <= {"outcome", "code"}
        return not self.hangs and bool(self.missed) and not called_slow

    @property
    def slow(self) -> bool:
        """A rank was called slow."""
        return self.outcome == "slow"

    def in_words(self) -> str:
        """One line on how it came out."""
        if not self.is_miss:
            return "ok"
        faults = [f"{what} {found}, not {expected}" for what, (expected, found) in self.missed.items()]
        return "; ".join(["MISS", *(["WRONGLY CERTAIN"] if self.wrongly_certain else []), *faults])


def read_reasons() -> Mapping[str, Mapping[str, str]]:
    """Form (or `any`) -> fixture -> why it misses."""
    return tomllib.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else {}


def gravely_wrong(runs: Iterable[Trial | HealthyRun]) -> list[Trial | HealthyRun]:
    """What must never be: a wrong answer that is called certain, an alarm about a healthy job."""
    return [run for run in runs if run.alarm or (isinstance(run, Trial) and run.wrongly_certain)]


def page(
    trials: list[Trial],
    healthy: list[HealthyRun],
    reasons: Mapping[str, Mapping[str, str]],
    machine: str = "",
    unseen: Mapping[str, list[FirstRun]] | None = None,
    silent: Mapping[str, list[DesyncRun]] | None = None,
    before: str = "",
) -> str:
    """The whole page, in Markdown. `machine` is a line on where the runs were made; `unseen`, `silent`: first runs by
    set, the latter of programs with a silent phase.

    The fixtures and the healthy jobs are measured apart, and each part names its engine: one of which there are no runs
    stays as it is in the page as it was `before`.
    """
    fixtures, quiet = _parts(before)
    if trials:
        fixtures = _joined(_fixtures(trials, reasons, machine))
    if healthy:
        quiet = _joined(_healthy(healthy, reasons, machine))
    return _joined(
        [
            *(part.strip("\n") + "\n" for part in (fixtures, quiet) if part.strip()),
            *(_first_runs(unseen) if unseen else ()),
            *(_silent_phases(silent) if silent else ()),
        ]
    )


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _parts(before: str) -> tuple[str, str]:
    """The part on the fixtures and that on healthy jobs of the page as it was."""
    ours = before.partition(_FIRST_RUNS)[0]
    fixtures, head, quiet = ours.partition(_HEALTHY)
    return fixtures, head + quiet


def _fixtures(trials: list[Trial], reasons: Mapping[str, Mapping[str, str]], machine: str) -> Iterator[str]:
    hangs = [trial for trial in trials if trial.hangs]
    yield from _head(trials, machine)
    yield from _summary(hangs, [trial for trial in trials if not trial.hangs])
    yield from _by_form(hangs)
    yield from _by_code(hangs)
    yield from ("## Misses", "")
    yield from list(_misses(trials, reasons)) or ["None."]


def _head(runs: list[Trial], machine: str) -> list[str]:
    return [
        "# Accuracy",
        "",
        "Written by `make accuracy`, which runs real jobs on the CPU with gloo under `ddpdoctor watch`. The broken",
        "program of every fixture ran unchanged and in generated variants (`tests/e2e/variants/forms.py`): disguised",
        "(names changed, comments removed, ranks assigned to processes in another order), packaged (another number of",
        "ranks, the program in a package, its collectives behind a wrapper library), and spawned",
        "(torch.multiprocessing instead of a launcher, another culprit, another model). To find false alarms, every",
        "fixed program ran as well.",
        "",
        "The programs were written by people who knew the rules. The figures show that the tool does what it is",
        "designed to do and does not depend on the words in a file; they do not predict its accuracy on your programs.",
        "",
        *_measured(runs, machine),
    ]


def _measured(runs: Sequence[Trial | HealthyRun], machine: str) -> list[str]:
    """Where and with what the runs were made."""
    commits = sorted({run.commit for run in runs} - {""})
    return [
        *([f"Measured on {machine}.", ""] if machine else []),
        *([f"Commit {', '.join(commits)}."] if commits else []),
        "All runs were made with the same `ddpdoctor/probe`, `collect`, `observe` and `diagnose`.",
        "",
    ]


def _summary(hangs: list[Trial], cured: list[Trial]) -> list[str]:
    provable = [trial for trial in hangs if trial.provable]
    certain = [trial for trial in hangs if trial.confidence == "certain"]
    alarms = [trial for trial in cured if trial.alarm]
    answered = [trial for trial in hangs if trial.silence is not None]
    late = [trial for trial in hangs if "time" in trial.missed]
    return [
        f"- right code: {_share([t for t in hangs if t.right('code')], hangs)}",
        f"- right culprits: {_share([t for t in hangs if t.right('culprits')], hangs)}",
        f"- right file and line first: {_share([t for t in hangs if t.right('line')], hangs)}",
        f"- provable deadlocks that were proven: {_share([t for t in provable if t.deadlock == 'proven'], provable)}",
        f"- called certain: {_share(certain, hangs)}; "
        f"runs with anything wrongly called certain or proven: {sum(t.wrongly_certain for t in hangs)}",
        f"- reported within the promised time: {_share([t for t in answered if t not in late], answered)}",
        f"- fixed programs: {len(cured)}; false alarms: {len(alarms)}; called slow: {sum(one.slow for one in cured)}",
        "",
    ]


def _by_form(hangs: list[Trial]) -> Iterator[str]:
    yield from ("## By form", "", "| form | runs | code | culprits | line | certain |", "|---|---|---|---|---|---|")
    for form, trials in _grouped(hangs, lambda trial: trial.form):
        right = [str(sum(trial.right(what) for trial in trials)) for what in ("code", "culprits", "line")]
        certain = sum(trial.confidence == "certain" for trial in trials)
        yield f"| {form} | {len(trials)} | {' | '.join(right)} | {certain} |"
    yield ""


def _by_code(hangs: list[Trial]) -> Iterator[str]:
    yield from (
        "## By code",
        "",
        "One row per true cause. `diagnosed` is the first diagnosis that was made, with counts if there were several.",
        "`delay` is the time from the last progress of any rank to the report, in seconds: median, longest.",
        "",
        "| code | runs | diagnosed | culprits | line | deadlock | confidence | delay |",
        "|---|---|---|---|---|---|---|---|",
    )
    for code, trials in _grouped(hangs, lambda trial: trial.expected):
        right = [str(sum(trial.right(what) for trial in trials)) for what in ("culprits", "line")]
        said = _counted(trial.found for trial in trials)
        deadlocks = _counted(trial.deadlock for trial in trials)
        confidences = _counted(trial.confidence for trial in trials)
        silences = [trial.silence for trial in trials if trial.silence is not None]
        told = f"{statistics.median(silences):.1f}, {max(silences):.1f}" if silences else ""
        yield f"| {code} | {len(trials)} | {said} | {' | '.join(right)} | {deadlocks} | {confidences} | {told} |"
    yield ""


def _healthy(quiet: list[HealthyRun], reasons: Mapping[str, Mapping[str, str]], machine: str) -> Iterator[str]:
    stopping, loaded = sum(run.stopping for run in quiet), sum(bool(run.load) for run in quiet)
    averages = [run.load_average for run in quiet]
    yield from (
        _HEALTHY,
        "",
        "Every healthy but unusual program in `tests/e2e/healthy`, some also on several nodes, the fixed program of",
        "every fixture, and the harmless programs of `benchmarks/unseen` (`make healthy-runs`): half of the runs with",
        "the default options, half with a `--stall-after` scaled to their run time and `--on-hang stop`; those of",
        "`unseen`, and the first of each other program, under their own launcher, the others under one that imports",
        "torch once for all ranks.",
        "",
        *_measured(quiet, machine),
        f"- runs: {len(quiet)}, of {len({run.kind for run in quiet})} programs",
        f"- with `--on-hang stop`: {stopping}; beside processes that kept the machine busy: {loaded}; load average: "
        f"{min(averages):.0f} to {max(averages):.0f}",
        f"- false alarms, of a desync too: {sum(bool(run.alarm) for run in quiet)}; called slow: "
        f"{sum(run.slow for run in quiet)}; aborted by torch itself at a rank's end: "
        f"{sum(run.aborted for run in quiet)}",
        *_alarms(quiet, reasons),
        "",
        "| program | runs | stop | loaded | ranks | called slow | false alarms |",
        "|---|---|---|---|---|---|---|",
    )
    for kind, runs in _grouped(quiet, lambda run: run.kind):
        ranks = ", ".join(str(number) for number in sorted({run.ranks for run in runs}))
        counts = [sum(run.stopping for run in runs), sum(bool(run.load) for run in runs)]
        slow, alarms = sum(run.slow for run in runs), sum(bool(run.alarm) for run in runs)
        yield f"| {kind} | {len(runs)} | {counts[0]} | {counts[1]} | {ranks} | {slow} | {alarms} |"


def _misses(trials: list[Trial], reasons: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Every run of which anything was not as expected: the answer itself first, then what was only weak or late."""
    missed = [trial for trial in trials if trial.is_miss]
    for trial in sorted(missed, key=lambda trial: (not _wrong_answer(trial), trial.expected, trial.key)):
        reason = reasons.get(trial.form, {}).get(trial.name) or reasons.get("any", {}).get(trial.name)
        faults = [f"{what}: {found}, not {expected}" for what, (expected, found) in trial.missed.items()]
        sure = ["**wrongly certain**"] if trial.wrongly_certain else []
        head = f"{trial.expected} {trial.key}, {trial.ranks} ranks".strip()
        yield f"- {head}: {'; '.join([*sure, *faults])}. {reason or _usual_reason(trial)}"


def _alarms(healthy: list[HealthyRun], reasons: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for run in sorted((run for run in healthy if run.alarm), key=lambda run: run.key):
        reason = reasons.get("healthy", {}).get(run.kind, "Not explained yet.")
        yield f"- healthy/{run.key}, {run.ranks} ranks: {run.alarm}. {reason}"


def _first_runs(unseen: Mapping[str, list[FirstRun]]) -> Iterator[str]:
    yield from (
        _FIRST_RUNS,
        "",
        "Programs in `benchmarks/unseen`, written from the documentation of torch and of the frameworks by people who",
        "had not seen the rules; programs, expected answers and reasons were committed before the first run. These are",
        "the results of that one run (`python -m benchmarks.first_runs`), before anything was mended for them. Runs in",
        "which the program failed by itself are left out, and counted as invalid. Each round was written by others",
        "than the one before, and run after what that one had shown was mended. Two harmless programs really lose a",
        "rank and start again; a report that tells truly of that rank is no alarm (`recovers` in expected.toml). The",
        "authors of round 8 and of those from round 10 on had the definitions of the codes before them when they named",
        "what they expected.",
        "",
        "| set | commit | broken | code | culprits | line | all right | wrongly certain | harmless | called a hang "
        "| invalid |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    )
    for name, runs in sorted(unseen.items()):
        yield _of_set(name, runs)
    rounds = {
        number: [run for name in unseen if _round(name) == number for run in unseen[name]]
        for number in sorted(set(map(_round, unseen)))
    }
    for number, of_round in rounds.items():
        yield _of_set(f"round {number}", of_round)
    yield _of_set("last two rounds", [run for number in [*rounds][-2:] for run in rounds[number]])
    yield _of_set("all", [run for runs in unseen.values() for run in runs])
    yield from ("", "What was not right:", "")
    for name, runs in sorted(unseen.items()):
        yield from (_in_first_run(name, run) for run in runs if not run.invalid and not _is_right(run))


def _round(name: str) -> int:
    """The round of a set, which its name ends with: the rules were mended between the rounds."""
    last = name.rpartition("_")[2]
    return int(last) if last.isdigit() else 1


def _of_set(name: str, runs: list[FirstRun]) -> str:
    """A row of the table."""
    valid = [run for run in runs if not run.invalid]
    broken = [run for run in valid if not run.harmless]
    harmless = [run for run in valid if run.harmless]
    right = [str(sum(what in run.right for run in broken)) for what in ("code", "culprits", "line")]
    commits = ", ".join(sorted({run.commit for run in runs}))
    alarms = sum(not _is_right(run) for run in harmless)
    sure = sum(run.wrongly_certain for run in valid)
    return (
        f"| {name} | {commits} | {len(broken)} | {' | '.join(right)} | {sum(map(_is_right, broken))} | {sure} | "
        f"{len(harmless)} | {alarms} | {len(runs) - len(valid)} |"
    )


def _is_right(run: FirstRun) -> bool:
    asked = {"outcome"} if run.harmless else {"outcome", "code", "culprits", "line"}
    return asked <= set(run.right)


def _in_first_run(name: str, run: FirstRun) -> str:
    sure = "**wrongly certain**; " if run.wrongly_certain else ""
    said = " ".join(filter(None, (run.outcome, run.code, run.confidence, str(list(run.culprits)), run.place)))
    return f"- {name}/{run.name} ({run.framework}): {sure}expected {run.expected}, said {said}"


def _silent_phases(silent: Mapping[str, list[DesyncRun]]) -> Iterator[str]:
    yield from (
        "",
        "## First runs of programs with a silent phase",
        "",
        "In these a rank departs from the others in the middle, all go on, and the job hangs much later, at the end of",
        "a phase ([before anything hangs](watch.md#before-anything-hangs)). Written and committed like the programs",
        "above, and run once (`python -m benchmarks.desync_runs`). *told*: a warning came while all moved; *prompt*:",
        "within 3 s of the departure; *same*: the hang's diagnosis blames the same ranks (of two ranks the warning",
        "blames neither). An [early sign](watch.md#before-anything-hangs) counts as told. The author of desync_3 knew",
        "the rules, those of the later sets the kinds of faults; the programs were written after the rules and run",
        "once all the same. After desync_7 two things came that the sets before show as missed: the ways of calls to",
        "one line are compared, and the counters of loops over streams. Of data that are more on one rank nothing is",
        "seen before the others have ended, unless the loader has a length. After desync_10, and before the next two",
        "sets, the counters were compared also where several turns go to a collective, or several collectives to a",
        "turn. Early signs were still being written when desync_5 ran: of one program the time of its sign was not",
        "kept, so it does not count as prompt.",
        "",
        "| set | commit | broken | told | prompt | culprits | line | same | healthy | silent | invalid |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    )
    for name, runs in sorted(silent.items(), key=lambda one: _round(one[0])):
        valid = [run for run in runs if not run.invalid]
        broken, healthy = ([run for run in valid if run.healthy is is_healthy] for is_healthy in (False, True))
        right = [str(sum(what in run.right for run in broken)) for what in ASKED]
        quiet = sum("silent" in run.right for run in healthy)
        commits = ", ".join(sorted({run.commit for run in runs}))
        yield (
            f"| {name} | {commits} | {len(broken)} | {' | '.join(right)} | {len(healthy)} | {quiet} | "
            f"{len(runs) - len(valid)} |"
        )
    yield from ("", "What was not right:", "")
    for name, runs in sorted(silent.items(), key=lambda one: _round(one[0])):
        yield from (f"- {name}/{run.name} ({run.framework}): {in_words(run)}" for run in runs if not _as_asked(run))


def _as_asked(run: DesyncRun) -> bool:
    return bool(run.invalid) or set(run.right) >= ({"silent"} if run.healthy else set(ASKED))


def _wrong_answer(trial: Trial) -> bool:
    return trial.wrongly_certain or any(what in _ANSWER for what in trial.missed) or not trial.hangs


def _usual_reason(trial: Trial) -> str:
    if set(trial.missed) == {"time"}:
        return "The answer is right and late: the machine was busy with other runs."
    return "Not explained yet."


def _grouped(runs: Iterable[T], key: Callable[[T], str]) -> list[tuple[str, list[T]]]:
    groups: dict[str, list[T]] = defaultdict(list)
    for run in runs:
        groups[key(run)].append(run)
    return sorted(groups.items())


def _counted(words: Iterable[str]) -> str:
    """`proven` where all are the same, else `proven 3, suspected 1`."""
    counts = Counter(words)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{word} {number}" for word, number in counts.most_common())


def _share(part: list[Trial], whole: list[Trial]) -> str:
    return f"{len(part)} of {len(whole)} ({len(part) / len(whole):.1%})" if whole else "none"
