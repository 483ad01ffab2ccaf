"""What frameworks provide: collective methods, ranks and objects, samplers and epochs.

Read from accelerate 1.15, lightning 2.6, transformers 5.23, deepspeed 0.16, pytorch-ignite 0.5.5, mmengine 0.10.7,
horovod 0.28, Ray 2.60 and torch_xla 2.5.
"""

from __future__ import annotations

from ddpdoctor.lint.knowledge.aliases import ENGINE, FSDP
from ddpdoctor.lint.knowledge.collectives import Collective

ACCELERATOR = "accelerate.Accelerator"
STATE = "accelerate.PartialState"
FABRIC = "lightning.fabric.Fabric"
LIGHTNING = "lightning.pytorch.Trainer"
MODULE = "lightning.pytorch.LightningModule"
DATA_MODULE = "lightning.pytorch.LightningDataModule"
CALLBACK = "lightning.pytorch.Callback"
STRATEGY = "lightning.pytorch.strategies.Strategy"
TRAINER = "transformers.Trainer"
ARGUMENTS = "transformers.TrainingArguments"
TRAINER_CALLBACK = "transformers.TrainerCallback"
RUNNER = "mmengine.runner.Runner"
HOOK = "mmengine.hooks.Hook"
HOROVOD = "horovod.torch.DistributedOptimizer"
#: classes of timm that copy a network and average its weights, with one decay from the beginning
AVERAGING = (
    "timm.utils.ModelEma", "timm.utils.ModelEmaV2", "timm.utils.model_ema.ModelEma", "timm.utils.model_ema.ModelEmaV2",
)  # fmt: skip
PARALLEL = "ignite.distributed.Parallel"
MANAGER = "physicsnemo.distributed.DistributedManager"
STAGE = "torch.distributed.pipelining.PipelineStage"

#: methods that a framework calls on the first rank of each machine alone, with the classes that have them
ON_FIRST_RANK = {"prepare_data": frozenset({MODULE, DATA_MODULE}), "_save": frozenset({TRAINER})}
#: what draws the curves of a run, on the first rank of the job alone
DRAW_ON_FIRST_RANK = (
    "transformers.integrations.TensorBoardCallback",
    "transformers.integrations.integration_utils.TensorBoardCallback",
)
#: functions that begin a log of each rank in a folder (detectron2 0.6, `setup_logger`), and the setting that names it
SET_UP_FOLDERS = {
    "detectron2.engine.default_setup": "OUTPUT_DIR",
    "detectron2.engine.defaults.default_setup": "OUTPUT_DIR",
}
#: wrappers in which one process has several GPUs
IN_ONE_PROCESS = ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "mmcv.parallel.MMDataParallel")


def _plain(where: str, *names: str) -> dict[str, Collective]:
    return {name: Collective(f"{name} ({where})") for name in names}


def _equal(*names: str) -> dict[str, Collective]:
    return {name: Collective(name, returns_uniform=True) for name in names}


