"""Meanings of names: calls that give ranks, decorators for rank 0 only, functions that compute from their arguments
alone.

Checked against torch 2.13, accelerate 1.x, lightning 2.x, ignite 0.5, mmengine 0.10, horovod 0.28 and torch_xla 2.x.
"""

from __future__ import annotations

#: calls that give this process's rank or the world size
RANK_CALLS = frozenset({
    "torch.distributed.get_rank",
    "horovod.torch.rank",
    "ignite.distributed.get_rank",
    "mmengine.dist.get_rank",
    "torch_xla.core.xla_model.get_ordinal",
    "torch_xla.runtime.global_ordinal",
    "detectron2.utils.comm.get_rank",
})  # fmt: skip
LOCAL_RANK_CALLS = frozenset({
    "torch.distributed.get_node_local_rank",
    # each rank has set its own device; where none has, DD143 and DD173 tell
    "torch.cuda.current_device",
    "horovod.torch.local_rank",
    "ignite.distributed.get_local_rank",
    "mmengine.dist.get_local_rank",
    "torch_xla.core.xla_model.get_local_ordinal",
    "detectron2.utils.comm.get_local_rank",
})  # fmt: skip
WORLD_CALLS = frozenset({
    "torch.distributed.get_world_size",
    "horovod.torch.size",
    "horovod.torch.local_size",
    "ignite.distributed.get_world_size",
    "mmengine.dist.get_world_size",
    "torch_xla.core.xla_model.xrt_world_size",
    "detectron2.utils.comm.get_world_size",
})  # fmt: skip
#: the rank and the world size, 0 and 1 where there is no process group
COPING_CALLS = frozenset({"mmcv.runner.get_dist_info", "mmcv.runner.dist_utils.get_dist_info",
                          "mmengine.dist.get_dist_info"})  # fmt: skip
#: true on rank 0 only
FIRST_RANK_CALLS = frozenset({
    "mmengine.dist.is_main_process",
    "detectron2.utils.comm.is_main_process",
    "torch_xla.core.xla_model.is_master_ordinal",
})  # fmt: skip
#: true in the simulated job, which has a process group
INITIALISED_CALLS = frozenset({
    "torch.distributed.is_initialized",
    "torch.distributed.is_available",
    "torch.distributed.is_torchelastic_launched",
    "torch.distributed.is_nccl_available",
    "torch.distributed.is_gloo_available",
    "ignite.distributed.has_native_dist_support",
    "mmengine.dist.is_distributed",
})  # fmt: skip
#: they make the process group
GROUP_CALLS = frozenset({
    "torch.distributed.init_process_group",
    "accelerate.Accelerator",
    "deepspeed.init_distributed",
    "deepspeed.initialize",
})  # fmt: skip

#: functions of other packages that make it, in each process that a launcher has started
GROUP_HELPERS = frozenset({
    "horovod.torch.init", "mmcv.runner.init_dist", "mmcv.runner.dist_utils.init_dist", "mmengine.dist.init_dist",
})  # fmt: skip

#: attributes that have this meaning on any object
FIRST_RANK_ATTRIBUTES = frozenset({"is_main_process", "is_global_zero", "is_world_process_zero"})
FIRST_LOCAL_RANK_ATTRIBUTES = frozenset({"is_local_main_process", "is_local_process_zero"})

#: decorators that let only rank 0 run the body
FIRST_RANK_DECORATORS = frozenset({
    "rank_zero_only",
    "on_main_process",
    "master_only",
    "main_process_only",
    "on_local_main_process",
    "one_rank_only",
})  # fmt: skip

#: decorators that let only given ranks, or the last rank, run the body
SOME_RANK_DECORATORS = frozenset({"on_process", "on_local_process", "on_last_process"})

#: modules whose functions compute from their arguments alone and do not communicate
PURE_PREFIXES = (
    "torch.", "math.", "numpy.", "builtins.", "operator.", "itertools.", "functools.",
    "sklearn.metrics.", "scipy.stats.", "torchvision.ops.", "re.",
)  # fmt: skip

