"""Whether a file is code of the standard library, of a library, or of the job that runs it. Pure.

The folder alone does not tell. Trainers are pip-installed and started with `python -m mytrainer.train`, and then all
user code is in site-packages; so is a package of the user's that two projects share. Paths also come from evidence of
other machines, so neither this interpreter nor this disk is asked. The criteria, in this order:

1. *The standard library* is recognised by the form of its path (`lib/python3.11/`, `python311.zip/`, `<frozen ...>`)
   and by the names of its modules.
2. *A library* is an installed package that is in the table below. It can be the innermost frame of every call of
   a job without saying anything about that job.
3. *The project* is everything outside the folders that installers write to: scripts, checkouts, editable
   installs. A package that is developed in place is the user's own, even if its name is in the table.
4. *An installed package that is not in the table* may be the trainer or one more library; its path cannot tell.
   It is the job's own if the job runs it: if it contains the outermost frame of a main thread that belongs neither
   to the standard library nor to a known library (`own_packages`). If not, the job only uses it, and its lines
   are passed over like a library's.

Point 4 errs for a thin script that calls an installed trainer which is not in the table: the script's line is reported,
not the trainer's. The opposite choice would report the one line of a thin wrapper through which all of a job's
collectives go, and two calls on one line cannot be distinguished.

Workers may have no ddpdoctor, so the probe carries a copy of this file, probe/libraries.py; a test keeps both equal.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

# Installed packages by import name. To add one, add a line.

#: torch and the packages that are built and shipped with it
TORCH = (
    "torch",
    "functorch",
    "torchgen",
    "triton",
    "pytorch_triton",
    "torchvision",
    "torchaudio",
    "torchtext",
    "torchdata",
    "torchmetrics",
    "torchao",
    "torchrec",
    "torch_xla",
    "torch_tensorrt",
    "torch_geometric",
    "torch_scatter",
    "torch_sparse",
    "torch_cluster",
    "torch_mlu",
    "torch_npu",
    "intel_extension_for_pytorch",
    "oneccl_bindings_for_pytorch",
    "habana_frameworks",
    "torchelastic",
    "torchsnapshot",
    "tensordict",
    "torchrl",
    "botorch",
    "gpytorch",
    "pytorch_optimizer",
)
#: frameworks that drive a training loop or wrap its parts
FRAMEWORKS = (
    "accelerate",
    "lightning",
    "lightning_fabric",
    "lightning_utilities",
    "pytorch_lightning",
    "litdata",
    "ignite",
    "transformers",
    "diffusers",
    "peft",
    "trl",
    "datasets",
    "evaluate",
    "tokenizers",
    "safetensors",
    "huggingface_hub",
    "sentence_transformers",
    "optimum",
    "setfit",
    "deepspeed",
    "fairscale",
    "colossalai",
    "bagua",
    "horovod",
    "byteps",
    "megatron",
    "transformer_engine",
    "apex",
    "composer",
    "streaming",
    "llmfoundry",
    "fastai",
    "catalyst",
    "skorch",
    "poutyne",
    "mmengine",
    "mmcv",
    "detectron2",
    "fvcore",
    "iopath",
    "timm",
    "kornia",
    "monai",
    "open_clip",
    "flash_attn",
    "xformers",
    "bitsandbytes",
    "vllm",
    "deep_gemm",
    "liger_kernel",
    "unsloth",
    "unsloth_zoo",
    "ray",
    "sagemaker",
    "smdistributed",
    "smddp",
    "smp",
    "nvidia_resiliency_ext",
    "torchft",
    "megablocks",
)
#: readers of data and of storage
DATA = (
    "webdataset",
    "nvidia",
    "ffcv",
    "squirrel",
    "petastorm",
    "pyarrow",
    "polars",
    "pandas",
    "dask",
    "h5py",
    "zarr",
    "lmdb",
    "tables",
    "fsspec",
    "s3fs",
    "gcsfs",
    "adlfs",
    "s3torchconnector",
    "boto3",
    "botocore",
    "s3transfer",
    "google",
    "smart_open",
    "cv2",
    "PIL",
    "imageio",
    "skimage",
    "albumentations",
    "imgaug",
    "decord",
    "av",
    "torchcodec",
    "soundfile",
    "librosa",
    "sentencepiece",
    "tiktoken",
    "nltk",
    "spacy",
)
#: numerics
SCIENCE = (
    "numpy",
    "scipy",
    "sklearn",
    "numba",
    "llvmlite",
    "cupy",
    "cupyx",
    "cudf",
    "jax",
    "jaxlib",
    "flax",
    "tensorflow",
    "tensorboard",
    "keras",
    "onnx",
    "onnxruntime",
    "sympy",
    "mpmath",
    "networkx",
    "matplotlib",
    "seaborn",
    "xgboost",
    "lightgbm",
    "einops",
    "opt_einsum",
    "statsmodels",
)
#: trackers of experiments and progress
TRACKING = (
    "wandb",
    "mlflow",
    "comet_ml",
    "neptune",
    "clearml",
    "aim",
    "tensorboardX",
    "tensorboard_data_server",
    "visdom",
    "tqdm",
    "rich",
    "loguru",
    "structlog",
    "sentry_sdk",
    "ddtrace",
    "opentelemetry",
    "prometheus_client",
    "psutil",
    "pynvml",
    "gpustat",
    "codecarbon",
)
#: command lines and configuration
CONFIGURATION = (
    "hydra",
    "omegaconf",
    "click",
    "fire",
    "typer",
    "absl",
    "jsonargparse",
    "simple_parsing",
    "tyro",
    "yacs",
    "ml_collections",
    "gin",
    "pydantic",
    "pydantic_core",
    "attr",
    "attrs",
    "cattrs",
    "yaml",
    "ruamel",
    "toml",
    "tomli",
    "docstring_parser",
    "docopt",
    "dotenv",
)
#: programs that start, debug or test other programs
LAUNCHERS = (
    "torchrun",
    "submitit",
    "mpi4py",
    "dask_jobqueue",
    "skypilot",
    "sky",
    "kubernetes",
    "skein",
    "invoke",
    "gunicorn",
    "uvicorn",
    "IPython",
    "ipykernel",
    "ipykernel_launcher",
    "jupyter_client",
    "jupyter_core",
    "notebook",
    "papermill",
    "nbclient",
    "traitlets",
    "debugpy",
    "pydevd",
    "pydevd_plugins",
    "_pydevd_bundle",
    "_pydev_bundle",
    "pudb",
    "ipdb",
    "pdbpp",
    "coverage",
    "viztracer",
    "line_profiler",
    "memory_profiler",
    "scalene",
    "pyinstrument",
    "py_spy",
    "_pytest",
    "pytest",
    "pluggy",
    "xdist",
    "execnet",
    "hypothesis",
    "nose",
)
#: networks, remote calls, key-value stores
NETWORK = (
    "requests",
    "urllib3",
    "httpx",
    "httpcore",
    "aiohttp",
    "aiobotocore",
    "websockets",
    "grpc",
    "etcd3",
    "etcd",
    "redis",
    "zmq",
    "kazoo",
    "paramiko",
    "fabric",
    "pika",
    "kafka",
    "pymongo",
    "sqlalchemy",
    "psycopg2",
    "pymysql",
    "tornado",
    "flask",
    "fastapi",
    "starlette",
    "werkzeug",
    "twisted",
    "thrift",
)
#: threads, processes, locks
CONCURRENCY = (
    "joblib",
    "loky",
    "cloudpickle",
    "dill",
    "multiprocess",
    "pathos",
    "billiard",
    "anyio",
    "trio",
    "gevent",
    "greenlet",
    "eventlet",
    "uvloop",
    "filelock",
    "portalocker",
    "fasteners",
    "lockfile",
    "zc",
    "tenacity",
    "retrying",
    "retry",
    "backoff",
    "watchdog",
)
#: packaging and basic language support
BASICS = (
    "pip",
    "setuptools",
    "pkg_resources",
    "wheel",
    "packaging",
    "_distutils_hack",
    "distutils",
    "importlib_metadata",
    "importlib_resources",
    "zipp",
    "typing_extensions",
    "mypy_extensions",
    "six",
    "future",
    "past",
    "builtins",
    "decorator",
    "wrapt",
    "deprecated",
    "toolz",
    "cytoolz",
    "more_itertools",
    "sortedcontainers",
    "regex",
    "ujson",
    "orjson",
    "simplejson",
    "msgpack",
    "charset_normalizer",
    "chardet",
    "idna",
    "certifi",
    "jinja2",
    "markupsafe",
    "pygments",
    "cffi",
    "cython",
    "Cython",
    "pybind11",
    "numexpr",
    "dateutil",
    "pytz",
    "tzlocal",
    "psycopg",
    "jsonschema",
    "lazy_loader",
    "beartype",
    "typeguard",
    "jaxtyping",
    "plum",
    "multipledispatch",
    "colorama",
    "termcolor",
    "tabulate",
)
#: every library in the table
KNOWN = frozenset(
    (*TORCH, *FRAMEWORKS, *DATA, *SCIENCE, *TRACKING, *CONFIGURATION, *LAUNCHERS, *NETWORK, *CONCURRENCY, *BASICS)
)
#: modules of the standard library that have a Python file, in CPython 3.8 to 3.14 (sys.stdlib_module_names of each)
STANDARD_LIBRARY = frozenset(
    """
    __future__ _aix_support _android_support _apple_support _bootsubprocess _collections_abc _colorize
    _compat_pickle _compression _dummy_thread _dummy_threading _ios_support _markupbase _opcode_metadata
    _osx_support _py_abc _py_warnings _pydatetime _pydecimal _pyio _pylong _pyrepl _sitebuiltins _strptime
    _sysconfigdata _threading_local _weakrefset abc aifc annotationlib antigravity argparse ast asynchat asyncio
    asyncore base64 bdb binhex bisect bz2 cProfile calendar cgi cgitb chunk cmd code codecs codeop collections
    colorsys compileall compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes
    curses dataclasses datetime dbm decimal difflib dis distutils doctest dummy_threading email encodings
    ensurepip enum filecmp fileinput fnmatch formatter fractions ftplib functools genericpath getopt getpass
    gettext glob graphlib gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io
    ipaddress json keyword lib2to3 linecache locale logging lzma macpath mailbox mailcap mimetypes modulefinder
    multiprocessing netrc nntplib ntpath nturl2path numbers opcode operator optparse os parser pathlib pdb pickle
    pickletools pipes pkgutil platform plistlib poplib posixpath pprint profile pstats pty py_compile pyclbr pydoc
    pydoc_data queue quopri random re reprlib rlcompleter runpy sched secrets selectors shelve shlex shutil signal
    site sitecustomize smtpd smtplib sndhdr socket socketserver sqlite3 sre_compile sre_constants sre_parse ssl
    stat statistics string stringprep struct subprocess sunau symbol symtable sysconfig tabnanny tarfile telnetlib
    tempfile test textwrap this threading timeit tkinter token tokenize tomllib trace traceback tracemalloc tty
    turtle turtledemo types typing unittest urllib usercustomize uu uuid venv warnings wave weakref webbrowser
    wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zoneinfo
    """.split()  # noqa: SIM905 - a list of names reads better so
)
#: entries of torch's folder `torch` (1.13 to 2.13). A checkout of torch that is built in place is not in a folder of
#: installed packages, and `~/torch/train.py` is a user's own file
_IN_TORCH = frozenset(
    """
    _VF _appdirs _awaits _C _classes _compile _custom_op _custom_ops _decomp _deploy _dispatch _dynamo
    _environment _export _functorch _guards _higher_order_ops _inductor _jit_internal _lazy _library _linalg_utils
    _lobpcg _logging _lowrank _meta_registrations _native _numpy _namedtensor_internals _opaque_base _ops _prims
    _prims_common _python_dispatcher _refs _size_docs _six _sources _storage_docs _streambase _strobelight
    _subclasses _tensor _tensor_docs _tensor_iterator _tensor_str _thread_safe_fork _torch_docs _utils
    _utils_internal _vendor _vmap_internals _weights_only_unpickler __config__ __future__ __init__ accelerator amp
    ao autograd backends compiler contrib cpu csrc cuda distributed distributions export fft func functional
    futures fx hub jit library linalg masked monitor mps mtia multiprocessing nativert nested nn numa onnx optim
    overrides package profiler quantization quasirandom random return_types serialization signal sparse special
    storage testing torch_version types utils version xpu
    """.split()  # noqa: SIM905 - a list of names reads better so
)

#: folders that pip and Debian's apt install packages to
FOLDERS = ("site-packages", "dist-packages")
#: the same, with those of pex and Bazel (an unpacked wheel) and of old setuptools
_INSTALLED = re.compile(r"/(?:site|dist)-packages/|\.whl/|\.egg/")
#: `lib/python3.11/`, `lib64/python3.13t/`, Debian's `lib/python3/`, `lib/pypy3.10/`, `python311.zip/`, `Python311/Lib/`
_STANDARD = re.compile(
    r"/(?:lib(?:64)?/(?:python|pypy)3(?:\.\d+)?t?|python3\d+\.zip|[Pp]ython[^/]*/Lib)/(?:lib-dynload/)?(?P<module>\w+)"
)
#: files that torch and triton write and run: compiled graphs, kernels
_GENERATED = re.compile(r"/torchinductor_[^/]+/|/\.triton/cache/|<eval_with_key>")
#: a torch outside the folders of installed packages
_TORCH = re.compile(r"/torch/(?P<entry>\w+)")
_PROBE = "/ddpdoctor/probe/"
#: a script that pip generates for an entry point: without a suffix, it only calls a package
_SCRIPT = re.compile(r"/(?:bin|Scripts)/[^/.]+$|\.exe/__main__\.py$")


class Kind(Enum):
    """What kind of code a file is, judged by its path alone."""

    STANDARD_LIBRARY = "standard library"
    #: a package in the table, or the probe
    LIBRARY = "library"
    #: an installed package that is not in the table
    INSTALLED = "installed"
    #: outside every folder of installed packages
    PROJECT = "project"


class Origin(NamedTuple):
    """The kind of a file, and its package if it is installed: "" for the project and the standard library."""

    kind: Kind
    package: str


_STANDARD_ORIGIN = Origin(Kind.STANDARD_LIBRARY, "")
_TORCH_ORIGIN = Origin(Kind.LIBRARY, "torch")
_PROBE_ORIGIN = Origin(Kind.LIBRARY, "ddpdoctor")
_PROJECT_ORIGIN = Origin(Kind.PROJECT, "")


@functools.lru_cache(maxsize=8192)
def origin(file: str) -> Origin:
    """The origin of the file at this path: a path of any machine, absolute or shortened by a debugger.

    `<string>` and the like have no file and count as the project's, because the project ran them.
    """
    if file.startswith("<frozen "):
        return _STANDARD_ORIGIN
    path = "/" + file.replace("\\", "/")
    if _GENERATED.search(path):
        return _TORCH_ORIGIN
    if _PROBE in path:
        return _PROBE_ORIGIN
    if folders := list(_INSTALLED.finditer(path)):
        package = path[folders[-1].end() :].partition("/")[0].partition(".")[0]
        return Origin(Kind.LIBRARY if package in KNOWN else Kind.INSTALLED, package)
    standard = _STANDARD.search(path)
    if standard is not None and standard["module"] in STANDARD_LIBRARY:
        return _STANDARD_ORIGIN
    if any(found["entry"] in _IN_TORCH for found in _TORCH.finditer(path)):
        return _TORCH_ORIGIN
    return _PROJECT_ORIGIN


def own_packages(stacks: Iterable[Iterable[str]]) -> frozenset[str]:
    """Installed packages that a job runs rather than uses. `stacks`: the files of its main threads, innermost first."""
    return frozenset(package for files in stacks for package in _run_by(files))


def _run_by(files: Iterable[str]) -> Iterable[str]:
    """The package of the outermost file that belongs neither to the standard library nor to a known library."""
    for file in reversed(tuple(files)):
        kind, package = origin(file)
        if kind is Kind.INSTALLED:
            yield package
        # a script that an installer made only calls a package: the next frame shows which
        if kind is Kind.INSTALLED or (kind is Kind.PROJECT and not _hands_over(file)):
            return


def _hands_over(file: str) -> bool:
    return file.startswith("<") or _SCRIPT.search("/" + file.replace("\\", "/")) is not None


def is_own(file: str, own: frozenset[str]) -> bool:
    """Whether the file is the job's own code; `own`: the installed packages that it runs."""
    kind, package = origin(file)
    return kind is Kind.PROJECT or (kind is Kind.INSTALLED and package in own)
