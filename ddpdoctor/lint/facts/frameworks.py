"""What frameworks do for a program: collective methods, ranks and objects that they hand out, samplers and epochs.

Read from accelerate 1.15, lightning 2.6, transformers 5.23, deepspeed 0.16, pytorch-ignite 0.5.5, mmengine 0.10.7,
horovod 0.28 and torch_xla 2.5.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ddpdoctor.lint.facts.collective_table import Collective
from ddpdoctor.lint.facts.nodes import dotted
from ddpdoctor.lint.facts.spellings import ENGINE, FSDP, canonical
from ddpdoctor.lint.facts.things import Made, Site
from ddpdoctor.lint.facts.values import LOCAL_RANK_NUMBERS, RANK_NUMBERS, WORLD_NUMBER, Taint, Value, of_thing, unknown

if TYPE_CHECKING:
    from ddpdoctor.lint.facts.analysis import Analysis
    from ddpdoctor.lint.facts.modules import ClassInfo, FunctionInfo

Keywords = tuple[tuple[str, Value], ...]

ACCELERATOR = "accelerate.Accelerator"
STATE = "accelerate.PartialState"
FABRIC = "lightning.fabric.Fabric"
LIGHTNING = "lightning.pytorch.Trainer"
MODULE = "lightning.pytorch.LightningModule"
CALLBACK = "lightning.pytorch.Callback"
STRATEGY = "lightning.pytorch.strategies.Strategy"
TRAINER = "transformers.Trainer"
RUNNER = "mmengine.runner.Runner"
HOOK = "mmengine.hooks.Hook"
HOROVOD = "horovod.torch.DistributedOptimizer"
PARALLEL = "ignite.distributed.Parallel"


def _plain(where: str, *names: str) -> dict[str, Collective]:
    return {name: Collective(f"{name} ({where})") for name in names}


def _equal(*names: str) -> dict[str, Collective]:
    return {name: Collective(name, returns_uniform=True) for name in names}


#: collective methods of a framework's object, by its class; subclasses have them too
METHODS: dict[str, dict[str, Collective]] = {
    FSDP: _plain("FSDP", "state_dict"),
    ENGINE: _plain(
        "DeepSpeed", "backward", "step", "train_batch", "eval_batch", "save_checkpoint", "load_checkpoint",
        "save_16bit_model", "save_fp16_model",
    ),
    ACCELERATOR: {
        "wait_for_everyone": Collective("wait_for_everyone"),
        "gather": Collective("gather_all", returns_uniform=True),
        "gather_for_metrics": Collective("gather_all", returns_uniform=True),
        "reduce": Collective("reduce_all", returns_uniform=True),
        "pad_across_processes": Collective("pad_across_processes"),
        "check_trigger": Collective("check_trigger", returns_uniform=True),
        "backward": Collective("backward (Accelerate)"),
    },
    STATE: {"wait_for_everyone": Collective("wait_for_everyone")},
    FABRIC: {
        "barrier": Collective("barrier"),
        **_equal("all_gather", "all_reduce", "broadcast"),
        **_plain("Fabric", "save", "load", "backward", "rank_zero_first"),
    },
    LIGHTNING: _plain("Lightning", "fit", "validate", "test", "predict", "save_checkpoint"),
    MODULE: {**_equal("all_gather"), **_plain("Lightning", "manual_backward")},
    STRATEGY: {"barrier": Collective("barrier"), **_equal("all_gather", "broadcast", "reduce_boolean_decision"),
               "reduce": Collective("reduce")},
    TRAINER: _plain("Trainer", "train", "evaluate", "predict"),
    RUNNER: _plain("Runner", "train", "val", "test"),
    HOROVOD: _plain("Horovod", "step", "synchronize"),
}  # fmt: skip

#: other classes that are one of these
_KINDS = {
    "accelerate.state.AcceleratorState": STATE,
    "accelerate.state.PartialState": STATE,
    "deepspeed.runtime.engine.DeepSpeedEngine": ENGINE,
    "deepspeed.PipelineEngine": ENGINE,
    "deepspeed.runtime.pipe.engine.PipelineEngine": ENGINE,
    "lightning.LightningModule": MODULE,
    "lightning.pytorch.core.LightningModule": MODULE,
    "lightning.pytorch.core.module.LightningModule": MODULE,
    "lightning.Trainer": LIGHTNING,
    "lightning.pytorch.trainer.Trainer": LIGHTNING,
    "lightning.Callback": CALLBACK,
    "lightning.pytorch.callbacks.Callback": CALLBACK,
    "lightning.pytorch.callbacks.callback.Callback": CALLBACK,
    "lightning.fabric.fabric.Fabric": FABRIC,
    "transformers.Seq2SeqTrainer": TRAINER,
    "transformers.trainer.Trainer": TRAINER,
    "transformers.trainer_seq2seq.Seq2SeqTrainer": TRAINER,
    "mmengine.runner.Runner.from_cfg": RUNNER,
    "mmengine.runner.runner.Runner": RUNNER,
    "mmengine.runner.runner.Runner.from_cfg": RUNNER,
    "mmengine.runner.FlexibleRunner": RUNNER,
    "mmengine.hooks.hook.Hook": HOOK,
}

#: attributes that are objects of a framework
_OBJECTS = {
    (MODULE, "trainer"): LIGHTNING,
    (LIGHTNING, "strategy"): STRATEGY,
    (LIGHTNING, "lightning_module"): MODULE,
    (TRAINER, "accelerator"): ACCELERATOR,
}
_RANKS = {
    "process_index": RANK_NUMBERS,
    "global_rank": RANK_NUMBERS,
    "local_process_index": LOCAL_RANK_NUMBERS,
    "local_rank": LOCAL_RANK_NUMBERS,
    "num_processes": WORLD_NUMBER,
    "world_size": WORLD_NUMBER,
}
_RANKED = frozenset({ACCELERATOR, STATE, FABRIC, LIGHTNING, MODULE, STRATEGY, ENGINE, RUNNER})
#: parameters of hooks that a framework calls, by the class that has the hooks
_HOOKS = {CALLBACK: {"trainer": LIGHTNING, "pl_module": MODULE}, HOOK: {"runner": RUNNER}}

#: give back what they were given, made ready: loaders get a sampler and are told the epoch
PREPARING = frozenset({
    (ACCELERATOR, "prepare"), (ACCELERATOR, "prepare_data_loader"), (ACCELERATOR, "prepare_model"),
    (FABRIC, "setup_dataloaders"), (FABRIC, "setup"), (FABRIC, "setup_module"), (FABRIC, "setup_optimizers"),
})  # fmt: skip
#: what they give is a model that is wrapped where there are several processes
FORWARDING = frozenset({"ignite.distributed.auto_model"})
#: start a function in processes: positions of the function and of the tuple of its arguments
SPAWNING = {
    "torch.multiprocessing.spawn": (0, 1),
    "torch.multiprocessing.spawn.spawn": (0, 1),
    "torch_xla.distributed.xla_multiprocessing.spawn": (0, 1),
    "torch_xla.launch": (0, 1),
    "ignite.distributed.spawn": (1, 2),
}
#: call a function with options from the command line as its arguments
STARTING = frozenset({"fire.Fire", "absl.app.run", "tyro.cli", "typer.run", "jsonargparse.CLI"})
#: calls that are true on rank 0 only, on whatever object
FIRST_RANK_METHODS = frozenset({"is_world_process_zero", "is_global_zero", "is_main_process"})
#: context managers in which gradients are not shared
UNSHARED = frozenset({"no_sync", "no_backward_sync"})

#: packages whose objects these tables know
PACKAGES = frozenset({
    "accelerate", "apex", "deepspeed", "detectron2", "horovod", "ignite", "lightning", "lightning_fabric", "mmcv",
    "mmengine", "pytorch_lightning", "torch_xla", "transformers", "trl",
})  # fmt: skip

_LOG = Collective("log(sync_dist=True)")


def kind(path: str) -> str:
    """The class of these tables that an external class is, or inherits from."""
    if path.startswith("trl.") and path.endswith("Trainer"):
        return TRAINER
    return _KINDS.get(path, path)


def collective(path: str, method: str, keywords: Keywords, made: Made | None = None) -> Collective | None:
    """The collective that a method of a framework's object is; `made` where its constructor was seen."""
    owner = kind(path)
    if owner == MODULE and method in ("log", "log_dict"):
        given = dict(keywords)
        sync = given.get("sync_dist")
        return _LOG if sync is not None and sync.constant is True and "rank_zero_only" not in given else None
    if owner in (LIGHTNING, FABRIC) and made is not None and _one_process(made):
        return None
    return METHODS.get(owner, {}).get(method)


