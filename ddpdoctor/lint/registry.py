"""Every lint rule, sorted by code. A rule that is not listed here does not run.

The rules themselves are imported where a file is analysed, and each only where the file can matter to it: what only
chooses among them, or tells what the cache knows, does without, and one small file needs a third of them. To import a
rule with the facts that it alone reads takes longer than to ask it about such a file.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from ddpdoctor.lint.own_rules import INEFFECTIVE, UNREADABLE, UNUSED
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Finding
from ddpdoctor.model.record import record

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.module_facts import ModuleFacts

#: rules of the engine itself
OWN = (INEFFECTIVE, UNUSED, UNREADABLE)

#: the name of each rule by its code; its module in `rules/` is called the same
RULES = {
    "DD101": "missing-set-epoch",
    "DD102": "set-epoch-misuse",
    "DD103": "missing-distributed-sampler",
    "DD104": "sampler-shuffle-conflict",
    "DD105": "uneven-shards",
    "DD106": "iterable-no-rank-split",
    "DD107": "eval-padding-skews-metric",
    "DD108": "unsharded-custom-sampler",
    "DD109": "wrong-sampler-shuffle",
    "DD110": "ragged-last-batch",
    "DD111": "collective-under-rank-branch",
    "DD112": "rank-exit-before-collective",
    "DD113": "rank-local-loop-exit",
    "DD114": "collective-under-rank-local-condition",
    "DD115": "mismatched-collective-sequence",
    "DD116": "collective-in-exception-path",
    "DD117": "new-group-not-on-all-ranks",
    "DD118": "collective-result-lost",
    "DD119": "collective-argument-error",
    "DD120": "async-not-waited",
    "DD121": "unmatched-send-recv",
    "DD122": "collective-in-thread",
    "DD123": "collective-without-initialised-guard",
    "DD124": "rank0-side-effect-without-barrier",
    "DD125": "rank-divergent-shared-value",
    "DD126": "polling-instead-of-barrier",
    "DD127": "unknown-distributed-api",
    "DD128": "group-or-collective-in-hot-path",
    "DD129": "rank-test-not-called",
    "DD131": "identical-rng-all-ranks",
    "DD132": "rank-dependent-split",
    "DD133": "shard-order-not-synced",
    "DD134": "worker-seed-missing",
    "DD135": "rank-seed-before-unsynced-init",
    "DD136": "unseeded-ranks",
    "DD137": "state-set-in-prepare-data",
    "DD138": "schedule-of-one-share",
    "DD139": "engine-step-under-own-count",
    "DD140": "ranks-never-meet",
    "DD141": "missing-set-device",
    "DD142": "set-device-after-init-or-collective",
    "DD143": "global-rank-as-device-index",
    "DD144": "local-rank-as-global-rank",
    "DD145": "deprecated-launcher",
    "DD146": "local-rank-argument",
    "DD147": "barrier-device",
    "DD148": "hard-coded-rendezvous",
    "DD149": "process-group-not-destroyed",
    "DD151": "rank0-long-work-vs-timeout",
    "DD152": "random-state-of-one-rank",
    "DD153": "sharded-twice",
    "DD154": "data-split-within-model",
    "DD155": "contrastive-targets-without-offset",
    "DD156": "salted-hash",
    "DD157": "gather-of-unequal-shapes",
    "DD158": "gradient-lost-in-gather",
    "DD159": "gathered-out-of-order",
    "DD160": "second-backward-not-averaged",
    "DD161": "ddp-before-device-move",
    "DD162": "late-conversion",
    "DD163": "forward-bypasses-ddp",
    "DD164": "rank0-forward-through-ddp",
    "DD165": "syncbn-after-ddp",
    "DD166": "attribute-through-ddp",
    "DD167": "no-sync-around-backward-only",
    "DD168": "sharded-gradients-clipped-locally",
    "DD169": "update-on-some-ranks",
    "DD170": "step-on-local-gradients",
    "DD171": "unguarded-save",
    "DD172": "module-prefix-saved",
    "DD173": "load-without-map-location",
    "DD174": "local-rank-guards-global-work",
    "DD175": "sharded-save-on-one-rank",
    "DD176": "load-not-synced",
    "DD177": "bare-state-into-wrapper",
    "DD178": "optimizer-before-sharding",
    "DD179": "gathered-parameters-write-lost",
    "DD181": "unreduced-metric-decision",
    "DD182": "statistics-of-own-batch",
    "DD183": "reduceop-avg-portability",
    "DD184": "loss-summed-over-ranks",
    "DD185": "hook-on-some-ranks",
    "DD186": "metric-of-one-share",
    "DD187": "sharded-part-skipped",
    "DD188": "reentrant-checkpoint-under-ddp",
    "DD190": "rate-scaled-again",
    "DD191": "deprecated-distributed-api",
    "DD192": "node-local-file-of-one-rank",
}
#: rules that tell nothing but hints
HINTS = frozenset({
    "DD107", "DD108", "DD109", "DD123", "DD134", "DD141", "DD143", "DD145", "DD147", "DD148", "DD149", "DD151",
    "DD172", "DD174", "DD183", "DD191",
})  # fmt: skip

#: the functions and methods that write, make, move or remove a file or folder: of `knowledge.filesystem` those that
#: change what is there, and what fetches something by its name, in the cases in which people write that
_CHANGES = (
    b"save", b"dump", b"FileHandler", b"copy", b"makedirs", b"mkdir", b"unpack_archive", b"move", b"rename", b"replace",
    b"symlink", b"unlink", b"rmtree", b"open", b"touch", b"write_text", b"write_bytes", b"extractall", b"to_csv",
    b"to_parquet", b"ownload", b"ownLoad", b"DOWNLOAD", b"etch", b"FETCH", b"wget", b"Wget", b"WGET", b"etrieve",
    b"RETRIEVE",
)  # fmt: skip
#: those that write a result of the program, or open a file, and what begins a log or a run of a tracker
_WRITES = (
    b"save", b"dump", b"copy", b"open", b"to_csv", b"to_parquet", b"SummaryWriter", b"wandb", b"mlflow",
)  # fmt: skip
#: what shards a network over the ranks
_FSDP = (b"FullyShardedDataParallel", b"fully_shard")
#: what seeds a generator, by whatever library
_SEEDS = (b"seed", b"determinism")

#: Words of which at least one occurs wherever a rule has a finding: in the text of the file, or of a file of the
#: project that was read while it was simulated. A name keeps its word however it is imported, and as text for
#: `getattr`; a word is a part of all names that it stands for. A rule that is not listed, because words of it could be
#: missed or would occur in nearly every program, is always asked.
WORDS: dict[str, tuple[bytes, ...]] = {
    "DD101": (b"DataLoader",),
    "DD102": (b"set_epoch",),
    "DD103": (b"DataLoader",),
    "DD104": (b"DataLoader",),
    "DD106": (b"IterableDataset",),
    "DD107": (b"reduce", b"gather"),
    "DD108": (b"DataLoader",),
    "DD109": (b"DataLoader",),
    "DD110": (b"gather", b"reduce_scatter"),
    # and a decorator that logs what it catches
    "DD116": (b"try", b"catch"),
    "DD117": (b"new_group", b"new_subgroups", b"shrink_group", b"split_group", b"init_device_mesh"),
    "DD118": (b"all_reduce", b"allreduce", b"broadcast", b"scatter_object_list", b"all_gather_object"),
    "DD119": (b"reduce", b"broadcast", b"gather", b"scatter", b"send", b"recv", b"P2POp", b"all_to_all", b"barrier"),
    # the first two may be told by the place of an argument
    "DD120": (b"all_reduce", b"broadcast", b"async_op", b"isend", b"irecv"),
    "DD121": (b"send", b"recv"),
    "DD122": (b"Thread", b"Timer", b"to_thread", b"submit", b"run_in_executor"),
    # what another rank may be writing has been asked for
    "DD124": (*_CHANGES, b"exists", b"isfile", b"isdir", b"is_file", b"is_dir"),
    # saves and folders; and what makes up a name for each process, in which they may meet
    "DD125": (
        b"save", b"dump", b"copy", b"Writer", b"mkdir", b"makedirs", b"time", b"uuid", b"temp", b"secrets", b"getpid",
        b"generate_id", b"slug", b"randomname", b"nanoid", b"urandom", b"portpicker", b"free_port", b"getsockname",
    ),
    "DD126": (b"sleep",),
    "DD128": (
        b"barrier", b"wait_for_everyone", b"new_group", b"new_subgroups", b"split_group", b"init_device_mesh",
    ),
    # or a generator of its own
    "DD131": (*_SEEDS, b"Generator"),
    "DD132": (b"random_split", b"train_test_split", b"shuffle", b"permutation", b"randperm"),
    "DD134": (b"num_workers",),
    "DD135": _SEEDS,
    "DD136": (b"init_process_group", b"spawn"),
    "DD137": (b"prepare_data",),
    "DD138": (b"ccelerator", b"OneCycleLR"),
    "DD139": (b"deepspeed",),
    "DD140": (b"spawn", b"launch", b"Process"),
    "DD141": (b"init_process_group", b"init_distributed"),
    "DD142": (b"barrier", b"reduce", b"broadcast", b"_object"),
    "DD145": (b"launch",),
    "DD146": (b"local_rank", b"local-rank"),
    "DD147": (b"barrier",),
    "DD148": (b"MASTER_PORT", b"MASTER_ADDR", b"tcp:"),
    "DD149": (b"init_process_group", b"init_device_mesh"),
    # the first two start a command
    "DD151": (
        b"system", b"subprocess", b"download", b"urlretrieve", b"load_dataset", b"load_state_dict_from_url",
        b"unpack_archive", b"copytree", b"tensorflow_datasets", b"extractall", b"num_proc",
    ),
    "DD152": (b"set_rng_state", b"setstate", b"set_state", b"fork_rng"),
    "DD154": (b"parallelize_module",),
    "DD155": (b"gather",),
    "DD157": (b"gather", b"reduce", b"broadcast"),
    "DD158": (b"gather",),
    "DD159": (b"gather", b"recv"),
    "DD160": (b"DistributedDataParallel",),
    "DD161": (b"DistributedDataParallel",),
    # of the network inside a wrapper
    "DD162": (b"requires_grad", b"module"),
    "DD163": (b"backward",),
    "DD165": (b"convert_sync",),
    "DD166": (b"DistributedDataParallel", b"ccelerator"),
    "DD167": (b"no_sync", b"no_backward_sync", b"accumulate", b"step"),
    "DD168": (b"clip_grad_norm", b"reduce_scatter", b"to_local"),
    "DD169": (b"step", b"clip_grad", b"eval"),
    "DD170": (b"no_sync", b"no_backward_sync", b"require_backward_grad_sync"),
    "DD171": _WRITES,
    "DD172": (b"state_dict",),
    "DD173": (b"load",),
    "DD174": _WRITES,
    "DD175": (b"save", b"state_dict", b"full_tensor", b"summon_full_params"),
    "DD176": (b"load_state_dict",),
    "DD177": (b"load_state_dict",),
    "DD178": _FSDP,
    "DD179": (b"GatheredParameters",),
    # a schedule, a rate that is written by hand, or what Lightning follows
    "DD181": (b"lr_scheduler", b"param_groups", b"monitor"),
    "DD183": (b"AVG",),
    "DD184": (b"all_reduce",),
    # evaluations, and those that Lightning runs
    "DD186": (b"no_grad", b"inference_mode", b"set_grad_enabled", b"eval", b"lightning"),
    "DD187": _FSDP,
    "DD188": (b"checkpoint",),
    "DD190": (b"param_groups",),
    "DD192": _CHANGES,
}  # fmt: skip


@record(frozen=True, slots=True)
class Registered:
    """A rule with its check and its page."""

    rule: LintRule
    check: Callable[[ModuleFacts], Iterator[Finding | None]]
    page: str


def concerned(raw: bytes) -> frozenset[str]:
    """The codes of the rules that have one of their words in the bytes, or none that they need."""
    there = {word for word in _words() if word in raw}
    return frozenset(code for code in RULES if code not in WORDS or not there.isdisjoint(WORDS[code]))


@cache
def _words() -> frozenset[bytes]:
    """The words of all rules, of which many have the same."""
    return frozenset(word for words in WORDS.values() for word in words)


@cache
def entry(code: str) -> Registered:
    """One rule with its check and page."""
    module = importlib.import_module(f"ddpdoctor.lint.rules.{RULES[code].replace('-', '_')}")
    return Registered(module.RULE, module.check, module.__doc__ or "")


def registered() -> tuple[Registered, ...]:
    """All rules with their checks and pages."""
    return tuple(map(entry, RULES))


@cache
def pages() -> tuple[tuple[LintRule, str], ...]:
    """Every rule with its documentation, sorted by code, including the engine's own."""
    from ddpdoctor.lint import own_pages

    own = ((INEFFECTIVE, own_pages.INEFFECTIVE), (UNUSED, own_pages.UNUSED), (UNREADABLE, own_pages.UNREADABLE))
    return tuple(sorted((*((r.rule, r.page) for r in registered()), *own), key=lambda item: item[0].code))


@cache
def names() -> dict[str, str]:
    """Code to name, including the engine's own findings."""
    return {**RULES, **{rule.code: rule.name for rule in OWN}}


@cache
def defaults() -> frozenset[str]:
    """Codes that run by default: all but hints."""
    return frozenset(names()) - HINTS
