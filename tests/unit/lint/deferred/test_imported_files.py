"""Which files of a project a program imports, by the names of the files."""

from __future__ import annotations

import pytest

from ddpdoctor.lint.deferred.imported_files import ImportedFiles

FILES = {
    "/p/train.py": "from nets import net\nimport tools.clock\n",
    "/p/nets/__init__.py": "",
    "/p/nets/net.py": "from . import parts\nfrom ..other import more\n",
    "/p/nets/parts.py": "",
    "/p/tools/clock.py": "import os\n",
    "/p/far/tools/clock.py": "",
    "/p/far/parts.py": "",
    "/p/lost.py": "from importlib import import_module\nimport_module(name)\n",
    "/p/named.py": "from importlib import import_module\nimport_module('tools.clock')\nrun_path('lost_too.py')\n",
    "/p/broken.py": "def f(:\n",
    "/p/asks.py": "import lost\n",
    "/p/needs.py": "import broken\n",
}
TEXTS = {path: text.encode() for path, text in FILES.items()}


def test_what_is_imported_is_the_file_that_is_seen_from_there() -> None:
    reached = {"/p/train.py", "/p/nets/__init__.py", "/p/nets/net.py", "/p/nets/parts.py", "/p/tools/clock.py"}
    assert ImportedFiles(TEXTS).of("/p/train.py") == reached


def test_a_module_that_a_call_names() -> None:
    assert ImportedFiles(TEXTS).of("/p/named.py") == {"/p/named.py", "/p/tools/clock.py"}


@pytest.mark.parametrize("program", ["/p/gone.py", "/p/lost.py", "/p/asks.py", "/p/needs.py"])
def test_where_it_cannot_be_told(program: str) -> None:
    assert ImportedFiles(TEXTS).of(program) is None


def test_what_lies_inside_of_a_package_is_no_module_of_its_own_name() -> None:
    files = {
        "/p/train.py": "import datasets\nimport alone\n",
        "/p/copy/det/__init__.py": "",
        "/p/copy/det/data/__init__.py": "",
        "/p/copy/det/data/datasets/__init__.py": "",
        "/p/copy/det/data/loading.py": "from .datasets import coco\nfrom ..data import datasets\n",
        "/p/copy/alone.py": "",
    }
    texts = {path: text.encode() for path, text in files.items()}
    assert ImportedFiles(texts).of("/p/train.py") == {"/p/train.py", "/p/copy/alone.py"}
    inside = {"/p/copy/det/data/loading.py", "/p/copy/det/data/__init__.py", "/p/copy/det/data/datasets/__init__.py"}
    assert ImportedFiles(texts).of("/p/copy/det/data/loading.py") == inside
    # a program that says where modules are searched may find it there
    texts["/p/train.py"] += b"import sys\nsys.path.append('copy/det/data')\n"
    assert "/p/copy/det/data/datasets/__init__.py" in (ImportedFiles(texts).of("/p/train.py") or ())
