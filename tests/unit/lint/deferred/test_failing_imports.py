"""An import that fails whatever is installed is found as one; one that may succeed is not."""

from __future__ import annotations

import posixpath

import pytest

from ddpdoctor.lint.deferred.failing_imports import FailingImports


def fails(files: dict[str, str], *others: str) -> tuple[str, int, str] | None:
    """Where an import fails when the first file is run, and why; `others` are files that are not Python."""

    def holds(folder: str, name: str) -> bool:
        around = (path for path in ("/" + path for path in (*files, *others)) if path.startswith(f"{folder}/"))
        return any(path[len(folder) + 1 :].split("/")[0].partition(".")[0] == name for path in around)

    texts = {f"/{path}": text.encode() for path, text in files.items()}
    found = FailingImports(texts, holds, lambda name: holds("/around", name), lambda name: holds("/told", name)).first(
        next(iter(texts))
    )
    return (posixpath.basename(found.path), found.line, found.said) if found is not None else None


PROGRAM = 'if __name__ == "__main__":\n    main()\n'
CONFLICT = "<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> other\n"
CALLS = "def build(): ...\n"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"r/a.py": f"from model import net\n{PROGRAM}", "r/model/__init__.py": ""}, ("a.py", 1, "model has no net")),
        ({"r/a.py": f"import model.net\n{PROGRAM}", "r/model/__init__.py": ""}, ("a.py", 1, "model has no module net")),
        ({"r/a.py": f"from data import load\n{PROGRAM}", "r/data.py": CALLS}, ("a.py", 1, "data has no load")),
        # of a module that is no program, what its own package has
        ({"r/p/a.py": "from . import b", "r/p/__init__.py": ""}, ("a.py", 1, "p has no b")),
        ({"r/p/a.py": "from .b import c", "r/p/__init__.py": ""}, ("a.py", 1, "p has no module b")),
        ({"r/p/q/a.py": "from ..b import c", "r/p/__init__.py": "", "r/p/q/__init__.py": ""},
         ("a.py", 1, "p has no module b")),
        ({"r/p/q/a.py": "import p.b", "r/p/__init__.py": "", "r/p/q/__init__.py": ""},
         ("a.py", 1, "p has no module b")),
        # further on, and of a package whose statements run on the way
        ({"r/a.py": f"import b\n{PROGRAM}", "r/b.py": "\nimport c", "r/c.py": "from b import no"},
         ("c.py", 1, "b has no no")),
        ({"r/a.py": f"import p.b\n{PROGRAM}", "r/p/__init__.py": "from .c import x", "r/p/b.py": ""},
         ("__init__.py", 1, "p has no module c")),
        # of what imports all names of others that are in sight
        ({"r/a.py": f"from p import no\n{PROGRAM}", "r/p/__init__.py": "from .b import *", "r/p/b.py": CALLS},
         ("a.py", 1, "p has no no")),
        ({"r/a.py": f"from p import no\n{PROGRAM}", "r/p/__init__.py": "from .b import *",
          "r/p/b.py": "from . import *"}, ("a.py", 1, "p has no no")),
        # of the only package of the name, which a program of another folder puts into the path of modules
        ({"r/examples/a.py": f"from p import no\n{PROGRAM}", "r/p/__init__.py": ""}, ("a.py", 1, "p has no no")),
        # of a folder beside the program that is no package
        ({"r/a.py": f"from model.net import Net\n{PROGRAM}", "r/model/other.py": ""},
         ("a.py", 1, "model has no module net")),
        ({"r/a.py": f"import model.net.part\n{PROGRAM}", "r/model/net/other.py": "", "r/model/b.py": ""},
         ("a.py", 1, "net has no module part")),
        ({"r/a.py": f"from parts.net import Net\n{PROGRAM}", "r/parts/nets/other.py": ""},
         ("a.py", 1, "parts has no module net")),
        ({"r/a.py": f"from model.net import No\n{PROGRAM}", "r/model/net.py": CALLS}, ("a.py", 1, "net has no No")),
        # of names that only projects have, wherever they are
        ({"r/a.py": f"from utils.logs import show\n{PROGRAM}"}, ("a.py", 1, "the repository has no utils")),
        ({"r/a.py": f"import models_mae\n{PROGRAM}"}, ("a.py", 1, "the repository has no models_mae")),
        ({"r/a.py": f"from pair_losses import one\n{PROGRAM}"}, ("a.py", 1, "the repository has no pair_losses")),
        ({"r/a.py": f"import vits_bak\n{PROGRAM}", "r/vits.py": ""}, ("a.py", 1, "the repository has no vits_bak")),
        ({"r/a.py": f"from src.utils import b\n{PROGRAM}", "r/src/utils/__init__.py": "",
          "r/src/__init__.py": "", "r/src/utils/b.py": "from utils import no"}, ("b.py", 1, "utils has no no")),
        # out of the program's own folder
        ({"r/a.py": f"from model import net\n{PROGRAM}", "r/model/__init__.py": "",
          "r/model/net.py": "from ..parts import part", "r/parts.py": ""},
         ("net.py", 1, "a relative import leads out of the package")),
        # in a program that only its path can name
        ({"r/p/a.old.py": f"from .b import c\n{PROGRAM}", "r/p/__init__.py": "", "r/p/b.py": "c = 1"},
         ("a.old.py", 1, "a relative import in a program that no package can have as a module, for the dot in its "
          "name")),
        # what no Python 3 parses
        ({"r/a.py": f"import b\n{PROGRAM}", "r/b.py": f"\n{CONFLICT}"},
         ("b.py", 2, "b.py holds a merge that was not decided")),
        ({"r/a.py": f"import b\n{PROGRAM}", "r/b.py": 'x = 1\nprint "x"\n'},
         ("b.py", 2, "b.py is written for Python 2")),
    ],
)  # fmt: skip
def test_what_the_project_does_not_have(files: dict[str, str], told: tuple[str, int, str]) -> None:
    assert fails(files) == told


