"""`ddpdoctor lint` from the command line: options, formats, configuration, fixes, exit statuses."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from ddpdoctor.cli import main
from tests.unit.lint.command import BROKEN, LOADER, lint


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "clean.py").write_text("import torch.distributed as dist\n\ndist.barrier()\n")
    return tmp_path


def test_findings_exit_1_and_show_the_line_with_a_caret(folder: Path) -> None:
    result = lint(folder, ".")
    assert result.returncode == 1
    assert "DD111 collective-under-rank-branch (error)" in result.stdout
    assert "rank 0 runs: barrier; rank 1 runs: nothing" in result.stdout
    assert "^^^^^^^^^^^^^^" in result.stdout
    assert "broken.py:4: the branch: dist.get_rank() == 0" in result.stdout


def test_clean_exits_0_and_says_nothing(folder: Path) -> None:
    result = lint(folder, "clean.py")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "argv", [("nowhere.py",), (), ("--select", "DD999", "."), ("-o", "pdf", "."), ("--jobs", "-1", ".")]
)
def test_unusable_arguments_exit_2_with_one_line(folder: Path, argv: tuple[str, ...]) -> None:
    result = lint(folder, *argv)
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.strip().split("\n")) == 1


def test_exit_zero_and_statistics(folder: Path) -> None:
    result = lint(folder, "--exit-zero", "--statistics", ".")
    assert result.returncode == 0
    assert result.stdout.split() == ["1", "DD111", "error", "collective-under-rank-branch"]


def test_json_and_jsonl_have_the_documented_keys(folder: Path) -> None:
    (finding,) = json.loads(lint(folder, "-o", "json", ".").stdout)
    assert set(finding) == {
        "code", "name", "severity", "file", "line", "column", "end_line", "end_column", "message", "related", "fix",
        "url", "cell", "condition", "advice",
    }  # fmt: skip
    assert (finding["line"], finding["column"], finding["end_column"]) == (5, 9, 23)
    assert json.loads(lint(folder, "-o", "jsonl", ".").stdout) == finding
    assert lint(folder, "-o", "json", "clean.py").stdout == "[]\n"


def test_sarif_names_the_rule_and_its_page(folder: Path) -> None:
    document = json.loads(lint(folder, "-o", "sarif", ".").stdout)
    (run,) = document["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["id"] == "DD111"
    assert "## Why it hangs" in rule["help"]["markdown"]
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 5, "startColumn": 9, "endLine": 5, "endColumn": 23}


def test_github_gitlab_junit(folder: Path) -> None:
    line = lint(folder, "-o", "github", ".").stdout
    assert line.startswith("::error file=broken.py,line=5,endLine=5,col=9,endColumn=23,title=DD111 ")
    (entry,) = json.loads(lint(folder, "-o", "gitlab", ".").stdout)
    assert entry["location"]["path"] == "broken.py"
    assert entry["severity"] == "major"
    suites = ET.fromstring(lint(folder, "-o", "junit", ".").stdout)
    assert suites.get("failures") == "1"
    assert ET.fromstring(lint(folder, "-o", "junit", "clean.py").stdout).get("failures") == "0"


def test_concise(folder: Path) -> None:
    first = lint(folder, "-o", "concise", ".").stdout.split("\n")[0]
    assert first.startswith("broken.py:5:9: DD111 collective-under-rank-branch: ")


def test_stdin(folder: Path) -> None:
    result = lint(folder, "-", "--stdin-filename", "train.py", "-o", "concise", stdin=BROKEN)
    assert result.returncode == 1
    assert result.stdout.startswith("train.py:5:9: DD111")


def test_select_ignore_and_extend(folder: Path) -> None:
    assert lint(folder, "--ignore", "DD111", ".").returncode == 0
    assert lint(folder, "--select", "DD10", ".").returncode == 0
    assert lint(folder, "--select", "collective-under-rank-branch", ".").returncode == 1
    assert lint(folder, "--select", "DD101", "--extend-select", "DD11", ".").returncode == 1


def test_suppressions_and_unused_ones(folder: Path) -> None:
    silenced = BROKEN.replace("dist.barrier()", "dist.barrier()  # ddpdoctor: ignore[DD111] only rank 0 is left")
    (folder / "broken.py").write_text(silenced)
    assert lint(folder, ".").returncode == 0
    (folder / "broken.py").write_text(BROKEN.replace("dist.barrier()", "dist.barrier()  # noqa: DD111"))
    assert lint(folder, ".").returncode == 0
    (folder / "clean.py").write_text("import torch.distributed as dist\n\ndist.barrier()  # ddpdoctor: ignore[DD111]\n")
    result = lint(folder, "-o", "concise", ".")
    assert "clean.py:3:17: DD198 unused-suppression" in result.stdout


def test_a_string_is_no_suppression(folder: Path) -> None:
    (folder / "broken.py").write_text(BROKEN.replace("dist.barrier()", 'dist.barrier(); x = "# noqa: DD111"'))
    assert lint(folder, ".").returncode == 1


def test_pyproject(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.ddpdoctor.lint]\nper-file-ignores = {"broken.py" = ["DD111"]}\n')
    assert lint(folder, ".").returncode == 0
    (folder / "pyproject.toml").write_text("[tool.ddpdoctor.lint]\nselct = []\n")
    result = lint(folder, ".")
    assert result.returncode == 2
    assert "selct" in result.stderr


def test_baseline(folder: Path) -> None:
    assert lint(folder, "--baseline", "known.json", ".").returncode == 0
    assert lint(folder, "--baseline", "known.json", ".").returncode == 0
    (folder / "broken.py").write_text(BROKEN + "\n" + BROKEN.replace("main", "other").split("\n", 2)[2])
    assert lint(folder, "--baseline", "known.json", ".").returncode == 1
    (folder / "known.json").write_text("{}")
    assert lint(folder, "--baseline", "known.json", ".").returncode == 2


def test_diff_changes_nothing_and_fix_applies_only_safe_ones(tmp_path: Path) -> None:
    target = tmp_path / "train.py"
    target.write_text(LOADER)
    shown = lint(tmp_path, "--diff", "train.py")
    assert shown.returncode == 1
    assert "-    loader = DataLoader(data, sampler=sampler, shuffle=True)" in shown.stdout
    assert "set_epoch" not in shown.stdout
    assert target.read_text() == LOADER
    lint(tmp_path, "--fix", "train.py")
    assert "shuffle" not in target.read_text()
    assert "set_epoch" not in target.read_text()
    done = lint(tmp_path, "--fix", "--unsafe-fixes", "train.py")
    assert done.returncode == 0
    assert "        sampler.set_epoch(epoch)\n        for batch in loader:" in target.read_text()


def test_notebooks(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# title"]},
        {"cell_type": "code", "source": ["%pip install torch\n", "import torch.distributed as dist\n"]},
        {"cell_type": "code", "source": "if dist.get_rank() == 0:\n    dist.barrier()"},
    ]
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": cells}))
    result = lint(tmp_path, "-o", "concise", ".")
    assert result.returncode == 1
    assert "DD111" in result.stdout


@pytest.mark.parametrize(("called", "shown"), [("", False), ("train(None)", True)])
def test_what_no_cell_calls_is_a_hint(tmp_path: Path, called: str, *, shown: bool) -> None:
    """A notebook's functions are called by its cells, or by nobody."""
    function = "def train(x):\n    if dist.get_rank() == 0:\n        dist.barrier()"
    cells = [
        {"cell_type": "code", "source": source} for source in (f"import torch.distributed as dist\n{function}", called)
    ]
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": cells}))
    assert ("DD111 collective-under-rank-branch (error)" in lint(tmp_path, "book.ipynb").stdout) is shown
    assert "DD111" in lint(tmp_path, "--extend-select", "DD111", "book.ipynb").stdout