def _one_process(made: Made) -> bool:
    """`Trainer(devices=1)`, or options that cannot be read."""
    devices, nodes = made.keyword("devices"), made.keyword("num_nodes")
    return made.opaque or (devices is not None and devices.constant in (1, "1") and nodes is None)


def bases(analysis: Analysis, info: ClassInfo) -> tuple[str, ...]:
    """The classes of these tables that a class of the project inherits from."""
    if not info.node.bases:
        return ()
    known = analysis.bases.get(info)
    if known is None:
        from ddpdoctor.lint.facts.classes import external_bases

        kinds = {kind(path) for path in external_bases(analysis, info)}
        known = analysis.bases[info] = tuple(sorted(k for k in kinds if k in METHODS or k in _HOOKS))
    return known


def inherited(analysis: Analysis, info: ClassInfo, method: str, keywords: Keywords) -> Collective | None:
    """The collective that a method is which a class of the project has from a framework."""
    for base in bases(analysis, info):
        found = collective(base, method, keywords)
        if found is not None:
            return found
    return None


def is_first_rank(receiver: Value, method: str) -> bool:
    """A call that is true on rank 0 only, on whatever object; one framework's attribute is another's method."""
    if method == "__call__":
        return receiver.known and receiver.atoms == (True, False, False, False)
    return method in FIRST_RANK_METHODS