#: make a metric of Hugging Face's, which each process computes of its own data, unless it is told how many there are
METRICS = frozenset({"evaluate.load", "evaluate.combine", "datasets.load_metric"})
#: functions of numbers and lists that are deterministic
RECKONING = frozenset({
    "math.ceil", "math.floor", "math.sqrt", "math.log", "math.log2", "math.exp", "math.prod", "math.gcd",
    "builtins.sorted", "builtins.sum", "builtins.list", "builtins.tuple", "builtins.set", "builtins.round",
    "builtins.divmod", "builtins.pow", "builtins.any", "builtins.all", "builtins.reversed", "builtins.range",
    "builtins.enumerate", "builtins.zip",
})  # fmt: skip
#: read a configuration, which is equal on every rank if its path is
CONFIGURATIONS = frozenset({
    "yaml.safe_load", "yaml.load", "yaml.full_load", "json.load", "json.loads", "tomllib.load", "tomllib.loads",
    "toml.load", "omegaconf.OmegaConf.load", "omegaconf.OmegaConf.create", "omegaconf.OmegaConf.from_cli",
})  # fmt: skip
#: functions and methods that make a path out of others, and nothing else
PATH_FUNCTIONS = frozenset({
    "join", "Path", "PurePath", "joinpath", "str", "format", "abspath", "realpath", "normpath", "expanduser", "fspath",
    "dirname", "basename", "splitext", "with_suffix", "with_name", "resolve", "absolute", "home", "getcwd", "cwd",
    "replace", "strip", "rstrip", "lstrip", "split", "rsplit", "lower", "upper", "removesuffix", "removeprefix", "get",
    "parse_args", "getenv", "int", "len", "round", "zfill", "isinstance", "open", "expandvars", "as_posix", "relpath",
    "safe_load",
})  # fmt: skip
#: attributes of a path that are made of its text
PARTS_OF_PATHS = frozenset({"parent", "parents", "stem", "suffix"})
#: functions and methods that list what is on the disk, and choose from it
FINDING = frozenset({
    "listdir", "scandir", "glob", "iglob", "rglob", "iterdir", "walk", "pop", "sorted", "reversed", "list", "filter",
    "map", "min", "max", "match", "search", "group", "groups", "findall", "compile", "isdigit", "startswith",
    "endswith", "getmtime", "getctime", "stat", "isdir", "isfile", "is_dir", "is_file", "exists", "index", "float",
})  # fmt: skip
#: functions and methods that sort out what was found, in one that gives it back
COLLECTING = frozenset({
    "append", "extend", "insert", "sort", "add", "keys", "values", "items", "fullmatch", "splitlines", "enumerate",
    "isnumeric", "isdecimal", "next", "iter", "tuple", "set", "dict", "itemgetter",
})  # fmt: skip
#: methods of command-line parsers
PARSING = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args"})
#: decorators that pass command-line options or a configuration to a function as arguments
CONFIGURING = frozenset({"hydra.main", "click.command", "click.group", "draccus.wrap", "pyrallis.wrap"})
#: commands by which a process hands its job back to the scheduler, or ends it: all ranks end then (scontrol(1),
#: scancel(1), bkill(1), qdel(1))
ENDING_JOBS = ("scontrol requeue", "scancel", "bkill", "qdel")
#: names of settings whose origin is not visible; all ranks have them alike
SETTINGS_NAMES = frozenset({
    "args", "cfg", "config", "conf", "hparams", "opt", "opts", "options", "settings", "flags",
})  # fmt: skip
#: Names of parameters, attributes, variables and functions that hold or give a rank, used if their definition is not
#: visible: a trainer whose callers are in another package, options that a launcher fills in, a helper whose file is
#: missing.
RANK_NAMES = frozenset({
    "rank", "local_rank", "global_rank", "world_rank", "node_rank", "process_index", "is_main", "is_master",
    "is_main_process", "is_rank_zero", "is_rank_0", "is_chief", "is_primary", "main_process", "rank_zero", "get_rank",
    "get_local_rank", "get_global_rank",
})  # fmt: skip

#: methods of tensors and numbers that compute from the receiver alone
PURE_METHODS = frozenset({
    "item", "mean", "sum", "max", "min", "detach", "cpu", "cuda", "to", "float", "double", "half", "long",
    "int", "bool", "any", "all", "abs", "isnan", "isinf", "isfinite", "norm", "clone", "view", "reshape",
    "squeeze", "unsqueeze", "argmax", "eq", "ne", "lt", "gt", "le", "ge", "numel", "size", "tolist", "numpy",
    "nelement", "contiguous", "type", "new_tensor", "add", "sub", "mul", "div", "pow", "sqrt", "exp", "log", "flatten",
    "topk", "sort", "keys", "values", "items", "get", "copy", "strip", "lower", "upper", "split",
    "var", "std", "median", "nanmean", "nansum", "prod", "amax", "amin", "argmin", "logsumexp", "softmax",
    "log_softmax", "sigmoid", "relu", "tanh", "clamp", "clip", "square", "round", "floor", "ceil", "cumsum",
    "count_nonzero", "nan_to_num", "permute", "transpose", "masked_fill", "matmul", "dot", "unique", "nonzero",
    "masked_select", "repeat", "repeat_interleave", "expand", "expand_as", "view_as", "t", "mm", "bmm", "neg", "sign",
    "cos", "sin", "clamp_min", "clamp_max", "log_prob", "entropy",
})  # fmt: skip

