"""Heuristics: what a name, a condition or a text is assumed to mean if its definition is not available.

Everything else in lint decides by value. A row here decides by spelling and can be wrong, so each names the case in
tests/lint_cases that it is needed for; a test disables the rows one by one and checks that this case changes. Most rows
only silence a rule: it says nothing if a word near the code suggests that the program may be right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.record import record

#: characters of a text that is kept in mind: names and conditions are asked for again and again, the source of a
#: function is not
_NAME = 160


@lru_cache(maxsize=1 << 14)
def _occurs(pattern: str, name: str) -> bool:
    # by its text: the hash of a compiled pattern is made anew from all of its code each time
    return re.search(pattern, name, re.IGNORECASE) is not None


@record(frozen=True, slots=True)
class Heuristic:
    """A row: the pattern is searched in a text; the words are whole names, or parts of a text where `in_text` asks."""

    #: what a match is taken to mean
    decides: str
    #: code and heading of the case in tests/lint_cases that changes without the row
    case: str
    pattern: re.Pattern[str] | None = None
    words: tuple[str, ...] = ()

    def found_in(self, text: str) -> bool:
        """Whether the pattern, or one of the words, occurs in a text."""
        if self.pattern is not None:
            return _occurs(self.pattern.pattern, text) if len(text) < _NAME else self.pattern.search(text) is not None
        return any(word in text for word in self.words)

    def found_in_any(self, texts: Iterable[str]) -> bool:
        """Whether one of the texts has it."""
        return any(self.found_in(text) for text in texts)


def _pattern(decides: str, case: str, alternatives: str) -> Heuristic:
    return Heuristic(decides, case, pattern=late_pattern(alternatives, re.IGNORECASE))


def _words(decides: str, case: str, *words: str) -> Heuristic:
    return Heuristic(decides, case, words=words)


# Ranks

RANK_ATTRIBUTES = _words(
    "an attribute of this name holds a rank where some file in reach stores one under it",
    "DD111: an option that another function stores a rank in",
    "rank", "local_rank", "gpu", "global_rank", "distributed_rank", "is_master", "is_main",
)  # fmt: skip
RANK_GETTERS = _words(
    "what is stored comes from a function that gives a rank, whoever wrote it",
    "DD111: an option that another function stores a rank in",
    "get_rank", "get_local_rank",
)  # fmt: skip
JOB_RANK = _words(
    "a number of the whole job, to be compared with one of the machine",
    "DD143: refused where a rank is not its local rank", "rank", "get_rank", "global_rank",
)  # fmt: skip
JOB_SIZE = _words(
    "the size of the whole job", "DD143: no more ranks than this machine has devices", "world_size", "get_world_size"
)
IS_FIRST_HERE = _pattern(
    "a condition says that a rank on a machine is the first, though its value cannot be seen",
    "DD115: the first rank of the job, asked whether it is the first of its machine",
    r"^(not )?[\w.]*local_rank(\(\))? [=!]= 0$",
)
COUNTS_RANKS = _pattern(
    "how many ranks there are, which a program may refuse to be more than one",
    "DD124: a program that refuses to be one of several",
    r"^((ddp|dist|global|get)_)?world_?size$|^num_(processes|ranks)$",
)
NUMBERS_RANK = _pattern(
    "a variable is the rank of a process, or -1 where there are no others",
    "DD111: a function for one process, which has no rank",
    r"^((local|global|node|proc|process)_?)?rank$",
)
ASKS_TO_STOP = _pattern(
    "a method that a hook calls of its trainer, of which nothing else is seen, may end its loop",
    "DD113: a hook that asks its trainer to stop",
    r"stop|terminat|abort|finish|interrupt|quit|(^|_)(end|exit)(_|$)",
)
COUNTS_PROCESSES = _pattern(
    "a number that a program multiplies by is that of its processes, though it is not in sight what gives it",
    "DD138: a number of processes that is given",
    r"world_?size|(^|_)(num|n)_?(processes|procs?|gpus?|devices?|ranks)|device_count",
)
NODE_RANK = _words(
    "a number of one machine", "DD143: refused where a rank is not its local rank", "local_rank", "get_local_rank"
)
NODE_SIZE = _words(
    "how many processes one machine runs",
    "DD143: no more ranks than this machine has devices",
    "local_world_size",
    "get_local_world_size",
    "device_count",
)
ONE_NODE = _words(
    "the text of a script for a single machine, where the local rank is the rank",
    "DD143: a test that meets at localhost", "localhost", "127.0.0.1", "--standalone", "nnodes=1", "nnodes 1",
)  # fmt: skip
LOOKS_UP_NODES = _words(
    "the program asks Slurm for the machines of the job: an address of this one is for where there are no others",
    "DD143: the machines of the job are looked up, and this one is used where there is no job",
    "SLURM_JOB_NODELIST", "SLURM_NODELIST",
)  # fmt: skip
SEVERAL_NODES = _pattern(
    "the program is started on several nodes",
    "DD143: device_ids and torch.device",
    # a graph has nodes as well: `data.num_nodes`, `sample(num_nodes=None)`
    r"([\"'-]|\b(args|opts?|cfg|config|conf|hparams|trainer|flags)(\.\w+)*\.|\b(Trainer|Fabric)\([^()]*\b)"
    r"n(um)?[-_]?nodes\b(?![= ]*1\b)"
    r"|node_rank|machine_rank|num_machines|SLURM_(NNODES|JOB_NUM_NODES|NODEID|(JOB_)?NODELIST)|GROUP_RANK",
)
COUNTS_NODES = _pattern(
    "an option that is the number of machines, and with that of ranks where nothing starts several on one",
    "DD124: one process on each machine",
    r"^n(um)?_?(nodes|machines|hosts)$|^(node|machine|host)_count$",
)
STARTS_SEVERAL = _words(
    "what a program says that runs several processes on one machine",
    "DD124: several processes on each machine",
    "spawn",
    "Process",
    "LOCAL_RANK",
    "nproc_per_node",
    "gpus_per_node",
    "gpus",
    "torchrun",
)
ASKS_FOR_NODES = _pattern("a condition on the machines of the job", "DD144: one node by condition", "node")
LOCAL_ADDRESS = _words(
    "a rendezvous that processes of other machines cannot reach",
    "DD144: one node: a rendezvous at localhost",
    "localhost",
    "127.0.0.1",
    "file://",
)

# Processes and groups

STARTS_PROCESSES = _words(
    "the program starts its ranks itself: they share what the parent made up, and have a group",
    "DD123: every process that is started makes it", "spawn", "Process", "start_processes", "elastic_launch",
)  # fmt: skip
FORKS = _words(
    "the same, started by other means: what the parent made up is equal in all of them",
    "DD125: a test class that starts its ranks itself", "MultiProcessTestCase", "ProcessPoolExecutor", "fork",
)  # fmt: skip
STARTS_GROUP = _words(
    "the program makes its process group itself, and may make it always",
    "DD123: available, and made in the file",
    "init_process_group", "init_distributed", "init_distributed_mode",
)  # fmt: skip
MAY_JOIN = _pattern(
    "something of this name may make the process one of several ranks, or start some",
    "DD101: a group that another program of the project makes",
    r"(?:^|\.)(?!(?:is|get|has)_)[^.]*(?:"
    r"(?:init|set_?up|launch|spawn|start|prepare|boot|enable|enter)[^.]*"
    r"(?:dist|ddp|rank|proc|group|slurm|parallel|gpu|cuda|device|env|backend|job|comm|world)"
    r"|(?:dist|ddp|slurm|parallel|process|group)[^.]*(?:init|set_?up|launch|spawn|start)"
    r"|trainer|runner|accelerat|lightning|fabric|launcher|strategy|trainingarg)[^.]*$"
    r"|(?:^|\.)(?:set_?up|launch|spawn|start|initiali[sz]e|process|cli|fire|run)$|^init$|^(?:hvd|horovod|idist|ray)\.",
)
ENDS_GROUP = _words(
    "somebody in reach ends the process group, or the process without it",
    "DD149: destroyed",
    "destroy_process_group", "abort_process_group", "_abort_process_group", "end_training", "_exit", "execv", "execvp",
)  # fmt: skip
MAY_END_GROUP = _pattern(
    "a function that cannot be read may end the process group",
    "DD149: a helper that cannot be read may do it",
    r"destroy|clean_?up|tear_?down|shut_?down|finali[sz]e|(?<![a-z])(close|end)(?![a-z])",
)
RUNS_SEVERAL = _words(
    "a setting of this name turns on what only runs in several processes",
    "DD171: the kind of the job, which Accelerate tells all processes alike",
    "deepspeed", "use_deepspeed", "enable_deepspeed", "fsdp", "use_fsdp", "enable_fsdp",
)  # fmt: skip
SAYS_NOTHING_OF_SIZE = _words(
    "a condition that holds with one process and with several",
    "DD123: the other side has a way of its own to create it",
    "is_initialized",
    "__name__",
    "is_available()",
)
ABOUT_GROUP = _pattern(
    "a condition may be on whether there is a process group",
    "DD123: a class that asks for the group elsewhere",
    r"dist|world|rank|ddp|parallel|num_proc|multi|initiali[sz]ed|launcher|shard|fsdp|deepspeed|nccl|gloo|backend|sync"
    r"|group|slurm|master|is_main|n_?gpu|num_gpu|device_count|node|process|reduce|gather|zero|world",
)
ASKS_FOR_DEVICE = _pattern(
    "a condition asks whether the process has been given a device",
    "DD173: a device that was given, and none",
    r"(?:gpu|device|rank)(?:_?id)?s?(?: is| ==| is not| !=) none$",
)
ASKS_FOR_GROUP = _pattern(
    "a condition is on whether there is a process group",
    "DD123: a class that asks for the group elsewhere",
    r"is_initialized|(?<![a-z])(is_)?(ddp|dist|distributed)(_run|_mode|_training)?(?![a-z_.])"
    r"|world_?size['\", 1)]* (>|!=) 1",
)
TELLS_RANKS = _words(
    "a helper tells the rank and the number of ranks, also where there is no group",
    "DD123: a helper that copes without a group",
    "get_dist_info", "get_rank_and_world_size", "get_ddp_info", "get_rank_world_size",
)  # fmt: skip
PART_OF_JOB = _pattern(
    "a group of this name holds some ranks of the job: there are several of its kind",
    "DD119: the first rank of the job, in a group of which there are several",
    r"(data|tensor|model|pipe(line)?|sequence|context|expert)_(model_)?parallel|(?<![a-z])[dtpcse]p_(process_)?group",
)
SEVERAL_PARAMETERS = _pattern(
    "a variable of this name holds several parameters, not one",
    "DD179: what is only read, and what is written elsewhere",
    r"(s|list|group)$",
)
USES_GATHERED = _pattern(
    "a block that calls this uses what it has written before that is lost",
    "DD179: what is written is saved, or is for another block",
    r"(?<!load_)state_dict|save|export|generate|merge|forward|push|send|upload|swap|restore",
)
MAKES_GROUP = _words(
    "the other side of the condition makes a process group as well",
    "DD123: the other side has a way of its own to create it",
    "init",
)
MAY_WAIT = _pattern(
    "a call or a context in which ranks wait for each other, or which lets them through one by one",
    "DD124: a helper that cannot be seen synchronises",
    r"barrier|sync|wait|broadcast|gather|reduce|init_|setup|prepare|spawn|first|lock|rendezvous|launch|sleep|retry|poll"
    r"|distribut|DDP",
)
WAITS_FOR_DEVICE = _words(
    "the whole device is waited for, and the operations on it with it",
    "DD120: the whole device is waited for",
    "synchronize",
)
SENDS_OBJECTS = _words(
    "the split is made on one rank and sent to the others",
    "DD132: nothing is seeded, and the split is sent to the others",
    "broadcast_object_list",
)
MAKES_EQUAL = _words(
    "the weights are made equal, or read from one file",
    "DD135: the weights come from a file",
    "load_state_dict", "broadcast_parameters", "_broadcast_coalesced", "_sync_module_states", "sync_module_states",
    "broadcast_coalesced", "load_checkpoint", "from_pretrained", "sync_params", "sync_parameters",
)  # fmt: skip

# Exceptions

GIVES_UP_TOGETHER = _pattern(
    "a handler raises, or leaves the loop, where there are other ranks",
    "DD116: not swallowed where there are other ranks", r"dist|world|rank|ddp|parallel|num_proc|multi|initiali[sz]ed",
)  # fmt: skip
ACTS = _pattern(
    "a call in a handler ends the process or reaches the other ranks",
    "DD116: another program's loop: the handler reports and stops the job",
    r"exit|abort|kill|fail|raise|die|terminate|sync|barrier|reduce|broadcast|gather|shutdown|recover|restart|signal"
    r"|store|put|send|notify|stop",
)
TRAINS = _pattern(
    "a call trains or evaluates, and so runs collectives even where they cannot be seen",
    "DD116: a barrier in finally", r"(^|_)(train(ing)?|fit|step|backward|epoch|run|loop|eval(uate)?)(_|$)|^main$",
)  # fmt: skip

# Data

SPLITS_DATA = _words(
    "code that splits data between the ranks itself",
    "DD103: a pipeline that splits by node",
    "split_dataset_by_node", "split_by_node", "DistributedBatchSampler", "num_shards", "shard_id",
    "prepare_data_loader",
)  # fmt: skip
SPLITS_LOADERS = _words(
    "code that gives each rank a loader of its own share",
    "DD103: a data set that is told how many ranks there are",
    "IterableDataset", "num_replicas",
    "skip_first_batches",
)  # fmt: skip
KNOWS_RANKS = _pattern(
    "a data set that may know of ranks",
    "DD106: split by rank and worker", r"rank|world|shard|replica|process(es|_i|_c)|split|node|dist|num_proc|partition",
)  # fmt: skip
NUMBER_OF_RANK = _pattern(
    "a number that chooses a share: of a rank, or of the part that a process has",
    "DD131: samples that differ, of which each rank makes its share, or that are compared",
    r"(?<![a-z])rank(?!s)|process_index|replica|shard|chunk_id|split_id|node_id|gpu_id|part_id",
)  # fmt: skip
DRAWS_STREAM = _pattern(
    "a stream that is drawn at random: it need not be split, each rank draws its own",
    "DD106: a random stream", r"rand|seed|shuffle|generator|sample|choice|permut",
)  # fmt: skip
TAKES_OUT_REPEATED = _words(
    "code that takes repeated samples out of an evaluation again",
    "DD107: what the sampler repeated is subtracted",
    "gather_for_metrics", "total_size", "unique", "aux_val_loader", "SequentialDistributedSampler", "collect_results",
    "distributed_concat",
)  # fmt: skip
PADS_TEXTS = _words(
    "batches are texts, padded to the longest one in them",
    "DD157: texts that each rank pads to its longest",
    "attention_mask", "input_ids",
)  # fmt: skip
ONE_LENGTH = _words(
    "texts have one length on all ranks, or are made equally long before they are gathered",
    "DD157: texts of one length",
    "pad_across_processes", "pad_to_max_length",
)  # fmt: skip
TOKEN_LOGITS = _pattern(
    "what a language model gives for each token, and no number that was made of it",
    "DD157: texts that each rank pads to its longest",
    r"^(?!.*(mean|total|av(era)?g|sum|num|max|min)).*logits",
)
DIVIDES_BY_GROUP = _pattern(
    "a share is one of several nodes, or of a group of ranks, and is divided again within it",
    "DD153: a share of each node, divided in it",
    r"node|local|group|host|device_count|mesh|parallel",
)
NAMES_BATCH = _pattern(
    "a dict of this name holds a batch of texts, and no settings",
    "DD157: generated texts of a batch by its name",
    r"batch|input|encod|token|prompt|sample|example",
)
SHARES_MODEL = _pattern(
    "a group of this name holds ranks that compute one model together, on the same data",
    "DD157: in a group of ranks with the same data",
    r"tensor|model|seq|context|expert|pipe|(?<![a-z])(tp|mp|sp|cp|ep|pp)(?![a-z])",
)
CHANGES_WEIGHTS = _pattern(
    "a call that changes weights once their gradients are there",
    "DD101: gradients that are read, cut and handed to what learns from them",
    r"step|optim|update|train|learn|apply|adapt",
)
EPOCH_LOOPS = _pattern(
    "a loop over epochs in a file of the project",
    "DD101: a loader for unknown callers, in a project that goes through epochs and tells no sampler",
    r"(?m)^[ \t]*(?:for\b[^\n]*\bin\b|while\b)[^\n]*epoch",
)  # fmt: skip

COUNTS_EPOCHS = _pattern("the variable of a loop counts epochs", "DD128: a group for each epoch", r"epoch")

# Random numbers

SEEDS = _words(
    "something in reach seeds a generator, also a framework or a file that cannot be read",
    "DD136: the function that seeds is handed on",
    "manual_seed", "manual_seed_all", "seed_everything", "set_seed", "fix_seed", "init_random_seed", "set_random_seed",
    "seed_all", "seed", "setup_seed", "enable_determinism", "same_seeds", "set_rng_state", "default_rng", "PRNGKey",
    "set_determinism",
)  # fmt: skip
MAY_SEED = _pattern("a function that cannot be read seeds a generator", "DD114: dice that a library may seed", r"seed")
WANTS_SEED = _pattern(
    "a condition on whether the user wants a seed",
    "DD131: seeded in the process that spawns the ranks, or only where the user asks for it",
    r"seed",
)
READS_DATA = _words(
    "a data set is read, and not made up of random numbers",
    "DD101: noise beside what is read",
    "datasets", "load_dataset", "load_from_disk", "ImageFolder", "open", "imread", "Image", "read_csv", "read_parquet",
    "memmap", "fromfile", "h5py", "lmdb", "tarfile", "webdataset", "torchaudio", "librosa", "jsonlines", "tokenizer",
)  # fmt: skip
EVALUATED = _pattern(
    "data are for an evaluation, by their name",
    "DD101: a factory of loaders, one of them for an evaluation",
    r"(?<![a-z])(val|valid|validation|eval|evaluation|test|dev)(?![a-z])(?!_train)",
)
LOADERS = _pattern(
    "a variable of this name is a loader",
    "DD101: told to the sampler that a loader of batches has beside it",
    r"loader|(?<![a-z])dl$",
)
DATA_CLASS = _pattern("a class holds data, by its name", "DD136: data that are made up", r"data|loader|sampler")
AVERAGES = _pattern(
    "a copy of a network, or its class, averages the weights over time",
    "DD135: an average of the weights that begins before DDP",
    r"(?<![a-z])ema(?![a-z])|model_?ema|ema_?(?:model|module|net|wrapper)|moving_?average",
)
FORGETS_SOON = _pattern(
    "an average takes nearly all of the weights in its first steps",
    "DD135: averages that begin again after DDP",
    r"^(?:exp|min|num_updates|n_averaged)$|warm_?up",
)
OWN_WORKER_SEED = _pattern(
    "a worker is seeded with more than what torch seeded it with",
    "DD131: workers that are seeded from the equal seed and the rank",
    r"rank|process|world|time|urandom|uuid|getpid|node|local",
)  # fmt: skip
ONE_SIZE = _words(
    "the data set's pictures have one size",
    "DD131: crops of random size, of pictures that have one size",
    "cifar", "mnist", "stl10", "svhn", "usps", "tiny-imagenet", "tiny_imagenet", "tinyimagenet", "fakedata",
)  # fmt: skip
WORKER_SEED = _words("workers are seeded by hand", "DD131: workers seeded by hand", "worker_init_fn")

# Devices

CHOOSES_DEVICE = _words(
    "something in reach chooses a device for each process",
    "DD141: set_device", "set_device", "set_device_index", "set_device_idx", "init_device_mesh",
)  # fmt: skip
MAY_CHOOSE_DEVICE = _words(
    "a function that cannot be read chooses the device",
    "DD141: a helper that cannot be read may choose",
    "device", "dist", "init", "setup", "set_up", "launch", "cuda", "gpu", "env", "prepare", "start",
)  # fmt: skip
SETS_DEFAULT_DEVICE = _words(
    "tensors are made on another device than the CPU where none is named",
    "DD119: tensors that are not made on the CPU",
    "set_default_device", "set_default_tensor_type", "with torch.device",
)  # fmt: skip
ONE_VISIBLE_DEVICE = _words(
    "the visible devices are set by hand: GPU 0 may be another one in each process",
    "DD141: one visible device a process",
    "VISIBLE_DEVICES",
)  # fmt: skip
USES_GPU = _words(
    "the program uses GPUs, so a group without a backend has NCCL for them",
    "DD173: torch's own choice, for tensors on a GPU",
    "cuda",
)
ASKS_FOR_GPUS = _pattern(
    "a condition asks whether there are GPUs, or NCCL for them",
    "DD142: a first collective where there are GPUs",
    r"^[^=]*is_available\(\)$|nccl",
)
DEFAULT_DEVICE = _words(
    "networks are made on a device of the program's choice",
    "DD161: everything is made on the default device",
    "set_default_device",
    "set_default_tensor_type",
)

# Wrapped models

OPTIMIZES = _pattern(
    "an object whose class is not in sight is an optimizer, or the gradient scaler that makes its steps",
    "DD167: the optimizer is given, and its class is not in sight",
    r"opt(im|imizers?|imizer_\w+)?s?$|^opt(im|imizer)?_|scaler",
)
SYNCHRONISES_SOME = _words(
    "the program chooses itself which backward passes average gradients",
    "DD167: the wrapper is told not to average",
    "no_sync", "require_backward_grad_sync", "set_requires_gradient_sync",
)  # fmt: skip
SETS_ATTRIBUTES = _words(
    "the wrapper may be given the attribute",
    "DD166: given to whatever it is, by a name that is computed",
    "setattr",
    "__getattr__",
)
ASKS_WHETHER_WRAPPED = _words(
    "a condition on what the model is, or whether the job has several processes",
    "DD166: given to the wrapper, or asked for",
    "hasattr", "isinstance", "type(", "module", "parallel", "distrib", "ddp", "world", "gpu", "wrap", "multi", "rank",
)  # fmt: skip
HAS_BUFFERS = _words(
    "the network has buffers that DDP broadcasts",
    "DD164: no_grad, batch norm, and a barrier before the next step",
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "register_buffer",
)  # fmt: skip
STRIPS_PREFIX = _words(
    "the prefix of a wrapped model's state is taken off",
    "DD172: whoever loads it takes the prefix off",
    "consume_prefix_in_state_dict_if_present",
)
KNOWS_PREFIX = _words(
    "code that knows of the prefix, as text", "DD172: the loader strips the prefix", '"module.', "'module."
)
BRINGS_TOGETHER = _pattern(
    "code brings together what the ranks have",
    "DD182: reduced in the class",
    r"all_?reduce|all_?gather|concat_all|gather_(from|across|tensor|all)|\breduce_\w+\(|\bdist(ributed)?\w*\."
    r"|sync_?(stat|buf|centers?|queue|dist)",
)
ONLY_SHOWN = _pattern(
    "a moving average that is only shown, or one of batch norm",
    "DD182: averages that are shown, and batch norm",
    r"loss|acc|time|meter|grad|speed|running_(mean|var)|moment|reward",
)
SAYS_WHERE = _pattern(
    "a part of a batch says where in the data it stands, and ranks with equally many batches come there together",
    "DD113: a mark of the end in the batch",
    r"\[['\"]\w*(?<![a-z])(stop|last|ends?|done|finished|final|first|starts?|begins?)(?![a-z])\w*['\"]\]",
)
ASKS_FINITE = _pattern(
    "a condition asks whether a number is finite, which each rank finds in its own loss",
    "DD113: what a network has gathered",
    r"is_?(nan|inf|finite)(?![a-z])",
)
IS_LOSS = _pattern("a variable holds a loss", "DD184: a sum that is shown", r"loss")
NUMBER_OF_RANKS = _pattern(
    "an expression is the number of ranks",
    "DD184: the loss itself, divided and gone backward",
    r"world|n_?gpus?|num_?(gpus|replicas|processes|devices|ranks)",
)
SHOWS = _pattern(
    "a function of this name shows numbers, or averages them to show them",
    "DD184: a sum that is shown",
    r"^(update|add_scalars?|info|print|log|log_metrics|write|debug|set_postfix|set_description)$",
)
TELLS = _pattern(
    "a function of this name prints, logs or writes what it is given",
    "DD186: meters, a dict and a file",
    r"^(p?print|info|warning|log|log_(dict|metrics?|scalars?)|add_scalars?|write|dumps?|print_\w+)$",
)
ADDS_PREFIX = _pattern(
    "the prefix of a wrapped model is put in front of keys",
    "DD177: keys that are given the prefix",
    r"""["']module\.["']\s*\+|f["']module\.\{|["']module\.(%s|\{\})|["']module\.["']\.join""",
)
GATHERS_FULL_STATE = _words(
    "states are gathered from all ranks on demand",
    "DD175: full state of a model that is sharded in place",
    "full_state_dict",
)
OFFERS_SHARDING = _words(
    "the program can be run with a sharded model",
    "DD175: Accelerate, where the program offers FSDP",
    "fully_shard", "FullyShardedDataParallel", "FullyShardedDataParallelPlugin", "DeepSpeedPlugin", "FSDP", "DEEPSPEED",
    "deepspeed", "deepspeed_plugin", "fsdp_plugin", "is_deepspeed_zero3_enabled",
)  # fmt: skip
SHARDS = _words(
    "the model is sharded somewhere",
    "DD175: full state of a model that is sharded in place",
    "fully_shard",
    "FullyShardedDataParallel",
)

# Files

WRITES_FILES = _pattern(
    "a function of this name makes something at a path that it is given",
    "DD114: a shared file that rank 0 makes behind the same question",
    r"^_?(save|write|dump|build|make|create|download|fetch|extract|prepare|preprocess|generate|export|process|store|tar"
    r"|unzip|untar|tokenize|retrieve|urlretrieve|to_(csv|json|parquet|pickle))",
)
DOWNLOADS = _pattern(
    "a function of this name fetches something and keeps it on the disk",
    "DD124: every rank downloads what it does not find",
    r"^_?(download|fetch|wget|urlretrieve)(?!er|ed|able|s$)",
)
NAMES_PLACE = _pattern(
    "an argument of this name says what is fetched, or where to",
    "DD124: fetched for a caller that asks for its own path",
    r"path|file|dir|folder|root|url|uri|link|dest|dst|target|output|save|cache|name|repo|dataset|data$|model|split"
    r"|(?<![a-z])(?:ids?|out|to|args?|opts?|options|cfg|conf(?:ig)?|kwargs|hparams)$",
)
ASKS_DISK = _pattern(
    "a condition asks whether something is on the disk",
    "DD124: every rank downloads what it does not find",
    r"exists|isfile|isdir|is_file|is_dir|integrity|downloaded|cached",
)
OWN_PATH = _pattern(
    "a path names one process, one node or one moment",
    "DD171: the rank is in the path",
    r"(?<![a-z])(ranks?|uuid\d?|(time|date)(s|stamp|time)?|now|str[fp]time|te?mp(file|dir|_?path)?|mk[sd]temp|(get)?pid"
    r"|(get)?hosts?(name)?|nodes?(name)?|local|proc(ess)?(es)?|shards?|workers?|gpus?|devices?|id|(dev)?null|stages?"
    r"|pipe(line)?|idx|scratch|mesh|experts?|partitions?|shm|[mtpecds]p)(?![a-z])|rank|uuid",
)
CHOOSES_RANK = _pattern(
    "a condition may choose a rank",
    "DD171: a decorator, a flag, a function that cannot be seen",
    r"rank|(?!(main|primary)_(metric|score|loss))(?<![a-z])(main|master|primary|leader|lead|zero|chief|boss|writer|writes"
    r"|coordinator|should|hosts?|proc|process|(is|am|the)_first|nodes?|dist(ributed)?|ddp|world|gpu|local|root|parallel|shard(ed)?|fsdp|deepspeed|mesh"
    r"|worker|[mtpecd]p)(?![a-z])|(?<![a-z_])log(s|ger|ging)?(?![a-z_])|master|primary(?!_(metric|score|loss))"
    r"|coordinat|distrib"
    r"|device(_?id)? [!=]= 0",
)
PATH_OF_RANK = _pattern(
    "a path holds the number of the rank that saved the file",
    "DD173: each rank loads what it has saved itself", r"\{[^{}]*rank|(str|format)\([^()]*rank|% \(?[^()]*rank",
)  # fmt: skip
SETTINGS = _pattern(
    "a variable holds the settings of the run",
    "DD171: the settings of the run, the same text from every rank",
    r"(?<![a-z])(arg(ument)?s?|opts?|options?|(ds_)?conf(ig)?s?|cfg|settings?|hparams|hyp|hyperparam(eter)?s)(?![a-z])"
    r"|config",
)
GENERATES = _pattern(
    "a function makes new data by asking the model: it generates a text, or acts in an environment",
    "DD103: what the model of each rank has generated",
    r"generat|roll_?out|(^|_)act(ions?)?$|explore",
)
OF_ONE_SAMPLE = _pattern(
    "a variable holds one of the samples, users or clients that the ranks share out among themselves",
    "DD171: a file for each user that a rank works on",
    r"^(user|client|sample|speaker|subject|patient|scene)(_?(id|idx|index|name|key))?$",
)
PUBLISHED = _pattern(
    "what is loaded was made by others, who publish tensors of the CPU", "DD173: a published model",
    # the files of torch.hub end with the first digits of their hashes
    r"pretrain|imagenet(1k|21k|2012)|(?<![\w-])(alexnet|vgg|resnet|resnext|densenet|inception|mobilenet|efficientnet)"
    r"\w*\.pth|-[0-9a-f]{8}\.pth",
)  # fmt: skip
NOT_RUN = _pattern(
    "a file that nobody runs as it is, by its path: a template, a step of an exercise, or what was put aside",
    "DD199: files that nobody runs as they are",
    r"(^|[/_-])(templates?|skeleton|exercises?|(after_)?step[_-]?(\d+|optional)|old|archived?|deprecated)([._/-]|$)|\{\{",
)
OWN_NUMBERS = _pattern(
    "a variable holds the number of the rank, whose sum over the ranks is of no use",
    "DD118: ranks that only meet",
    r"(^|[._])(rank|(local|global|world|my|proc(ess)?)_?rank|device_id)$",
)
OF_TESTS = _pattern(
    "a file belongs to tests, by its path: what one rank raises there is a result, and most run as one process",
    "DD116: a test",
    r"(^|/)(unit_?)?tests?/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$",
)
ON_EACH_NODE = _pattern(
    "a folder is on a disk of each machine, by its name",
    "DD192: a folder whose name speaks of the machine's disk",
    r"(?<![a-z_])scratch|(?<![a-z])nvme(?![a-z])|(node|host|machine)_?local|local_?(ssd|disk|nvme|scratch|storage)",
)
PROGRAM_FILES = _pattern(
    "a file that is copied is a part of the program, or of its settings",
    "DD171: copies of the program and its settings",
    r"__file__|\.(py|ya?ml|json|toml|cfg|ini|sh|txt)['\"]|config|(?<![a-z])(cfg|opts?)(?![a-z])",
)
NAMES_RANK = _pattern(
    "a condition is on the rank, though its value cannot be seen",
    "DD124: the first rank of a machine comes first, without a context",
    r"rank|master|is_main|main_process|primary(?!_(metric|score|loss))",
)
INDEX_OF_RANK = _pattern(
    "an index is the rank, though its value cannot be seen",
    "DD131: what is drawn for all ranks, of which each takes its own, has to be equal",
    r"(?<![a-z])rank(?![a-z])",
)
TAKES_TURNS = _pattern(
    "a context lets one rank in before the others",
    "DD124: a context from elsewhere lets the first rank in",
    r"rank|main|master|zero|first|one_|turn|lock",
)
SAME_EVERYWHERE = _words(
    "a function in a condition gives the same on every rank",
    "DD171: under a condition on how many there are",
    "len", "int", "abs", "min", "max", "bool", "float", "str", "any", "all", "round", "exists", "isfile", "isdir",
    "is_file", "is_dir", "numel", "isinstance", "hasattr", "getattr", "get", "startswith", "endswith", "lower", "join",
)  # fmt: skip
PLAIN_DECORATORS = _words(
    "a decorator does no more than its name says",
    "DD171: under conditions and decorators that are the same everywhere",
    "staticmethod", "classmethod", "property", "no_grad", "inference_mode", "record", "main", "register",
    "register_module", "cached_property", "lru_cache", "cache", "contextmanager", "override", "dataclass", "compile",
    "retry",
)  # fmt: skip
GIVES_UP_WAITING = _words(
    "a loop that polls gives up some time",
    "DD126: somebody looks at the time", "time", "monotonic", "perf_counter", "raise", "timeout", "deadline",
)  # fmt: skip

RESUMED = _pattern(
    "an object of this name is an optimizer, whose state is as large as the network and was saved by the run itself",
    "DD173: the state of an optimizer, and weights alone",
    r"optim|^opt(_|$)|_opt$",
)
KEEPS_NUMBERS = _pattern(
    "an object of this name keeps numbers in its state, and no tensors on a device",
    "DD173: what was never on a GPU",
    r"sched|sampler|loader|scaler|meter|counter|iterator|dataset|tokenizer|rng",
)

# Launchers

OF_SEVERAL_PROCESSES = _words(
    "a program reads its local rank, or has to do with several processes",
    "DD146: only the underscore", ".local_rank", "distributed", "local_rank)",
)  # fmt: skip
NAMES_LAUNCHER = _words(
    "the program is started by a launcher, which passes the option",
    "DD144: an option of the launcher, through a helper",
    "torchrun",
    "torch.distributed.launch",
    "torch.distributed.run",
)
READS_LOCAL_RANK = _words(
    "the script takes its local rank as launchers of today give it",
    "DD146: the environment is read in another file",
    "LOCAL_RANK",
    "--local-rank",
)
DEEPSPEED_LAUNCHER = _pattern(
    "the script is started by DeepSpeed, which still passes the option", "DD146: DeepSpeed's launcher", "deepspeed"
)

NUMBERS_OF_TURNS = _pattern(
    "how many turns a loop has, with which the number of a turn is compared",
    "DD113: in the last turn only",
    r"len$|total|num|last|count|size|max",
)
PUTS_TOGETHER = _pattern(
    "a call may put together what the ranks have, or tells all what one has",
    "DD171: results of the whole data, of a part that is gathered, and of one rank",
    r"gather|reduce|merge|collect|combine|put_together|broadcast|sync(?!hronize$)|ranks",
)
GATHERS = _pattern(
    "a call by which a forward pass gets what other ranks computed",
    "DD113: what a network has gathered",
    r"all_?gather|gather_?(?:all|features|from|layer)",
)
