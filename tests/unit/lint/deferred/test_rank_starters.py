"""Which files use one, by the words in them."""

from __future__ import annotations

import pytest

from ddpdoctor.lint.deferred.imported_files import ImportedFiles
from ddpdoctor.lint.deferred.rank_starters import RankStarters

TEXTS = {
    "/p/nets.py": b"import os\n",
    "/p/train.py": b"from nets import net  # as in old_train.py\n",
    "/p/sweep.py": b'subprocess.run(["python", "train.py"])\n',
    "/p/train_all.py": b"import nets_more\nnets = 1\n",
    "/p/run-all.py": b"import os\n",
    "/p/nightly.py": b'system("python run-all.py")\n',
    "/p/far.py": b"# python my-run-all.pyc\n",
}


@pytest.mark.parametrize(
    ("path", "users"),
    [
        ("/p/nets.py", {"/p/train.py", "/p/sweep.py"}),
        ("/p/train.py", {"/p/sweep.py"}),
        ("/p/run-all.py", {"/p/nightly.py"}),
        ("/p/train_all.py", set()),
    ],
)
def test_the_users_of_a_file_import_it_or_name_it_as_a_program(path: str, users: set[str]) -> None:
    assert RankStarters(TEXTS, ImportedFiles(TEXTS), lambda _: []).users_of(path) == users