@pytest.mark.parametrize(("before", "shown"), [("", False), ("import ipyparallel", True)])
def test_what_a_cell_does_is_done_once(tmp_path: Path, before: str, *, shown: bool) -> None:
    """A cell is run by the notebook's own process, unless engines run it."""
    cell = (
        f"{before}\nimport torch.distributed as dist\nfrom torchvision.datasets import CIFAR10\n"
        "dist.init_process_group('nccl')\ndata = CIFAR10('data', download=True)"
    )
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": cell}]}))
    assert ("DD124" in lint(tmp_path, "book.ipynb").stdout) is shown
    assert "DD124" in lint(tmp_path, "--extend-select", "DD124", "book.ipynb").stdout


def test_the_same_order_whatever_the_number_of_jobs(tmp_path: Path) -> None:
    for index in range(40):
        (tmp_path / f"m{index}.py").write_text(f"{BROKEN}# {index}\n")
    one = lint(tmp_path, "--jobs", "1", "-o", "concise", ".").stdout
    assert one == lint(tmp_path, "--jobs", "4", "-o", "concise", ".").stdout
    assert one.count("DD111") == 40


def test_hints_come_from_rules_that_were_asked_for(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch.distributed as dist\n\n\ndef main(train):\n    for epoch in range(10):\n"
        "        train(dist.new_group([0, 1]))\n"
    )
    assert "DD128" not in lint(tmp_path, "train.py").stdout
    for selection in (("--extend-select", "DD128"), ("--select", "ALL"), ("--select", "DD12")):
        assert "DD128 group-or-collective-in-hot-path (hint)" in lint(tmp_path, *selection, "train.py").stdout