#: functions that fill a tensor with numbers that the program names
TENSORS = frozenset({
    *(f"torch.{name}" for name in ("zeros", "ones", "empty", "full", "tensor", "as_tensor")),
    *(f"torch.{name}_like" for name in ("zeros", "ones", "empty", "full")),
    "torch.Tensor",
    *(
        f"torch.{device}{name}Tensor"
        for device in ("", "cuda.")
        for name in ("Float", "Double", "Half", "BFloat16", "Int", "Long", "Short", "Char", "Byte", "Bool")
    ),
})  # fmt: skip

#: those of numpy
ARRAYS = frozenset({
    *(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full")),
    *(f"numpy.{name}_like" for name in ("zeros", "ones", "empty", "full")),
})  # fmt: skip

#: those of them whose result has as many elements as the data decides
PICKING = frozenset({"unique", "nonzero", "masked_select"})
#: functions of which the same is true
PICKING_CALLS = frozenset({
    "torch.nonzero", "torch.argwhere", "torch.masked_select", "torch.unique", "torch.unique_consecutive",
    "numpy.nonzero", "numpy.flatnonzero", "numpy.argwhere", "numpy.unique", "numpy.extract",
    "torchvision.ops.nms", "torchvision.ops.batched_nms",
})  # fmt: skip
#: functions of a condition alone that give the places where it holds, in a tuple
PLACES = frozenset({"torch.where", "numpy.where"})
#: functions that give a tuple of places
TUPLES_OF_PLACES = PLACES | {"torch.nonzero", "numpy.nonzero"}
#: methods, and functions of torch and numpy, that tell of each element whether something holds
MASKING = frozenset({
    "isnan", "isinf", "isfinite", "eq", "ne", "lt", "gt", "le", "ge", "bool", "logical_and", "logical_or",
    "logical_not", "isin", "isclose",
})  # fmt: skip
#: methods of a network or tokenizer that make tokens or texts of what they are given
GENERATING = frozenset({"generate", "batch_decode", "batch_encode_plus", "tokenize"})
#: those that may as well be of a network, through which gradients flow
CODING = frozenset({"encode", "decode"})
#: those of them that give a matrix the other way round, and those after which its rows and columns are where they were
TURNING = frozenset({"t", "transpose", "permute"})
KEEPING_ORDER = TURNING | {
    "contiguous", "detach", "float", "half", "double", "to", "cuda", "clone", "view", "reshape", "flatten",
}  # fmt: skip
#: those of them that give a tensor's size or type, not its content
EXTENTS = frozenset({"size", "numel", "nelement", "dim", "type", "keys"})
SIZES = frozenset({"size", "numel", "nelement"})

#: what only a loop calls that trains, and what one calls that does not
TRAINING = frozenset({"backward", "step", "zero_grad"})
WITHOUT_GRADIENTS = frozenset({"no_grad", "inference_mode"})

#: the wall clock: never the same on two ranks
CLOCK_CALLS = frozenset({
    "time.time", "time.perf_counter", "time.monotonic", "time.process_time", "time.time_ns",
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "time.strftime", "time.ctime",
    "time.localtime", "time.gmtime", "time.asctime",
})  # fmt: skip
#: different in every process, whatever the seed
UNIQUE_CALLS = frozenset({
    "uuid.uuid4", "uuid.uuid1", "tempfile.mkdtemp", "tempfile.mkstemp", "tempfile.mktemp",
    "tempfile.TemporaryDirectory", "tempfile.NamedTemporaryFile", "secrets.token_hex", "os.getpid",
    "secrets.token_urlsafe", "secrets.token_bytes", "secrets.choice", "wandb.util.generate_id", "shortuuid.uuid",
    "coolname.generate_slug", "randomname.get_name", "nanoid.generate",
    "secrets.randbelow", "secrets.randbits", "os.urandom", "portpicker.pick_unused_port",
    "torch.distributed.elastic.utils.get_free_port", "torch.distributed.elastic.utils.distributed.get_free_port",
})  # fmt: skip

#: entries of a batch of texts that have one element for each token
TOKEN_ENTRIES = frozenset({"attention_mask", "input_ids", "position_ids", "token_type_ids", "completion_mask"})
#: functions and methods: the size of their result does not depend on that of the batch
REDUCING = frozenset({
    "mean", "sum", "item", "norm", "max", "min", "amax", "amin", "std", "var", "median", "prod", "any", "all", "numel",
    "size", "tensor", "loss", "cross_entropy", "mse_loss", "nll_loss", "l1_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "kl_div", "smooth_l1_loss", "ones", "zeros", "full", "t", "T", "bincount",
    "histc", "len", "count_nonzero", "shape",
})  # fmt: skip