#: collective methods by class of the framework's object; subclasses have them too
METHODS: dict[str, dict[str, Collective]] = {
    FSDP: {
        **_plain("FSDP", "state_dict", "summon_full_params"),
        "clip_grad_norm_": Collective("clip_grad_norm_ (FSDP)", returns_uniform=True),
    },
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

#: other classes that count as one of these
_KINDS = {
    "accelerate.state.AcceleratorState": STATE,
    "accelerate.state.PartialState": STATE,
    "deepspeed.runtime.engine.DeepSpeedEngine": ENGINE,
    "deepspeed.PipelineEngine": ENGINE,
    "deepspeed.runtime.pipe.engine.PipelineEngine": ENGINE,
    "lightning.LightningModule": MODULE,
    "lightning.pytorch.core.LightningModule": MODULE,
    "lightning.pytorch.core.module.LightningModule": MODULE,
    "lightning.LightningDataModule": DATA_MODULE,
    "lightning.pytorch.core.LightningDataModule": DATA_MODULE,
    "lightning.pytorch.core.datamodule.LightningDataModule": DATA_MODULE,
    "lightning.Trainer": LIGHTNING,
    "lightning.pytorch.trainer.Trainer": LIGHTNING,
    "lightning.Callback": CALLBACK,
    "lightning.pytorch.callbacks.Callback": CALLBACK,
    "lightning.pytorch.callbacks.callback.Callback": CALLBACK,
    "lightning.fabric.fabric.Fabric": FABRIC,
    "transformers.Seq2SeqTrainer": TRAINER,
    "transformers.trainer.Trainer": TRAINER,
    "transformers.training_args.TrainingArguments": ARGUMENTS,
    "transformers.Seq2SeqTrainingArguments": ARGUMENTS,
    "transformers.trainer_callback.TrainerCallback": TRAINER_CALLBACK,
    "transformers.trainer_seq2seq.Seq2SeqTrainer": TRAINER,
    "mmengine.runner.Runner.from_cfg": RUNNER,
    "mmengine.runner.runner.Runner": RUNNER,
    "mmengine.runner.runner.Runner.from_cfg": RUNNER,
    "mmengine.runner.FlexibleRunner": RUNNER,
    "mmengine.hooks.hook.Hook": HOOK,
    "physicsnemo.distributed.manager.DistributedManager": MANAGER,
    "modulus.distributed.DistributedManager": MANAGER,
    "modulus.distributed.manager.DistributedManager": MANAGER,
    "torch.distributed.pipelining.stage.PipelineStage": STAGE,
}

#: attributes that hold an object of a framework
OBJECTS = {
    (MODULE, "trainer"): LIGHTNING,
    (LIGHTNING, "strategy"): STRATEGY,
    (LIGHTNING, "lightning_module"): MODULE,
    (TRAINER, "accelerator"): ACCELERATOR,
    (TRAINER, "args"): ARGUMENTS,
}
#: attributes that give a rank or the world size, and which of them
RANKS = {
    "rank": "rank",
    "process_index": "rank",
    "global_rank": "rank",
    "local_process_index": "local_rank",
    "local_rank": "local_rank",
    "num_processes": "world",
    "world_size": "world",
    "is_last_process": "last",
    "should_save": "first",
    "should_log": "first",
    # of a pipeline's stage, where there is one pipeline
    "is_first": "first",
    "is_last": "last",
}
RANKED = frozenset({ARGUMENTS, ACCELERATOR, STATE, FABRIC, LIGHTNING, MODULE, STRATEGY, ENGINE, RUNNER, MANAGER, STAGE})
#: the attribute of Accelerate's objects that says how the job runs, and its value for a job of one process
KIND_OF_JOB = "distributed_type"
ONE_PROCESS = "NO"
#: parameters of hooks that a framework calls, by the class that has the hooks
HOOKS = {
    CALLBACK: {"trainer": LIGHTNING, "pl_module": MODULE},
    HOOK: {"runner": RUNNER},
    TRAINER_CALLBACK: {"args": ARGUMENTS},
}
#: classes whose hooks a trainer calls on every rank, and how the names of these hooks begin
HOOKED = frozenset({*HOOKS, MODULE})
ON_ALL_RANKS = (
    "on_",
    "setup",
    "teardown",
    "training_step",
    "validation_step",
    "test_step",
    "predict_step",
    "before_",
    "after_",
    "validation_epoch_end",
    "test_epoch_end",
)

#: methods of the trainer of transformers that it calls on every rank whenever it keeps a checkpoint
KEEPS_ON_ALL_RANKS = frozenset({"save_model", "_save_checkpoint"})

#: return their arguments prepared: loaders get a sampler, and their epoch is set
PREPARING = frozenset({
    (ACCELERATOR, "prepare"), (ACCELERATOR, "prepare_data_loader"), (ACCELERATOR, "prepare_model"),
    (FABRIC, "setup_dataloaders"), (FABRIC, "setup"), (FABRIC, "setup_module"), (FABRIC, "setup_optimizers"),
})  # fmt: skip
#: those of them that are given nothing but loaders
PREPARING_LOADERS = frozenset({"prepare_data_loader", "setup_dataloaders"})
#: methods that put a model into the wrapper of a framework's strategy: Fabric's, and that of Lightning's trainer for a
#: module with hooks
TAKING_MODEL = {(FABRIC, "setup"), (FABRIC, "setup_module"), (LIGHTNING, "fit")}
#: of the strategies that keep gradients in shards: how the text begins by which they are chosen, and the name of their
#: class; ModelParallelStrategy's are distributed tensors, of which a norm is that of all ranks (lightning 2.6)
SHARDING_STRATEGIES = {"fsdp": "FSDPStrategy", "deepspeed": "DeepSpeedStrategy"}
#: settings of an Accelerator by which a prepared schedule makes one step for each of the optimizer's (accelerate 1.15)
ONE_STEP_EACH = {"split_batches": True, "step_scheduler_with_optimizer": False}
#: the object that holds some of them
LOADER_CONFIG = "dataloader_config"
#: return a model that is wrapped if there are several processes
FORWARDING = frozenset({"ignite.distributed.auto_model"})
#: start a function in processes: positions of the function and of the tuple of its arguments
SPAWNING = {
    "torch.multiprocessing.spawn": (0, 1),
    "torch.multiprocessing.spawn.spawn": (0, 1),
    "torch_xla.distributed.xla_multiprocessing.spawn": (0, 1),
    "torch_xla.launch": (0, 1),
    "ignite.distributed.spawn": (1, 2),
}
#: start a function in as many processes as they are told: position and name of that number
NUMBERED = {
    "torch.multiprocessing.spawn": (2, "nprocs"),
    "torch.multiprocessing.start_processes": (2, "nprocs"),
    "detectron2.engine.launch": (1, "num_gpus_per_machine"),
}
#: classes of a process, of which a program starts one for each rank
PROCESSES = ("torch.multiprocessing.Process", "multiprocessing.Process")
#: call a function with options from the command line as its arguments
STARTING = frozenset({"fire.Fire", "absl.app.run", "tyro.cli", "typer.run", "jsonargparse.CLI"})
#: call a function that they are given, without arguments, before they return: its position and its name
CALLING = {"wandb.agent": (1, "function"), "wandb.sdk.wandb_agent.agent": (1, "function")}
#: engines of ignite that judge, and what they judge by: position and name of the argument (pytorch-ignite 0.5.5)
EVALUATORS = {
    "ignite.engine.create_supervised_evaluator": (1, "metrics"),
    "ignite.engine.Engine": (-1, ""),
}
#: metrics of ignite that reduce over all ranks whenever an engine has run to its end: `compute` is decorated so, or
#: gathers what they keep
REDUCED_METRICS = frozenset(
    f"ignite.metrics.{name}" for name in (
        "Accuracy", "Average", "ConfusionMatrix", "EpochMetric", "Fbeta", "GeometricAverage", "IoU", "Loss",
        "MeanAbsoluteError", "MeanPairwiseDistance", "MeanSquaredError", "MultiLabelConfusionMatrix", "PSNR",
        "Precision", "ROC_AUC", "Recall", "RootMeanSquaredError", "SSIM", "TopKCategoricalAccuracy", "mIoU",
    )
)  # fmt: skip
#: calls that are true on rank 0 only, on any object
FIRST_RANK_METHODS = frozenset({"is_world_process_zero", "is_global_zero", "is_main_process"})
#: methods that give the rank, on any object whose class is not in sight (Ray Train's context has the first);
#: `get_local_rank` is not among them: of a device mesh it is the place in the mesh
RANK_METHODS = frozenset({"get_world_rank", "get_global_rank"})
#: context managers in which gradients are not synchronised
UNSHARED = frozenset({"block_backward_sync", "no_backward_sync", "no_sync"})
#: the attribute of torch's wrapper that says whether its next backward pass averages gradients
SHARING = "require_backward_grad_sync"
#: methods that say whether the next backward synchronises: DeepSpeed's engine, FSDP2's modules
SYNCHRONISING = frozenset({
    "set_gradient_accumulation_boundary", "set_is_last_backward", "set_requires_all_reduce",
    "set_requires_gradient_sync",
})  # fmt: skip


#: flags that each rank's loop asks, and that no framework reduces (lightning 2.6, `_FitLoop.done`; transformers 5.23,
#: `Trainer._inner_training_loop`): the flag -> the function that decides for all ranks, "" if there is none
STOPPING = {
    "should_stop": "trainer.strategy.reduce_boolean_decision",
    "should_training_stop": "",
    "should_epoch_stop": "",
    "should_evaluate": "",
}


#: callbacks of Lightning that follow a logged metric, each rank its own value of it (lightning 2.6)
WATCHING = frozenset({"ModelCheckpoint", "EarlyStopping"})
#: hooks of a module in which its validation logs
VALIDATING = (
    "validation_step",
    "validation_step_end",
    "validation_epoch_end",
    "on_validation_epoch_end",
)
#: those in which its training does
TRAINING = ("training_step", "training_step_end", "training_epoch_end", "on_train_batch_end", "on_train_epoch_end")
#: options of a Trainer that spread the work over devices
SPREADING = frozenset({"strategy", "devices", "gpus", "num_nodes", "distributed_backend"})
#: options by which a Trainer leaves the samplers as they are: every rank may validate all the data
LEAVING_SAMPLERS = ("replace_sampler_ddp", "use_distributed_sampler")
#: methods by which a class of the project gives the Trainer of transformers samplers for the loaders that this makes
#: and hands to Accelerate, since 4.31 (transformers#24028)
GIVING_SAMPLERS = ("_get_train_sampler", "_get_eval_sampler")
#: methods of frameworks to which all ranks have to give tensors of one shape: Accelerate's, Fabric's and Lightning's
OF_EQUAL_SHAPES = ("gather", "gather_for_metrics", "all_gather")
#: methods whose result all ranks may have agreed on: of a metric of torchmetrics, of a strategy, of torch.distributed
AGREEING = frozenset({
    "compute", "all_gather", "all_gather_object", "all_reduce", "reduce", "gather", "broadcast", "all_gather_cat",
})  # fmt: skip


def is_schedule(path: str) -> bool:
    """Whether it makes a schedule of the learning rate: a class of torch, a function of transformers or diffusers."""
    if path.startswith("torch.optim.lr_scheduler."):
        return True
    name = path.rpartition(".")[2]
    of_library = path.startswith(("transformers.", "diffusers."))
    return of_library and name.startswith("get_") and ("schedule" in name)


def kind(path: str) -> str:
    """The class in these tables that an external class is or inherits from."""
    if path.startswith("trl.") and path.endswith("Trainer"):
        return TRAINER
    # of its trainers; that of the model holds options only
    if path.startswith("trl.") and path.endswith("Config") and not path.endswith("ModelConfig"):
        return ARGUMENTS
    return _KINDS.get(path, path)


#: (base class, method that it calls with a batch of this rank) -> position of the batch
BATCHES = {
    (MODULE, "training_step"): 1,
    (MODULE, "validation_step"): 1,
    (MODULE, "test_step"): 1,
    (TRAINER, "training_step"): 2,
    (TRAINER, "compute_loss"): 2,
}