def test_the_epoch_is_told_only_where_the_sampler_is_distributed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "from torch.utils.data import DataLoader, DistributedSampler\n"
        "def main(args, rows):\n"
        "    if args.distributed:\n"
        "        sampler = DistributedSampler(rows)\n"
        "    else:\n"
        "        sampler = None\n"
        "    loader = DataLoader(rows, sampler=sampler)\n"
        "    for epoch in range(args.epochs):\n"
        "        for batch in loader:\n"
        "            step(batch)\n"
    )
    assert lint(tmp_path, "--fix", "--unsafe-fixes", "train.py").returncode == 0
    text = (tmp_path / "train.py").read_text()
    told = "        if isinstance(sampler, DistributedSampler):\n            sampler.set_epoch(epoch)\n"
    assert f"range(args.epochs):\n{told}        for batch" in text


def test_no_fix_is_offered_in_a_notebook(tmp_path: Path) -> None:
    book = {"cells": [{"cell_type": "code", "source": f"{LOADER}\n\nmain(None)"}]}
    (tmp_path / "book.ipynb").write_text(json.dumps(book))
    result = lint(tmp_path, "book.ipynb")
    assert "DD104" in result.stdout
    assert "fixed" not in result.stdout


def test_unreadable_files_are_one_line_each_and_exit_1(tmp_path: Path) -> None:
    head = b"import torch.distributed as dist\n"
    bad = {
        "chain.py": head + b"x = a" + b".b" * 3000 + b"\n",
        "latin.py": head + b"x = '\xe9'\n",
        "long.py": head.strip() + b"; x = [" + b"1," * 5_000_000 + b"]",
        "nul.py": head + b"x = '\x00'\n",
        "syntax.py": head + b"def f(:\n",
    }
    for name, raw in bad.items():
        (tmp_path / name).write_bytes(raw)
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbf" + head)
    (tmp_path / "declared.py").write_bytes(b"# coding: latin-1\n" + head + b"x = '\xe9'\n")
    (tmp_path / "self.py").symlink_to("self.py")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "up").symlink_to("..")
    result = lint(tmp_path, "-o", "concise", ".")
    lines = result.stdout.strip().split("\n")
    assert (result.returncode, result.stderr) == (1, "")
    assert [line.partition(" unreadable")[0] for line in lines[:-1]] == [
        "chain.py:1:1: DD199", "latin.py:2:1: DD199", "long.py:1:1: DD199", "nul.py:2:1: DD199", "syntax.py:2:7: DD199"
    ]  # fmt: skip
    named = lint(tmp_path, "-o", "concise", "self.py")
    assert named.returncode == 1
    assert named.stdout.startswith("self.py:1:1: DD199 unreadable-source: cannot be read")


def test_findings_go_to_a_json_file_beside_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, target = tmp_path / "a.py", tmp_path / "found.json"
    program.write_text("import torch.distributed as dist\nif dist.get_rank() == 0:\n    dist.barrier()\n")
    assert main.main(["lint", "--no-cache", str(program), "--json", str(target), "-f", "concise"]) == 1
    assert [finding["code"] for finding in json.loads(target.read_text())] == ["DD111"]
    assert "DD111" in capsys.readouterr().out
    assert main.main(["lint", "--no-cache", str(program), "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["line"] == 3
    assert main.main(["lint", str(program), "--json", "-", "--fix"]) == 2
    assert "--json writes findings" in capsys.readouterr().err
