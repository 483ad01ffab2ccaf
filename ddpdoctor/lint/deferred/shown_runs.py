"""The runs of several ranks that a repository shows, and what a setting is in each. Impure: reads files."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from ddpdoctor.lint.deferred import given_options
from ddpdoctor.lint.deferred.configurations import NAMED
from ddpdoctor.lint.deferred.handed_on import hands_on
from ddpdoctor.lint.deferred.joined_groups import makes_none
from ddpdoctor.lint.deferred.needed_settings import setting
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.deferred.started_ranks import SEVERAL, starts_one
from ddpdoctor.lint.files import read_file
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program import source
from ddpdoctor.program.nodes import walk

#: what something may be; None if that is not known
Values = frozenset[object] | None
#: a value in which nothing is put in place
_PLAIN = late_pattern(r"[\w./+-]+")
#: texts, also several, as files of settings and commands have them: `('digits', 'letters')`
_TEXTS = late_pattern(rb"[\w./+\-\s,'\"()\[\]]+")
_TEXT = late_pattern(rb"[\w./+-]+")


class Run(NamedTuple):
    """How a program is started as several ranks."""

    program: str
    #: empty where the program starts its ranks itself, and nothing shows how it is started
    command: bytes
    #: what it runs, by path; all that the project has where that cannot be told
    texts: Mapping[str, bytes]


def runs_of(repository: Repository, path: str) -> list[Run]:
    """The runs of several ranks in which a file has a part: of the programs that use it, those which commands show; or
    else those of the programs that no command starts, as they are by default, where commands start others."""
    if not (repository.launches.launched or repository.launches.as_one):
        return []
    shown, by_default = list[Run](), list[Run]()
    for program in sorted(repository.users_of(path) or {path}):
        if b"__main__" not in (read_file(program) or b""):
            continue
        texts = repository.used_by(program) or repository.texts or {}
        commands = repository.launches.shown_commands(program)
        several = [command for command in commands if not starts_one(repository, program, command)]
        # what a script would hand on that nothing calls is told by the others
        several = [command for command in several if not hands_on(command)] or several
        shown += [Run(program, command, texts) for command in several]
        if not commands and any(map(SEVERAL.search, texts.values())) and not makes_none(texts.values()):
            by_default.append(Run(program, b"", texts))
    return shown or by_default


def values_in(repository: Repository, run: Run, name: str) -> Values:
    """What a setting is in a run: as its command has it, or by default, or as files of settings and the program do."""
    files = tuple(run.texts.values())
    declared = _options_of(files).get(name, ())
    if not declared:
        return None if repository.configurations.is_option(name) else _configured(repository, run, name)
    # a file that it imports may be a program as well, with options of its own
    declared = _options_of((run.texts.get(run.program, b""),)).get(name, declared)
    names = frozenset({name}).union(*(one.names for one in declared))
    if not _names(run.command, names):
        left_open = hands_on(run.command) or repository.configurations.may_give(run.command, names)
        return None if left_open else given_options.default_values(declared)
    value = given_options.value_in(run.command, names)
    several = any(keyword.arg == "nargs" for one in declared for keyword in one.node.keywords)
    return None if several or not _is_one(value, name) else frozenset({value})


@lru_cache(maxsize=64)
def _options_of(files: tuple[bytes, ...]) -> given_options.Options:
    return given_options.given_in_all(files)


def _names(command: bytes, names: Iterable[str]) -> bool:
    """Whether a command gives one of the options."""
    named = b"|".join(re.escape(name.encode()).replace(b"_", b"[-_]") for name in names)
    return re.search(rb"(?<!\S)-{1,2}(?:" + named + rb")(?![\w-])", command) is not None


def _is_one(value: str, name: str) -> bool:
    """Whether a text is a value, and does not stand for one that the reader has: `path_of_dataset`, `DATASET_NAME`."""
    return _PLAIN.fullmatch(value) is not None and not value.startswith("-") and name.lower() not in value.lower()


def _configured(repository: Repository, run: Run, name: str) -> Values:
    """What a setting is that no option of the command line gives."""
    told = _overridden(run.command, name)
    held = [told] if told else list(_held(repository, run, name))
    known = [texts for texts in map(_texts_in, held) if texts]
    written = [] if told else [one for text in run.texts.values() for one in _written(text, name)]
    if len(known) < len(held) or not all(written) or not (known or written):
        return None
    return frozenset(text for texts in (*known, *written) for text in texts)


def _overridden(command: bytes, name: str) -> bytes:
    """What a command sets something to by its name: `data.name=digits`, `DATA.TRAIN "('digits',)"`."""
    setting = re.escape(name.encode()) + rb"(?:=|(?<=\.%b)[ \t]+)" % re.escape(name.encode())
    value = rb"(\"[^\"]*\"|'[^']*'|[^\s\"']+)"
    found = re.search(rb"(?<![\w./-])(?:\w+\.)*" + setting + value, command)
    return found[1] if found is not None else b""


def _held(repository: Repository, run: Run, name: str) -> Iterator[bytes]:
    """What the files of settings set something to which lie beside those that the command names; all that are not for
    other programs alone, if it names none."""
    files, others = repository.configurations.files, repository.launches.only_for_others(run.program)
    named = {*NAMED.findall(run.command)}
    folders = {posixpath.dirname(path) for path in files if posixpath.basename(path).encode() in named}
    key = re.compile(rb"(?<![\w.-])[\"']?" + re.escape(name.encode()) + rb"[\"']?[ \t]*[:=](?!=)[ \t]*([^\n#]*)")
    for path, text in files.items():
        beside = not folders or posixpath.dirname(path) in folders
        if beside and posixpath.basename(path).encode() not in others:
            yield from key.findall(text)


def _texts_in(value: bytes) -> frozenset[str]:
    """The texts of a value; none where it is anything else."""
    plain = _TEXTS.fullmatch(value.strip())
    return frozenset(one.decode() for one in _TEXT.findall(value)) if plain is not None else frozenset()


def _written(text: bytes, name: str) -> Iterator[frozenset[str]]:
    """The texts that a program writes in its settings by a name, for each place where it does; none of what is put
    together there."""
    tree = source.tree_of(text) if name.encode() in text else None
    for node in walk(tree) if tree is not None else ():
        value = _value_written(node, name)
        if value is not None:
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
            texts = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            yield frozenset(texts) if len(texts) == len(parts) else frozenset()


def _value_written(node: ast.AST, name: str) -> ast.expr | None:
    """What a node gives a setting, if it gives it anything: `_C.DATA.TRAIN = ...`, `{"train": ...}`."""
    if isinstance(node, ast.Assign):
        return node.value if any(_is_part(target, name) for target in node.targets) else None
    if isinstance(node, ast.Dict):
        keys = (key.value if isinstance(key, ast.Constant) else None for key in node.keys)
        value = next((value for key, value in zip(keys, node.values, strict=True) if key == name), None)
        # what is put together there is mostly no setting
        return value if isinstance(value, ast.Constant) else None
    return None


def _is_part(target: ast.expr, name: str) -> bool:
    if isinstance(target, ast.Attribute) and target.attr == name:
        return not (isinstance(target.value, ast.Name) and target.value.id in ("self", "cls"))
    return isinstance(target, ast.Subscript) and setting(target) == name


def mentions_one(tree: ast.Module, values: frozenset[object]) -> bool:
    """Whether a file has one of some values as a text."""
    return any(isinstance(node, ast.Constant) and node.value in values for node in walk(tree))
