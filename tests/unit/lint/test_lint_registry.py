"""The registry and the pages of the rules."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import ddpdoctor.lint.rules
from ddpdoctor.lint import registry
from ddpdoctor.lint.facts import devices
from ddpdoctor.lint.interpreter import fsdp
from ddpdoctor.lint.knowledge import aliases, collectives, filesystem, frameworks, randomness, vocabulary
from ddpdoctor.lint.registry import Registered
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model import c10d
from ddpdoctor.model.finding import Severity

SECTIONS = (
    "## What it does", "## Example", "## Use instead", "## Fix safety", "## When it is wrong", "## References",
)  # fmt: skip


def test_every_file_in_rules_is_registered() -> None:
    folder = Path(ddpdoctor.lint.rules.__file__ or "").parent
    listed = {name.replace("-", "_") for name in registry.RULES.values()}
    assert {p.stem for p in folder.glob("*.py")} - {"__init__"} == listed


def test_the_list_says_of_each_rule_what_its_file_says() -> None:
    rules = [entry.rule for entry in registry.registered()]
    assert {rule.code: rule.name for rule in rules} == registry.RULES
    assert {rule.code for rule in rules if rule.severity is Severity.HINT} == registry.HINTS


def test_codes_and_names_are_unique_and_sorted() -> None:
    codes = [r.rule.code for r in registry.registered()]
    assert codes == sorted(set(codes))
    assert len(registry.names()) == len(set(registry.names().values()))


@pytest.mark.parametrize("entry", registry.registered(), ids=lambda e: e.rule.code)
def test_every_rule_has_a_full_page(entry: Registered) -> None:
    assert entry.page.strip()
    for section in SECTIONS:
        assert section in entry.page, section
    assert "## Why it h" in entry.page


@pytest.mark.parametrize("rule", [*(r.rule for r in registry.registered()), *registry.OWN], ids=lambda rule: rule.code)
def test_every_rule_says_in_a_few_words_what_to_do(rule: LintRule) -> None:
    assert 0 < len(rule.advice) <= 100
    assert not rule.advice.endswith(".")


def test_a_rule_that_needs_words_exists_and_has_some() -> None:
    assert [code for code in registry.RULES if code in registry.WORDS] == list(registry.WORDS), "sorted by code"
    for code, words in registry.WORDS.items():
        assert words, code
        assert len(set(words)) == len(words), code
        # shorter ones are in every text
        assert all(len(word) > 2 for word in words), code
        assert not [(one, two) for one in words for two in words if one != two and one in two], code


def test_a_file_concerns_the_rules_of_its_words_and_those_that_need_none() -> None:
    without = registry.RULES.keys() - registry.WORDS
    assert registry.concerned(b"") == without
    assert registry.concerned(b"from torch.distributed import isend as tell") == {"DD119", "DD120", "DD121", *without}
    every = b" ".join(word for words in registry.WORDS.values() for word in words)
    assert registry.concerned(every) == registry.RULES.keys()


def _last(paths: Iterable[str]) -> set[str]:
    """What a program writes of them wherever it imports them."""
    return {path.rpartition(".")[2] for path in paths}


def _of_torch(chosen: Callable[[c10d.Function], bool]) -> set[str]:
    return {row.name for row in c10d.FUNCTIONS.values() if chosen(row)}


_CHANGING = _last(
    name
    for table in (filesystem.FUNCTIONS, filesystem.OF_PATHS, filesystem.OF_OBJECTS)
    for name, row in table.items()
    if row.use in filesystem.CHANGES
)
_MAKING = _last(path for path, row in filesystem.FUNCTIONS.items() if row.use is filesystem.Use.MAKES_FOLDER)
_ASKING = _last(path for path, row in filesystem.FUNCTIONS.items() if row.use is filesystem.Use.ASKS)
_FETCHING = {
    form
    for name in ("download", "downLoad", "fetch", "wget", "urlretrieve")
    for form in (name, name[0].upper() + name[1:], name.upper())
}
_SEEDING = _last(randomness.paths(randomness.Use.SEEDS))
_SHARDING = _last((aliases.FSDP, *fsdp.SHARDING))
#: what of the tables a rule can have a finding about: a row that is added may need another word
ABOUT: dict[str, Iterable[str]] = {
    "DD110": _of_torch(lambda row: row.equal_sizes and row.position(row.gives) == 1),
    "DD117": _of_torch(lambda row: row.makes_groups) | {"init_device_mesh"},
    "DD119": _of_torch(lambda row: row.gives in ("tensor", "input_tensor", "input")),
    "DD121": _of_torch(lambda row: row.pairwise),
    "DD124": _CHANGING | _ASKING | _FETCHING,
    "DD125": {*_last(filesystem.RESULTS), *_MAKING, *vocabulary.CLOCK_CALLS, *vocabulary.UNIQUE_CALLS},
    "DD131": _SEEDING,
    "DD132": _last(randomness.paths(*(randomness.Use.SPLITS, randomness.Use.SHUFFLES, randomness.Use.ORDERS))),
    "DD135": _SEEDING,
    "DD140": _last((*frameworks.SPAWNING, *frameworks.PROCESSES)),
    "DD142": _last(devices.OBJECTS),
    "DD152": _last(randomness.paths(randomness.Use.RESTORES)),
    "DD157": _last(collectives.OF_EQUAL_SHAPES) | set(frameworks.OF_EQUAL_SHAPES),
    "DD171": _last(filesystem.RESULTS),
    "DD174": _last(filesystem.RESULTS),
    "DD178": _SHARDING,
    "DD187": _SHARDING,
    "DD192": _CHANGING,
}


@pytest.mark.parametrize("code", ABOUT)
def test_all_that_a_rule_is_about_has_one_of_its_words(code: str) -> None:
    assert [name for name in ABOUT[code] if code not in registry.concerned(name.encode())] == []


def test_one_file_imports_the_rules_that_it_concerns(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch.distributed as dist\nfrom helper import total\n\ndist.init_process_group()\ntotal(1)\n"
    )
    (tmp_path / "helper.py").write_text("def total(x):\n    return x.all_reduce()\n")
    (tmp_path / "other.py").write_text("import torch\n\ntorch.save(1, 'x')\n")
    script = (
        "import sys; from ddpdoctor.cli.main import main; status = main(['lint', '--no-cache', 'train.py']); "
        "print(*(m for m in sys.modules if '.lint.rules.' in m), file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    imported = {name.rpartition(".")[2].replace("_", "-") for name in done.stderr.split()}
    words = b"".join((tmp_path / name).read_bytes() for name in ("train.py", "helper.py"))
    assert imported == {registry.RULES[code] for code in registry.concerned(words) & registry.defaults()}
    assert "loss-summed-over-ranks" in imported, "a word of the other file"
    assert imported.isdisjoint(("unguarded-save", "rank0-side-effect-without-barrier", "missing-set-epoch"))
