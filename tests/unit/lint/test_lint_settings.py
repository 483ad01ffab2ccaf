"""[tool.ddpdoctor.lint], the options that override it, and baselines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ddpdoctor.errors import UsageError
from ddpdoctor.lint import registry, settings
from tests.unit.lint.command import BROKEN, LOADER, lint

KNOWN = registry.names()


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("select = 'DD1'", "select must be a list of strings"),
        ("select = [1]", "select must be a list of strings"),
        ("select = ['']", "select must be a list of strings"),
        ("select = ['DD999']", "no lint rule is called 'DD999'"),
        ("ignore = ['missing-set-epok']", "did you mean 'missing-set-epoch'?"),
        ("extend_select = []", "did you mean 'extend-select'?"),
        ("nonsense = 1", "keys: select, ignore"),
        ("per-file-ignores = ['x']", "per-file-ignores must be a table"),
        ("per-file-ignores = {'x' = 'DD111'}", "per-file-ignores must be a table"),
        ("per-file-ignores = {'x' = ['DD7']}", "no lint rule is called 'DD7'"),
        ("exclude = 'x'", "exclude must be a list of strings"),
        ("torch-version = 2.10", 'write for example torch-version = "2.10"'),
        ("torch-version = 'new'", "'new' is not a torch version"),
        ("select = [", "is not valid TOML"),
        ("[tool.ddpdoctor]\nselect = []", "lint is configured in [tool.ddpdoctor.lint]"),
    ],
)
def test_what_is_wrong_in_the_table_is_one_line_that_names_it(tmp_path: Path, toml: str, said: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.ddpdoctor.lint]\n{toml}\n")
    (tmp_path / "train.py").write_text(BROKEN)
    done = lint(tmp_path, "train.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"ddpdoctor: error: {tmp_path / 'pyproject.toml'}")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("tool = 1  # ddpdoctor", 1),
        ("[tool]\nddpdoctor = 3", 2),
        ("[tool.ddpdoctor]\nlint = 3", 2),
        ("[tool.ddpdoctor]\nselect = ['DD111']", 2),
        ("[tool.ddpdoctor]", 1),
        ("no toml and not our name", 1),
        ("[project]\nname = 'x'", 1),
    ],
)
def test_tables_of_odd_shape(tmp_path: Path, text: str, status: int) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    (tmp_path / "train.py").write_text(BROKEN)
    done = lint(tmp_path, "train.py")
    assert (done.returncode, "internal error" in done.stderr) == (status, False)


def test_the_nearest_table_holds_and_its_patterns_are_from_there(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    (inner / "src").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.ddpdoctor.lint]\nignore = ['DD111']\n")
    (inner / "pyproject.toml").write_text("[tool.ddpdoctor.lint.per-file-ignores]\n'src/*' = ['DD111']\n")
    for folder in (tmp_path, inner, inner / "src"):
        (folder / "train.py").write_text(BROKEN)
    assert lint(tmp_path, "train.py").returncode == 0
    assert lint(tmp_path, "inner/train.py").returncode == 1
    assert lint(inner / "src", "train.py").returncode == 0
    assert lint(tmp_path, "inner/src").returncode == 0
    (inner / "pyproject.toml").write_text("[tool.black]\n# not of ddpdoctor\n")
    assert lint(tmp_path, "inner").returncode == 0  # the one above it


def test_options_over_the_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ddpdoctor.lint]\nselect = ['DD104']\nignore = ['DD111']\n")
    (tmp_path / "train.py").write_text(LOADER + BROKEN)

    def codes(*argv: str) -> list[str]:
        found = json.loads(lint(tmp_path, "-o", "json", *argv, "train.py").stdout)
        return sorted(finding["code"] for finding in found)

    assert codes() == ["DD104"]
    assert codes("--select", "dd111,DD101") == ["DD101", "DD111"]
    assert codes("--select", "Missing-Set-Epoch") == ["DD101"]
    assert codes("--extend-select", "DD101") == ["DD101", "DD104"]
    assert codes("--select", "ALL", "--ignore", "DD10", "--ignore", "DD13") == ["DD111"]
    for wrong in ("DD999", "", ","):
        assert lint(tmp_path, "--select", wrong, "train.py").returncode == 2


def test_what_cannot_be_read_is_told_whatever_is_selected(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("def f(:\n")
    assert "DD199" in lint(tmp_path, "--select", "DD111", "train.py").stdout
    assert lint(tmp_path, "--select", "DD111", "--ignore", "DD199", "train.py").returncode == 0


def test_no_selector_fits_nothing() -> None:
    for wrong in ("", "  ", "XX1", "DD1111"):
        with pytest.raises(UsageError):
            settings.choose(KNOWN, (), select=[wrong])


@pytest.mark.parametrize("text", ["2", "x.y", "2.x", "-1.2", "2.4rc1", " "])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        settings.torch_version(text)


def test_versions() -> None:
    assert settings.torch_version("2.13.0+cpu") == (2, 13, 0)
    assert settings.torch_version("2.4") == (2, 4)


def test_a_baseline_knows_a_finding_by_its_line_wherever_it_goes(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    train = tmp_path / "sub" / "train.py"
    train.write_text(BROKEN)
    wrote = lint(tmp_path, "--baseline", "known.json", "sub")
    assert (wrote.returncode, wrote.stdout, wrote.stderr) == (0, "", "ddpdoctor: wrote known.json with 1 finding\n")
    entry = json.loads((tmp_path / "known.json").read_text())["findings"]
    assert entry == [{"file": "sub/train.py", "code": "DD111", "line": "dist.barrier()", "count": 1}]
    train.write_text("# moved\n\n" + BROKEN)
    for folder, known, path in ((tmp_path, "known.json", "sub/train.py"), (tmp_path / "sub", "../known.json", ".")):
        assert lint(folder, "--baseline", known, path).returncode == 0
    assert lint(tmp_path, "--baseline", str(tmp_path / "known.json"), str(train)).returncode == 0
    # one is mended and another made: their number is the same, and it is told
    train.write_text(BROKEN.replace("dist.barrier()", "dist.all_reduce(x)"))
    done = lint(tmp_path, "--baseline", "known.json", "-o", "concise", "sub")
    assert (done.returncode, done.stdout.count("DD111")) == (1, 1)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"schema": "x"}', "\udcff", "[" * 100_000])
def test_what_is_no_baseline_is_refused_and_kept(tmp_path: Path, text: str) -> None:
    (tmp_path / "train.py").write_text(BROKEN)
    (tmp_path / "known.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    done = lint(tmp_path, "--baseline", "known.json", "train.py")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert (tmp_path / "known.json").read_bytes() == text.encode("utf-8", "surrogateescape")


def test_a_baseline_in_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(BROKEN)
    assert lint(tmp_path, "--baseline", "no/where.json", "train.py").returncode == 2
    assert lint(tmp_path, "--baseline", ".", "train.py").returncode == 2
