"""Long work on one rank while the others wait for it

## What it does
Finds downloads, unpacking (also by `wget` or `tar`) and data-set preprocessing that only some ranks do before a
collective of all ranks, in a script whose process group keeps the default timeout.

## Why it hangs
The other ranks are in the collective from the start. After ten minutes with NCCL (thirty with gloo) the watchdog treats
the wait as a hang and ends the job. This typically happens first on slow storage or with a larger data set.

## Example
```python
dist.init_process_group("nccl")
if dist.get_rank() == 0:
    snapshot_download("some/model")
dist.barrier()
```

## Use instead
```python
dist.init_process_group("nccl", timeout=timedelta(hours=2))
if dist.get_rank() == 0:
    snapshot_download("some/model")
dist.barrier()
```

## Fix safety
No automatic fix.

## When it is wrong
When the work never takes minutes. A raised timeout and a barrier of another group are not reported; nor is an
evaluation on one rank, whose duration is unknown.

## References
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import devices
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Context
from ddpdoctor.lint.knowledge import collectives
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.values import EVERY_RANK
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.sites import SourceSite

RULE = LintRule(
    "DD151",
    "rank0-long-work-vs-timeout",
    Severity.HINT,
    ("DD231", "DD232", "DD233"),
    advice="do it before init_process_group, or pass a longer timeout to it",
)

#: functions that fetch, unpack or convert whole data sets
_LONG = (
    "urllib.request.urlretrieve", "wget.download", "gdown.download", "gdown.download_folder",
    "datasets.load_dataset", "huggingface_hub.snapshot_download", "huggingface_hub.hf_hub_download",
    "torch.hub.download_url_to_file", "torch.hub.load_state_dict_from_url",
    "torchvision.datasets.utils.download_and_extract_archive", "torchvision.datasets.utils.download_url",
    "shutil.unpack_archive", "shutil.copytree", "tensorflow_datasets.load",
)  # fmt: skip


#: those of them that fetch a single file, which seldom takes as long as the timeout
_ONE_FILE = frozenset({
    "huggingface_hub.hf_hub_download", "torch.hub.download_url_to_file", "torch.hub.load_state_dict_from_url",
    "torchvision.datasets.utils.download_url",
})  # fmt: skip
#: commands that fetch or unpack, started by hand
_COMMANDS = ("wget", "curl", "aws s3", "gsutil", "gcloud storage", "rsync", "tar", "unzip", "git clone")
_STARTING = ("os.system", "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output")


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Long work of some ranks followed by a collective of all, without a timeout."""
    groups = facts.named(devices.GROUP)
    if not groups or any(g.opaque or g.argument(2, "timeout") is not None for g in groups):
        return
    waits = [c for c in facts.calls if _is_wait(c)]
    if not waits:
        return
    told: set[SourceSite] = set()
    for call in facts.calls:
        if call.context.some_ranks_only and _long(call):
            wait = _waited_in(waits, call.context, call.index)
            if wait is not None and wait.site not in told:
                told.add(wait.site)
                what = _command(call).partition(" ")[0] if call.path in _STARTING else call.path.rpartition(".")[2]
                what = what or call.method
                op = collectives.COLLECTIVES[wait.path].op
                message = (
                    f"only some ranks run {what} while the rest wait in {op}: the group's default timeout ends "
                    "the job, set timeout="
                )
                brief = call.path in _ONE_FILE
                related = ((wait.site, f"{op} of all ranks"),)
                yield facts.finding(
                    RULE, call.site, f"where the file is large, {message}" if brief else message, related=related,
                    context=call.context,
                )  # fmt: skip


def _is_wait(call: CallEvent) -> bool:
    """A collective of the default group that all ranks reach."""
    spec = collectives.COLLECTIVES.get(call.path)
    return (
        spec is not None
        and not spec.pairwise
        and spec.op not in ("new_group", "init_process_group")
        and call.context.mask == EVERY_RANK
        and devices.default_group(call)
        and call.keyword("timeout") is None
    )


def _waited_in(waits: list[CallEvent], work: Context, index: int) -> CallEvent | None:
    """The next collective of the same program that is outside the branch of the work."""
    outer = {(g.site, g.side) for g in work.guards}
    for wait in waits:
        # deeper calls rarely do the work: for example, a model's weights are fetched only if they are missing
        near = len(work.chain) - len(wait.context.chain) <= 1
        same = near and wait.context.calls[:1] == work.calls[:1] and wait.index >= index
        if same and all((g.site, g.side) in outer for g in wait.context.guards):
            return wait
    return None


def _command(call: CallEvent) -> str:
    """The command line as far as it is written out, its words by spaces."""
    node = call.node.args[0] if call.node.args else None
    if isinstance(node, ast.JoinedStr):
        node = node.values[0] if node.values else None
    words = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
    return "".join(f"{w.value} " for w in words[:2] if isinstance(w, ast.Constant) and isinstance(w.value, str))


def _long(call: CallEvent) -> bool:
    if call.path in _LONG:
        return True
    if call.path in _STARTING:
        return _command(call).startswith(tuple(f"{command} " for command in _COMMANDS))
    if call.path.startswith("torchvision.datasets.") or call.path.startswith("torchaudio.datasets."):
        download = call.keyword("download")
        return download is not None and download.constant is True
    if call.method == "extractall":
        return True
    return call.method == "map" and call.keyword("num_proc") is not None
