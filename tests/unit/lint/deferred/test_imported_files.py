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
    "/p/broken.py": "def f(:\n",
    "/p/asks.py": "import lost\n",
    "/p/needs.py": "import broken\n",
}
TEXTS = {path: text.encode() for path, text in FILES.items()}


def test_what_is_imported_is_the_file_that_is_seen_from_there() -> None:
    reached = {"/p/train.py", "/p/nets/__init__.py", "/p/nets/net.py", "/p/nets/parts.py", "/p/tools/clock.py"}
    assert ImportedFiles(TEXTS).of("/p/train.py") == reached


@pytest.mark.parametrize("program", ["/p/gone.py", "/p/lost.py", "/p/asks.py", "/p/needs.py"])
def test_where_it_cannot_be_told(program: str) -> None:
    assert ImportedFiles(TEXTS).of(program) is None
