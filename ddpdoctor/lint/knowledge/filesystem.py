"""Functions and methods that ask for, make, change or remove files."""

from __future__ import annotations

import re
from functools import lru_cache

#: questions, and what is asked for: a folder that is made does not change the answer of `isfile`
ASKS = {"os.path.exists": "", "os.path.lexists": "", "os.path.isfile": "file", "os.path.isdir": "folder"}
ASKING = {"exists": "", "is_file": "file", "is_dir": "folder"}
FOLDERS = frozenset({"mkdir", "makedirs", "copytree", "rmtree"})
ANYTHING = frozenset({"rename", "replace", "move", "symlink_to"})
#: functions that make, change or remove a file: the position of its path
WRITES = {
    "torch.save": 1, "builtins.open": 0, "os.makedirs": 0, "os.mkdir": 0, "os.rename": 1, "os.replace": 1,
    "os.remove": 0, "os.unlink": 0, "shutil.copy": 1, "shutil.copyfile": 1, "shutil.copytree": 1, "shutil.move": 1,
    "shutil.rmtree": 0, "numpy.save": 0, "numpy.savez": 0, "safetensors.torch.save_file": 1,
}  # fmt: skip
#: methods of a path, and methods whose argument is the new path
WRITING = frozenset({"touch", "write_text", "write_bytes", "mkdir", "unlink", "symlink_to"})
MOVING = frozenset({"rename", "replace"})
#: other functions that are given the path: what their names promise
_MAKES = re.compile(
    r"^_?(save|write|dump|build|make|create|download|fetch|extract|prepare|preprocess|generate|export|process|store|tar"
    r"|unzip|untar|tokenize|retrieve|urlretrieve|to_(csv|json|parquet|pickle))",
    re.IGNORECASE,
)


@lru_cache(maxsize=1 << 12)
def makes(name: str) -> bool:
    return _MAKES.search(name) is not None
