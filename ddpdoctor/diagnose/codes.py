"""Every diagnosis as data: code, required evidence, neighbouring causes, and the order of equal confidence."""

from __future__ import annotations

from dataclasses import dataclass

from ddpdoctor.model.diagnosis import Retry
from ddpdoctor.model.evidence import Source


@dataclass(frozen=True, slots=True)
class Rule:
    """Metadata of one diagnosis; the module of the same name under rules/ finds and documents it."""

    code: str
    #: kebab-case, stable, never reused
    name: str
    #: whether the same job, run again, would end as this one did; for a code of several causes, of the usual one
    retry: Retry
    #: sources without which the rule cannot be considered
    requires: frozenset[Source] = frozenset()
    #: neighbouring causes that its evidence must exclude before it may say `certain`
    excludes: tuple[str, ...] = ()
    #: lint rules that find the same bug before launch
    lint: tuple[str, ...] = ()
    #: says what some ranks do and the others do not, so it needs them all: of three ranks of four that were seen, the
    #: odd one may be with the majority
    compares: bool = False
    #: a program on CPUs can show it; a rule of which that is not so is `possible` at most
    reproduced: bool = True

    @property
    def fixture(self) -> str:
        """The folder under fixtures/ with the program that shows it; "" if there is none."""
        return self.name if self.reproduced else ""


def _needs(*sources: Source) -> frozenset[Source]:
    return frozenset(sources)


