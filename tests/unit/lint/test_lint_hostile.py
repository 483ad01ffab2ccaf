"""Files that cannot be parsed give one finding with a line, never a traceback."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ddpdoctor.lint import engine, registry
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings
from ddpdoctor.program import project

SETTINGS = Settings(registry.defaults())
HEAD = b"import torch.distributed as dist\n"


def _lint(path: Path) -> list[tuple[str, int]]:
    report = engine.lint([str(path)], SETTINGS)
    return [(f.code, f.line) for f in report.findings]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (HEAD + b"def f(:\n", [("DD199", 2)]),
        (HEAD + b"x = '\xe9'\n", [("DD199", 2)]),
        (b"# coding: latin-1\n" + HEAD + b"x = '\xe9'\n", []),
        (b"# coding: klingon\n" + HEAD, [("DD199", 1)]),
        (b"\xef\xbb\xbf" + HEAD, []),
        (HEAD + b"x = '\x00'\n", [("DD199", 2)]),
        (HEAD.replace(b"\n", b"\r\n") + b"dist.barrier()\r\n", []),
        (b"", []),
        (b"print 'python 2'\n", [("DD199", 1)]),
        (HEAD + b"x = " + b"(" * 150 + b")" * 150 + b"\n", None),
        (HEAD + b"x = " + b"-" * 5000 + b"1\n", None),
        (HEAD + b"x = " + b"[" * 95 + b"]" * 95 + b"\n", None),
        (HEAD + b"x = a" + b".b" * 3000 + b"\n", None),
        (HEAD + b"x = a" + b" + a" * 3000 + b"\n", None),
        (HEAD + b"x = f" + b"(1)" * 2000 + b"\n", None),
        (HEAD + b"".join(b" " * i + b"if x:\n" for i in range(99)) + b" " * 99 + b"dist.barrier()\n", None),
    ],
)
def test_hostile(raw: bytes, expected: list[tuple[str, int]] | None, tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_bytes(raw)
    found = _lint(path)
    if expected is not None:
        assert found == expected
    else:
        assert all(code == "DD199" for code, _ in found)
        assert len(found) <= 1


def test_what_nests_too_deeply_to_be_tried_out_silences_nothing_else(tmp_path: Path) -> None:
    """A default argument is evaluated without recording events; that ends where the evaluation fails."""
    path = tmp_path / "x.py"
    deep = "-" * 700 + "1"
    path.write_text(f"""import torch.distributed as dist
def far(x={deep}): pass
far()
def reduce(tensor):
    dist.all_reduce(tensor.float())
    return tensor.sum()
""")
    assert ("DD118", 5) in _lint(path)


def test_ten_megabytes_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_bytes(HEAD.strip() + b"; x = [" + b"1," * 5_000_000 + b"]")
    assert _lint(path) == [("DD199", 1)]


def test_links_in_a_circle_fifos_and_broken_links(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "a" / "self.py").symlink_to(tmp_path / "a" / "self.py")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "ok.py").write_bytes(HEAD)
    assert _lint(tmp_path) == []


def test_recursion_in_the_program_ends(tmp_path: Path) -> None:
    source = (
        b"def f(n):\n    dist.barrier()\n    return g(n)\ndef g(n):\n    return f(n)\nclass A(A): pass\nf(1)\nx = x\n"
    )
    path = tmp_path / "x.py"
    path.write_bytes(HEAD + source)
    assert _lint(path) == []


_AFTER = "def f(a):\n    dist.barrier()\n    return a\nif x == f(x):\n    dist.barrier()\n"
#: small sources that would take for ever, or all memory, if they were taken at their word
ENDLESS = {
    "tuples in tuples": "x = (1, 1)\n" + "x = (x, x)\n" * 40 + _AFTER,
    "lists in lists": "x = [1, 1]\n" + "x = [x, x]\n" * 40 + _AFTER,
    "tables in tables": "x = {'a': 1}\n" + "x = {'a': x, 'b': x}\n" * 40 + _AFTER,
    "calls of calls": "x = u()\n" + "x = g(x, x)\n" * 60 + _AFTER,
    "paths of paths": "import os\nx = u()\n" + "x = os.path.join(x, x)\n" * 60 + "open(x, 'w')\nopen(x)\n",
    "entries of entries": "x = "
    + "".join(f"{{a{i}: " for i in range(12))
    + "1"
    + "".join(f" for a{i} in ('p', 'q', 'r', 's')}}" for i in reversed(range(12)))
    + "\n",
    "long ranges": "if 5 in range(10**15):\n    dist.barrier()\nx = {i: 1 for i in range(10**12)}\nmax(range(10**12))\n"
    "for i in range(dist.get_rank() * 10**30):\n    pass\n",
    "large numbers": "w = [0] * 10**12\nx = 9**9**9**9\ny = 1 << 10**12\nz = 'a' * 10**12\nv = '%0999999999d' % 5\n",
    "many digits": f"x = 0x{'f' * 20_000}\nif x == 0x{'e' * 20_000}:\n    dist.barrier()\ny = 'a' + x\n",
    "many comments": "".join(f"x{i} = 1  # ddpdoctor: uniform(x{i})\n" for i in range(4_000)),
    "many parentheses in a comment": f"x = 1  # ddpdoctor: uniform({'(' * 50_000}{')' * 50_000})\n",
    "many functions": "".join(f"def f{i}():\n    pass\n" for i in range(10_000)),
    "many operations": "def f(x):\n    if dist.get_rank() == 0:\n"
    + "        dist.all_reduce(x)\n        dist.barrier()\n" * 400
    + "    else:\n"
    + "        dist.barrier()\n        dist.broadcast(x, 0)\n" * 400,
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_would_take_for_ever_ends(name: str) -> None:
    before = time.process_time()
    Linter(SETTINGS).bytes("x.py", HEAD + ENDLESS[name].encode(), named=True)
    assert time.process_time() - before < 20  # a tenth of a second, most of them; without a bound: hours


def test_a_long_range_holds_what_it_holds() -> None:
    source = b"for i in range(3):\n    if 100 in range(128):\n        dist.barrier()\n"
    assert Linter(SETTINGS).bytes("x.py", HEAD + source, named=True).findings == ()


def test_other_files_are_followed_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bound whatever an earlier file has left in the cache."""
    (tmp_path / "a.py").write_text("import torch.distributed as dist\ndef sync():\n    dist.barrier()\n")
    main = "import torch.distributed as dist\nfrom a import sync\nif dist.get_rank() == 0:\n    sync()\n"
    (tmp_path / "main.py").write_text(main)
    path = str(tmp_path / "main.py")
    found = [f.code for f in Linter(SETTINGS).file(path, named=True).findings]
    assert "DD111" in found
    monkeypatch.setattr(project, "FOLLOWED", 10)
    linter = Linter(SETTINGS)
    assert "DD111" not in [f.code for f in linter.file(path, named=True).findings]
    linter.file(str(tmp_path / "a.py"), named=True)
    assert "DD111" not in [f.code for f in linter.file(path, named=True).findings]
