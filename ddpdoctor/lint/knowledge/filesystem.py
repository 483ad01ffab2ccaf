"""Functions and methods that take a path: what they do with it, and which argument it is. One row each.

Read from Python 3.13, torch 2.13, torchvision 0.22, numpy 2.3, safetensors 0.7, joblib 1.5, transformers 5.23.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from ddpdoctor.model.named_tuple import NamedTuple


class Use(Enum):
    """What a call does with a path."""

    #: tests whether something exists
    ASKS = "asks"
    WRITES_FILE = "writes"
    MAKES_FOLDER = "makes"
    #: fills a folder: downloads, unpacks, saves a model
    FILLS = "fills"
    #: moves or copies a file to this path
    MOVES = "moves"
    REMOVES = "removes"
    READS = "reads"
    LISTS = "lists"


class Entry(Enum):
    """What a test looks for or a call creates: creating a folder does not change the answer of `isfile`."""

    FILE = "file"
    FOLDER = "folder"
    ANYTHING = "anything"
    UNKNOWN = ""


class FileFunction(NamedTuple):
    """A row of the table."""

    use: Use
    #: position and name of the path argument; methods of a path have none
    position: int = 0
    name: str = ""
    entry: Entry = Entry.FILE
    #: what it writes is a result of the program: a checkpoint, an array, a model
    result: bool = False
    #: it writes files of any kind, also those that each rank keeps for itself
    plain: bool = False


#: uses that change whether something exists
CHANGES = frozenset({Use.WRITES_FILE, Use.MAKES_FOLDER, Use.FILLS, Use.MOVES, Use.REMOVES})
_FILE, _FOLDER, _ANYTHING = Entry.FILE, Entry.FOLDER, Entry.ANYTHING

#: function -> its use of the path
FUNCTIONS: dict[str, FileFunction] = {
    "os.path.exists": FileFunction(Use.ASKS, 0, "path", Entry.UNKNOWN),
    "os.path.lexists": FileFunction(Use.ASKS, 0, "path", Entry.UNKNOWN),
    "os.path.isfile": FileFunction(Use.ASKS, 0, "path", _FILE),
    "os.path.isdir": FileFunction(Use.ASKS, 0, "s", _FOLDER),
    "torch.save": FileFunction(Use.WRITES_FILE, 1, "f", result=True),
    "safetensors.torch.save_file": FileFunction(Use.WRITES_FILE, 1, "filename", result=True),
    "safetensors.torch.save_model": FileFunction(Use.WRITES_FILE, 1, "filename", result=True),
    "numpy.save": FileFunction(Use.WRITES_FILE, 0, "file", result=True, plain=True),
    "numpy.savez": FileFunction(Use.WRITES_FILE, 0, "file", result=True, plain=True),
    "numpy.savez_compressed": FileFunction(Use.WRITES_FILE, 0, "file", result=True, plain=True),
    "numpy.savetxt": FileFunction(Use.WRITES_FILE, 0, "fname", result=True, plain=True),
    "joblib.dump": FileFunction(Use.WRITES_FILE, 1, "filename", result=True, plain=True),
    "omegaconf.OmegaConf.save": FileFunction(Use.WRITES_FILE, 1, "f", result=True, plain=True),
    "logging.FileHandler": FileFunction(Use.WRITES_FILE, 0, "filename"),
    "shutil.copy": FileFunction(Use.WRITES_FILE, 1, "dst", result=True, plain=True),
    "shutil.copy2": FileFunction(Use.WRITES_FILE, 1, "dst", result=True, plain=True),
    "shutil.copyfile": FileFunction(Use.WRITES_FILE, 1, "dst", result=True, plain=True),
    "urllib.request.urlretrieve": FileFunction(Use.WRITES_FILE, 1, "filename"),
    "torch.hub.download_url_to_file": FileFunction(Use.WRITES_FILE, 1, "dst"),
    "os.makedirs": FileFunction(Use.MAKES_FOLDER, 0, "name", _FOLDER),
    "os.mkdir": FileFunction(Use.MAKES_FOLDER, 0, "path", _FOLDER),
    "shutil.copytree": FileFunction(Use.FILLS, 1, "dst", _FOLDER),
    "shutil.unpack_archive": FileFunction(Use.FILLS, 1, "extract_dir", _FOLDER),
    "torchvision.datasets.utils.download_url": FileFunction(Use.FILLS, 1, "root", _FOLDER),
    "torchvision.datasets.utils.download_and_extract_archive": FileFunction(Use.FILLS, 1, "download_root", _FOLDER),
    "shutil.move": FileFunction(Use.MOVES, 1, "dst", _ANYTHING),
    "os.rename": FileFunction(Use.MOVES, 1, "dst", _ANYTHING),
    "os.replace": FileFunction(Use.MOVES, 1, "dst", _ANYTHING),
    "os.symlink": FileFunction(Use.MOVES, 1, "dst", _ANYTHING),
    "os.remove": FileFunction(Use.REMOVES, 0, "path"),
    "os.unlink": FileFunction(Use.REMOVES, 0, "path"),
    "shutil.rmtree": FileFunction(Use.REMOVES, 0, "path", _FOLDER),
    "torch.load": FileFunction(Use.READS, 0, "f"),
    "torch.jit.load": FileFunction(Use.READS, 0, "f"),
    "safetensors.torch.load_file": FileFunction(Use.READS, 0, "filename"),
    "joblib.load": FileFunction(Use.READS, 0, "filename"),
    "numpy.load": FileFunction(Use.READS, 0, "file"),
    "numpy.loadtxt": FileFunction(Use.READS, 0, "fname"),
    "numpy.genfromtxt": FileFunction(Use.READS, 0, "fname"),
    "numpy.fromfile": FileFunction(Use.READS, 0, "file"),
    "PIL.Image.open": FileFunction(Use.READS, 0, "fp"),
    "datasets.load_from_disk": FileFunction(Use.READS, 0, "dataset_path", _FOLDER),
    "os.listdir": FileFunction(Use.LISTS, 0, "path", _FOLDER),
    "os.scandir": FileFunction(Use.LISTS, 0, "path", _FOLDER),
}
#: functions whose results have a method `save`
SAVE_THEMSELVES = frozenset({"torch.jit.script", "torch.jit.trace", "torch.jit.freeze"})
#: functions that list what is in a folder
LISTING = frozenset({"glob.glob", "glob.iglob", "os.listdir", "os.scandir"})
#: downloads that write to another name first, or under a lock
DOWNLOADED_SAFELY = frozenset({
    "torch.hub.load_state_dict_from_url", "torch.hub.download_url_to_file", "torch.hub._download_url_to_file",
    "huggingface_hub.hf_hub_download", "huggingface_hub.snapshot_download", "gdown.download", "gdown.cached_download",
})  # fmt: skip
#: the module of torchvision's data sets: with `download=True` most fill the folder that they are given, if the data is
#: not there, and directly under the final names
DATA_SETS = "torchvision.datasets."
#: families of functions with one row, by the beginning or end of their names
_BEGINNINGS = {"pandas.read_": FileFunction(Use.READS, 0, "filepath_or_buffer")}
_ENDINGS = {".from_pretrained": FileFunction(Use.READS, 0, "pretrained_model_name_or_path", _FOLDER)}
#: opens a file; its mode decides the use
OPEN = "builtins.open"
#: methods of path objects
OF_PATHS: dict[str, FileFunction] = {
    "exists": FileFunction(Use.ASKS, entry=Entry.UNKNOWN),
    "is_file": FileFunction(Use.ASKS, entry=_FILE),
    "is_dir": FileFunction(Use.ASKS, entry=_FOLDER),
    "touch": FileFunction(Use.WRITES_FILE),
    "write_text": FileFunction(Use.WRITES_FILE),
    "write_bytes": FileFunction(Use.WRITES_FILE),
    "mkdir": FileFunction(Use.MAKES_FOLDER, entry=_FOLDER),
    "symlink_to": FileFunction(Use.MOVES, entry=_ANYTHING),
    "unlink": FileFunction(Use.REMOVES),
    "read_text": FileFunction(Use.READS),
    "read_bytes": FileFunction(Use.READS),
    "iterdir": FileFunction(Use.LISTS, entry=_FOLDER),
}
#: methods of objects whose first argument is the path
OF_OBJECTS: dict[str, FileFunction] = {
    "save_pretrained": FileFunction(Use.FILLS, 0, "save_directory", _FOLDER, result=True),
    "save_to_disk": FileFunction(Use.FILLS, 0, "dataset_path", _FOLDER),
    "extractall": FileFunction(Use.FILLS, 0, "path", _FOLDER),
    "to_csv": FileFunction(Use.WRITES_FILE, 0, "path_or_buf"),
    "to_parquet": FileFunction(Use.WRITES_FILE, 0, "path"),
    "from_pretrained": FileFunction(Use.READS, 0, "pretrained_model_name_or_path", _FOLDER),
    "rename": FileFunction(Use.MOVES, 0, "target", _ANYTHING),
    "replace": FileFunction(Use.MOVES, 0, "target", _ANYTHING),
}
#: folders that each machine has for itself: on its own disk, or in its memory
NODE_FOLDERS = (("/", "tmp"), ("/", "var", "tmp"), ("/", "dev", "shm"))
#: variables that name such a folder: those of POSIX and Python's tempfile, of Slurm's clusters, LSF and PBS
NODE_VARIABLES = frozenset({
    "TMPDIR", "TEMP", "TMP", "SLURM_TMPDIR", "LOCAL_SCRATCH", "LOCALSCRATCH", "LSCRATCH", "NODE_LOCAL_DIR", "PBS_JOBFS",
})  # fmt: skip
#: functions that give such a folder
NODE_CALLS = frozenset({"tempfile.gettempdir"})
#: functions that write a result of the program
RESULTS = {path: row for path, row in FUNCTIONS.items() if row.result}


@lru_cache(maxsize=1 << 12)
def function(path: str) -> FileFunction | None:
    """The row of a function."""
    row = FUNCTIONS.get(path)
    if row is None:
        row = next((r for text, r in _BEGINNINGS.items() if path.startswith(text)), None)
    return row or next((r for text, r in _ENDINGS.items() if path.endswith(text)), None)