def attribute(path: str, name: str) -> Value | None:
    """An attribute of a framework's object that is a rank or another such object."""
    owner = kind(path)
    if owner in _RANKED and name in _RANKS:
        return _RANKS[name]
    if (owner, name) == (RUNNER, "rank"):
        return RANK_NUMBERS
    inner = _OBJECTS.get((owner, name))
    return thing_of(inner, owner, name) if inner is not None else None


def thing_of(path: str, *key: object) -> Value:
    """An object of a framework whose making was not seen; it may be missing outside the framework's own run."""
    return of_thing(Made(path, Site("", 0, 0, 0, 0)), path, *key).tagged("maybe")


def annotated(imports: dict[str, str], annotation: ast.expr | None) -> str:
    """The framework's class that a parameter is annotated with, "" for anything else."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.right, ast.Constant):
        annotation = annotation.left  # Fabric | None
    elif isinstance(annotation, ast.Subscript) and getattr(annotation.value, "id", "") == "Optional":
        annotation = annotation.slice
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        parts = annotation.value.split(".")
    else:
        parts = dotted(annotation)
    if not parts or parts[0] not in imports:
        return ""
    path = kind(canonical(".".join([imports[parts[0]], *parts[1:]])))
    return path if path in METHODS else ""


def parameters(analysis: Analysis, info: FunctionInfo) -> dict[str, Value]:
    """Parameters that a framework hands to a hook of its classes, or that are annotated with one of them."""
    owners = bases(analysis, info.owner) if info.owner is not None else ()
    found: dict[str, Value] = {}
    for index, parameter in enumerate(info.parameters):
        path = next((_HOOKS[o][parameter.arg] for o in owners if parameter.arg in _HOOKS.get(o, {})), "")
        path = path or annotated(info.module.imports, parameter.annotation)
        if path:
            found[parameter.arg] = thing_of(path, id(info), parameter.arg)
        elif index == 1 and MODULE in owners and info.name == "training_step":
            found[parameter.arg] = unknown("batch", id(info), taint=Taint.RANK_LOCAL)
    return found


def steps_by_itself(analysis: Analysis, info: FunctionInfo | None) -> bool:
    """`training_step` of a LightningModule: what it returns is the loss that Lightning runs backward on."""
    if info is None or info.name != "training_step" or info.owner is None:
        return False
    return MODULE in bases(analysis, info.owner) and not _says(analysis, info.owner, "automatic_optimization")


def _says(analysis: Analysis, info: ClassInfo, name: str) -> bool:
    """The class, or one of the project that it inherits from, gives the attribute a value of its own."""
    from ddpdoctor.lint.facts.classes import mro

    return any(name in c.stores or name in c.methods or name in c.constants for c in mro(analysis, info))