UNEVEN_INPUTS = Rule(
    "DD201",
    "uneven-inputs",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES),
    excludes=("DD206", "DD207", "DD208", "DD209", "DD217"),
    lint=("DD105", "DD113"),
    compares=True,
)
UNEVEN_MICROBATCHES = Rule(
    "DD202",
    "uneven-microbatches",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES),
    excludes=("DD201", "DD206", "DD207"),
    lint=("DD113",),
    compares=True,
)
RANK_CONDITIONAL_COLLECTIVE = Rule(
    "DD203",
    "rank-conditional-collective",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.CODE),
    excludes=("DD204", "DD206", "DD210", "DD212", "DD213", "DD219"),
    lint=("DD111", "DD112", "DD114", "DD117", "DD175", "DD185", "DD187"),
    compares=True,
)
SHARDED_STATE_ON_ONE_RANK = Rule(
    "DD204",
    "sharded-state-on-one-rank",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES),
    excludes=("DD203", "DD206", "DD232"),
    lint=("DD175",),
    compares=True,
)
ONE_RANK_FORWARD_THROUGH_DDP = Rule(
    "DD205",
    "one-rank-forward-through-ddp",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES),
    excludes=("DD203", "DD206"),
    lint=("DD164",),
    compares=True,
)
LOCAL_STOP_DECISION = Rule(
    "DD206",
    "local-stop-decision",
    Retry.MAY_PASS,
    requires=_needs(Source.PAGES, Source.CODE),
    excludes=("DD201", "DD203", "DD207"),
    lint=("DD112", "DD113", "DD114"),
    compares=True,
)
SKIPPED_BATCH = Rule(
    "DD207",
    "skipped-batch",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES),
    excludes=("DD201", "DD206", "DD208", "DD209", "DD217"),
    lint=("DD113", "DD114"),
    compares=True,
)
SWALLOWED_EXCEPTION = Rule(
    "DD208",
    "swallowed-exception",
    Retry.MAY_PASS,
    requires=_needs(Source.PAGES, Source.CODE),
    excludes=("DD201", "DD206", "DD207"),
    lint=("DD116",),
    compares=True,
)
DATA_DEPENDENT_GRAPH = Rule(
    "DD209",
    "data-dependent-graph",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES, Source.RECORDER),
    excludes=("DD201", "DD206", "DD207", "DD208", "DD217"),
    lint=("DD114",),
    compares=True,
)
CONDITIONAL_SHARDED_MODULE = Rule(
    "DD210",
    "conditional-sharded-module",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES, Source.STACKS, Source.CODE),
    excludes=("DD203", "DD205", "DD206", "DD209"),
    lint=("DD114", "DD187"),
    compares=True,
)
METRIC_KEYS_DIFFER = Rule(
    "DD211",
    "metric-keys-differ",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES, Source.CODE),
    excludes=("DD201", "DD206", "DD213"),
    lint=("DD113",),
    compares=True,
)
BARRIER_OFF_BY_ONE = Rule(
    "DD212",
    "barrier-off-by-one",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES),
    excludes=("DD203", "DD206"),
    lint=("DD114",),
    compares=True,
)
COLLECTIVE_ORDER_MISMATCH = Rule(
    "DD213",
    "collective-order-mismatch",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES),
    excludes=("DD203", "DD211"),
    lint=("DD115",),
    compares=True,
)
SHAPE_MISMATCH = Rule(
    "DD214",
    "shape-mismatch",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES),
    excludes=("DD201", "DD213", "DD215", "DD251"),
    compares=True,
)
DTYPE_MISMATCH = Rule(
    "DD215",
    "dtype-mismatch",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES),
    excludes=("DD213", "DD214", "DD251"),
    compares=True,
)
SIGNAL_ON_SOME_RANKS = Rule(
    "DD216",
    "signal-on-some-ranks",
    Retry.MAY_PASS,
    requires=_needs(Source.PAGES, Source.STACKS, Source.CODE),
    excludes=("DD201", "DD206"),
    lint=("DD113",),
    compares=True,
)
NO_SYNC_MISMATCH = Rule(
    "DD217",
    "no-sync-mismatch",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES),
    excludes=("DD201", "DD206", "DD207", "DD209"),
    compares=True,
)
P2P_DEADLOCK = Rule("DD218", "p2p-deadlock", Retry.FAILS_AGAIN, excludes=("DD220",), lint=("DD121",))
GROUP_CREATION_MISMATCH = Rule(
    "DD219",
    "group-creation-mismatch",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES),
    excludes=("DD203", "DD252"),
    lint=("DD117",),
    compares=True,
)
GROUP_ORDER_CYCLE = Rule(
    "DD220", "group-order-cycle", Retry.MAY_PASS, requires=_needs(Source.PAGES), excludes=("DD203", "DD207", "DD213")
)
JOIN_MISUSE = Rule(
    "DD221",
    "join-misuse",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.STACKS),
    excludes=("DD201",),
    lint=("DD113",),
)
THREADS_SHARE_GROUP = Rule(
    "DD222", "threads-share-group", Retry.MAY_PASS, requires=_needs(Source.PAGES), excludes=("DD220",), reproduced=False
)
COLLECTIVE_IN_COMPILATION = Rule(
    "DD223",
    "collective-in-compilation",
    Retry.MAY_PASS,
    requires=_needs(Source.STACKS),
    excludes=("DD203", "DD213", "DD240"),
    compares=True,
    reproduced=False,
)
SLOW_HOST_WORK = Rule(
    "DD231",
    "slow-host-work",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PROCESSES),
    excludes=("DD232", "DD233", "DD238", "DD240", "DD242"),
    lint=("DD151",),
)
SLOW_CHECKPOINT = Rule(
    "DD232",
    "slow-checkpoint",
    Retry.MAY_PASS,
    requires=_needs(Source.STACKS, Source.PROCESSES),
    excludes=("DD231", "DD233"),
    lint=("DD151",),
)
NETWORK_WAIT = Rule(
    "DD233",
    "network-wait",
    Retry.MAY_PASS,
    requires=_needs(Source.STACKS),
    excludes=("DD231", "DD234", "DD238", "DD271"),
    lint=("DD151",),
)
DATA_WORKER_STUCK = Rule(
    "DD234", "data-worker-stuck", Retry.MAY_PASS, requires=_needs(Source.STACKS), excludes=("DD231", "DD235", "DD237")
)
FORK_LOCK_IN_WORKER = Rule(
    "DD235",
    "fork-lock-in-worker",
    Retry.MAY_PASS,
    requires=_needs(Source.STACKS, Source.PROCESSES),
    excludes=("DD231", "DD234"),
)
DATA_WORKER_KILLED = Rule("DD236", "data-worker-killed", Retry.MAY_PASS, excludes=("DD234", "DD251"))
DATA_LOADER_SHUTDOWN = Rule(
    "DD237", "data-loader-shutdown", Retry.MAY_PASS, requires=_needs(Source.STACKS), excludes=("DD234", "DD254")
)
LOCK_WAIT = Rule(
    "DD238", "lock-wait", Retry.MAY_PASS, requires=_needs(Source.STACKS), excludes=("DD231", "DD233", "DD235")
)
OUTPUT_PIPE_FULL = Rule(
    "DD239",
    "output-pipe-full",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.STACKS, Source.PROCESSES),
    excludes=("DD231", "DD233", "DD242"),
)
COMPILE_SKEW = Rule(
    "DD240", "compile-skew", Retry.MAY_PASS, requires=_needs(Source.PROCESSES), excludes=("DD231", "DD232", "DD238")
)
INTERACTIVE_PROMPT = Rule(
    "DD241", "interactive-prompt", Retry.FAILS_AGAIN, requires=_needs(Source.STACKS), excludes=("DD233", "DD244")
)
GIL_HELD = Rule(
    "DD242", "gil-held", Retry.FAILS_AGAIN, requires=_needs(Source.PAGES, Source.PROCESSES), excludes=("DD231", "DD244")
)
UNINTERRUPTIBLE_IO = Rule(
    "DD243",
    "uninterruptible-io",
    Retry.PASSES_ELSEWHERE,
    requires=_needs(Source.PROCESSES),
    excludes=("DD232", "DD238", "DD244"),
)
STOPPED_PROCESS = Rule("DD244", "stopped-process", Retry.MAY_PASS, requires=_needs(Source.PROCESSES))
RANK_DIED = Rule(
    "DD251", "rank-died", Retry.MAY_PASS, requires=_needs(Source.EXITS), excludes=("DD252", "DD253"), lint=("DD124",)
)
RANK_FINISHED_EARLY = Rule(
    "DD252",
    "rank-finished-early",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.EXITS),
    excludes=("DD201", "DD206", "DD251"),
    lint=("DD112",),
    compares=True,
)
EXCEPTION_MASKED = Rule(
    "DD253",
    "exception-masked",
    Retry.MAY_PASS,
    requires=_needs(Source.PAGES),
    excludes=("DD208", "DD251"),
    lint=("DD116",),
)
TEARDOWN_HANG = Rule(
    "DD254", "teardown-hang", Retry.MAY_PASS, requires=_needs(Source.STACKS), excludes=("DD252", "DD253")
)
RANK_MISSING_AT_INIT = Rule(
    "DD261", "rank-missing-at-init", Retry.MAY_PASS, excludes=("DD231", "DD262"), lint=("DD140", "DD144")
)
RENDEZVOUS_UNREACHABLE = Rule(
    "DD262",
    "rendezvous-unreachable",
    Retry.PASSES_ELSEWHERE,
    requires=_needs(Source.STACKS),
    excludes=("DD252", "DD261", "DD271"),
    lint=("DD125", "DD140", "DD144"),
)
WRONG_DEVICE = Rule(
    "DD263",
    "wrong-device",
    Retry.FAILS_AGAIN,
    requires=_needs(Source.PAGES, Source.CODE),
    excludes=("DD261", "DD262", "DD271"),
    lint=("DD141", "DD142", "DD147"),
)
MODEL_DIFFERS_AT_DDP = Rule("DD264", "model-differs-at-ddp", Retry.FAILS_AGAIN, excludes=("DD251",))
GROUP_WITH_ANOTHER_PROGRAM = Rule(
    "DD265",
    "group-with-another-program",
    Retry.MAY_PASS,
    requires=_needs(Source.PAGES),
    excludes=("DD261", "DD262"),
    compares=True,
    reproduced=False,
)
TRANSPORT_STALL = Rule(
    "DD271",
    "transport-stall",
    Retry.PASSES_ELSEWHERE,
    requires=_needs(Source.PAGES, Source.RECORDER),
    excludes=("DD213", "DD219", "DD251"),
    compares=True,
)
DEVICE_ORDER = Rule(
    "DD272",
    "device-order",
    Retry.MAY_PASS,
    requires=_needs(Source.PAGES, Source.RECORDER),
    excludes=("DD220", "DD271"),
    compares=True,
    reproduced=False,
)
COMMUNICATOR_NOT_MADE = Rule(
    "DD273",
    "communicator-not-made",
    Retry.PASSES_ELSEWHERE,
    requires=_needs(Source.STACKS),
    excludes=("DD203", "DD219", "DD271"),
    compares=True,
    reproduced=False,
)
UNDECIDED = Rule("DD299", "undecided", Retry.UNKNOWN)