@pytest.mark.parametrize(
    "files",
    [
        {"r/a.py": f"from model import net\n{PROGRAM}", "r/model/__init__.py": "", "r/model/net.py": ""},
        {"r/a.py": f"from data import load\n{PROGRAM}", "r/data.py": "if x:\n    def load(): ...\n"},
        {"r/a.py": f"from data import load\n{PROGRAM}", "r/data.py": "def f():\n    global load\n    load = 1\n"},
        # of a program that may be run as a module of its package, and of what is none
        {"r/p/a.py": f"from .b import c\n{PROGRAM}", "r/p/__init__.py": "", "r/p/b.py": "c = 1"},
        {"r/p/a.old.py": "from .b import c", "r/p/__init__.py": "", "r/p/b.py": "c = 1"},
        # what is installed, or may be
        {"r/a.py": f"import torch, numpy.linalg\n{PROGRAM}"},
        {"r/a.py": f"from datasets import load\n{PROGRAM}", "r/datasets/own.py": ""},
        {"r/a.py": f"from transformers import Trainer\n{PROGRAM}", "r/transformers/__init__.py": ""},
        {"r/p/a.py": "from tokenizers import load", "r/p/__init__.py": "", "r/p/tokenizers.py": ""},
        {"r/p/django/a.py": "import django.forms", "r/p/__init__.py": "", "r/p/django/__init__.py": ""},
        # a folder that is not beside it, or has one of its name elsewhere
        {"r/b/a.py": f"from parts.net import load\n{PROGRAM}", "r/parts/own.py": ""},
        {"r/a.py": f"from parts.net import load\n{PROGRAM}", "r/parts/own.py": "", "r/b/parts/net.py": ""},
        {"r/a.py": f"from model.net import Net\n{PROGRAM}", "r/model/net/part.py": ""},
        # a name of its own that lies elsewhere, or one that a library may have
        {"r/a.py": f"from utils.logs import show\n{PROGRAM}", "around/utils.py": ""},
        {"r/a.py": f"from utils.logs import show\n{PROGRAM}", "r/b/utils/logs.py": "show = 1"},
        {"r/a.py": f"from datasets.logs import show\n{PROGRAM}"},
        {"r/a.py": f"import models_mae\n{PROGRAM}", "told/models_mae.py": ""},
        {"r/a.py": f"import pair_distances\n{PROGRAM}"},
        {"r/a.py": f"import vits_bak\n{PROGRAM}"},
        {"r/a.py": f"import vits_bak\n{PROGRAM}", "r/vits.py": "", "told/vits_bak.py": ""},
        {"r/a.py": f"import vits_bak\n{PROGRAM}", "r/vits.py": "", "around/vits_bak.so": ""},
        {"r/a.py": f"import vits_extra\n{PROGRAM}", "r/vits.py": ""},
        # a program that is run as a module
        {"r/b/a.py": f"from .parts import part\nfrom ..c import d\n{PROGRAM}", "r/b/parts.py": "part = 1"},
        # run as a module of its package, it sees another folder
        {"r/p/a.py": f"from parts import load\n{PROGRAM}", "r/p/__init__.py": "", "r/p/parts.py": ""},
        # another folder has it, and may come first
        {"r/a.py": f"from data import load\n{PROGRAM}", "r/data.py": "", "r/src/data.py": "load = 1"},
        # on a condition, in what may go on, or later
        {"r/a.py": f"try:\n    from data import load\nexcept ImportError: ...\n{PROGRAM}", "r/data.py": ""},
        {"r/a.py": f"if x:\n    from data import load\n{PROGRAM}", "r/data.py": ""},
        {"r/a.py": f"def f():\n    from data import load\n{PROGRAM}", "r/data.py": ""},
        # names that no statement shows
        {"r/a.py": f"from data import load\n{PROGRAM}", "r/data.py": "from other import *"},
        {
            "r/a.py": f"from p import no\n{PROGRAM}",
            "r/p/__init__.py": "from .b import *",
            "r/p/b.py": "from c import *",
        },
        {"r/a.py": f"from p import no\n{PROGRAM}", "r/p/__init__.py": "from .b import *", "r/p/b.py": "no = 1"},
        {"r/a.py": f"from data import load\n{PROGRAM}", "r/data.py": "globals()['load'] = 1"},
        {"r/a.py": f"from data import load\n{PROGRAM}", "r/data.py": "def __getattr__(name): ..."},
        {"r/a.py": f"import p.b.c\n{PROGRAM}", "r/p/__init__.py": "__path__.append('x')"},
        {"r/examples/a.py": f"from p import no\n{PROGRAM}", "r/p/__init__.py": "", "r/x/p/__init__.py": ""},
        {"r/examples/a.py": f"from p import no\n{PROGRAM}", "r/x/__init__.py": "", "r/x/p/__init__.py": ""},
        # what a newer Python may parse
        {"r/a.py": f"import b\n{PROGRAM}", "r/b.py": "x = = 1"},
        # files that import each other
        {"r/a.py": f"import b\n{PROGRAM}", "r/b.py": "import c", "r/c.py": "import b"},
    ],
)
def test_what_may_be_there(files: dict[str, str]) -> None:
    assert fails(files) is None


def test_a_compiled_module_is_one() -> None:
    files = {"r/p/a.py": "from .ops import nms\nfrom . import ops", "r/p/__init__.py": ""}
    assert fails(files, "r/p/ops.cpython-311-x86_64-linux-gnu.so") is None
    assert fails(files) == ("a.py", 1, "p has no module ops")


@pytest.mark.parametrize("name", ["_C", "_version", "ops_cuda", "points_ext", "labels_pb2"])
def test_what_is_built_later_is_not_missing(name: str) -> None:
    files = {"r/p/a.py": f"from .{name} import nms\nfrom . import {name}", "r/p/__init__.py": ""}
    assert fails(files) is None
    assert fails({"r/p/a.py": "from .b import c", "r/p/__init__.py": f"{name} = 1"}) == ("a.py", 1, "p has no module b")


def test_what_a_setup_names_is_not_missing() -> None:
    files = {"r/p/a.py": "from .ops import nms\nfrom . import ops", "r/p/__init__.py": ""}
    assert fails({**files, "r/setup.py": 'setup(ext_modules=[Extension("p.ops", ["ops.pyx"])])'}) is None
    assert fails({**files, "r/setup.py": 'setup(name="stops")'}) == ("a.py", 1, "p has no module ops")