#: Of two diagnoses of equal confidence the earlier in this list is shown first: first those that a rank or the kernel
#: reports, then those read from histories, last those that any slow job may show.
SHOWN_FIRST: tuple[Rule, ...] = (
    SHAPE_MISMATCH,
    DTYPE_MISMATCH,
    DATA_WORKER_KILLED,
    MODEL_DIFFERS_AT_DDP,
    RANK_DIED,
    DATA_LOADER_SHUTDOWN,
    EXCEPTION_MASKED,
    UNINTERRUPTIBLE_IO,
    STOPPED_PROCESS,
    INTERACTIVE_PROMPT,
    GIL_HELD,
    LOCK_WAIT,
    OUTPUT_PIPE_FULL,
    UNEVEN_INPUTS,
    SHARDED_STATE_ON_ONE_RANK,
    ONE_RANK_FORWARD_THROUGH_DDP,
    SKIPPED_BATCH,
    SWALLOWED_EXCEPTION,
    DATA_DEPENDENT_GRAPH,
    CONDITIONAL_SHARDED_MODULE,
    SIGNAL_ON_SOME_RANKS,
    NO_SYNC_MISMATCH,
    P2P_DEADLOCK,
    GROUP_CREATION_MISMATCH,
    JOIN_MISUSE,
    NETWORK_WAIT,
    DATA_WORKER_STUCK,
    FORK_LOCK_IN_WORKER,
    RENDEZVOUS_UNREACHABLE,
    UNEVEN_MICROBATCHES,
    METRIC_KEYS_DIFFER,
    BARRIER_OFF_BY_ONE,
    LOCAL_STOP_DECISION,
    GROUP_ORDER_CYCLE,
    TEARDOWN_HANG,
    RANK_CONDITIONAL_COLLECTIVE,
    SLOW_CHECKPOINT,
    COMPILE_SKEW,
    RANK_MISSING_AT_INIT,
    COLLECTIVE_ORDER_MISMATCH,
    WRONG_DEVICE,
    RANK_FINISHED_EARLY,
    THREADS_SHARE_GROUP,
    COLLECTIVE_IN_COMPILATION,
    GROUP_WITH_ANOTHER_PROGRAM,
    COMMUNICATOR_NOT_MADE,
    DEVICE_ORDER,
    TRANSPORT_STALL,
    SLOW_HOST_WORK,
    UNDECIDED,
)
