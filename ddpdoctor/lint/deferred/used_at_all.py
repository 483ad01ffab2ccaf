"""Whether the programs of a repository, as it starts them, get to a line. Impure: reads files."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from ddpdoctor.lint.deferred import asked_values, broken_programs, given_options, same_case
from ddpdoctor.lint.deferred.confirmation import Confirmation, ParsedPlace, parsed, path_of, places_of
from ddpdoctor.lint.deferred.handed_on import hands_on
from ddpdoctor.lint.deferred.launches import Place, place_of
from ddpdoctor.lint.deferred.needed_settings import Needed, Settings, asked_for, needed_at, option, setting
from ddpdoctor.lint.deferred.open_findings import (
    IF_REACHED,
    IF_SEVERAL_COME,
    OF_SEVERAL_RANKS,
    depends_on_the_run,
    depends_on_the_start,
)
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.deferred.started_ranks import starts_one
from ddpdoctor.lint.files import read_file
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program import source
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import FunctionNode
from ddpdoctor.program.nodes import walk

#: what an option may ask for that is off by default; a state is loaded in a run that goes on from another one, which
#: people ask for by hand
WITH_OPTIONS = (OF_SEVERAL_RANKS | IF_SEVERAL_COME | IF_REACHED) - {"DD176", "DD177"}
#: of these, what a setting may ask for that has many names
_ASKED_FOR = frozenset({"DD124", "DD171"})


def not_run(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether nothing in the project, but perhaps a test, uses the function or class, or gives what it asks for."""
    if not depends_on_the_run(finding):
        return None
    name = repository.unused_at(path_of(finding), finding.line)
    said = f"nothing in the project but its tests uses {name}"
    if name:
        return Confirmation(said, Severity.HINT, condition=f"if anything uses {name}, ")
    if (never_imported := _never_imported(repository, finding)) is not None:
        return never_imported
    return _not_asked_for(repository, finding) if finding.code in _ASKED_FOR else None


def _never_imported(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it happens when a file is imported, and no program of the repository imports that."""
    path = path_of(finding)
    held = repository.texts or {}
    tree = source.tree_of(held.get(path, b""))
    users = repository.users_of(path) if tree is not None and innermost_function(tree, finding.line) is None else None
    if users is None or not repository.has_programs or repository.is_built(path):
        return None
    if any(_may_run(repository, user, held[user]) for user in users):
        return None
    condition = f"if anything imports {posixpath.basename(path)}, "
    return Confirmation("no program of the repository imports this file", Severity.HINT, condition=condition)


def _may_run(repository: Repository, path: str, text: bytes) -> bool:
    """Whether a file may be started as a program: it says so, a command does, or it does more than define something."""
    launches, tree = repository.launches, source.tree_of(text)
    if tree is None or b"__main__" in text or path.endswith(".ipynb") or launches.start_in(path):
        return True
    started = (place_of(one, path) for one in (launches.as_several, launches.as_one))
    calls = (isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) for one in tree.body)
    runs = any(isinstance(one, (ast.For, ast.While, ast.With)) for one in tree.body) or any(calls)
    return runs or any(at is not None for at in started)


def _not_asked_for(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it runs only where a setting has a name that no program offers, or that nothing in the repository
    mentions although it gives that setting others where it starts its programs."""
    if (not_offered := _not_offered(repository, finding)) is not None:
        return not_offered
    if not (repository.launches.launched or repository.launches.as_one):
        return None
    path = path_of(finding)
    for file, tree, line in parsed(places_of(finding)):
        for asked, names in asked_values.asked_at(tree, line):
            given = _given(repository, path, asked)
            # of what another file does for one of several texts, only the first place is told
            if file != path and given is not None and not given.isdisjoint(_texts_around(tree, line)):
                continue
            said = _always_others(asked, names, given) or _never_one_of(repository, asked, names)
            if said:
                return Confirmation(said, Severity.HINT, condition=f"if {asked} is {' or '.join(names)}, ")
    return None


def _texts_around(tree: ast.Module, line: int) -> frozenset[str]:
    """All texts in the function around a line."""
    function = innermost_function(tree, line)
    nodes = walk(function) if function is not None else []
    return frozenset(n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))


def _given(repository: Repository, path: str, asked: str) -> frozenset[str] | None:
    """What the commands give a setting that start several ranks of a program, None if one may give it anything."""
    commands = repository.launches.shown_commands(path)
    several = [command for command in commands if not starts_one(repository, path, command)]
    values = [given_options.value_in(command, (asked,)) for command in several]
    return frozenset(values) if values and all(map(_PLAIN.fullmatch, values)) else None


def _always_others(asked: str, names: tuple[str, ...], given: frozenset[str] | None) -> str:
    """What says that each command which starts several ranks of a program gives a setting another name, "" if one may
    not."""
    if given is None or not given.isdisjoint(names):
        return ""
    return f"each script or text that starts several ranks of it passes --{asked} {' or '.join(sorted(given))}"


#: a value in which nothing is put in place
_PLAIN = late_pattern(r"[\w.-]+")


def _never_one_of(repository: Repository, asked: str, names: tuple[str, ...]) -> str:
    """What says that a setting is none of these where the repository starts its programs, "" if nothing does."""
    if repository.sets(asked):
        listed = " or ".join(names)
        mentioned = any(map(repository.mentions, names))
        return "" if mentioned else f"nothing in the repository mentions {listed} but such conditions"
    found = (given_options.defaults(text, asked) for text in (repository.texts or {}).values())
    known = frozenset[str]().union(*(one for one in found if one is not None))
    told = ", ".join(map(repr, sorted(known)))
    return f"no script or text gives {asked}, which is {told} then" if known and known.isdisjoint(names) else ""


def _not_offered(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it runs only where an option has a name that is none of its choices, in each program that has it."""
    for _, tree, line in parsed(places_of(finding)):
        for asked, names in asked_values.asked_at(tree, line):
            offered = [given_options.offered(text, asked) for text in (repository.texts or {}).values()]
            choices = [one for one in offered if one is not None]
            if choices and all(one.isdisjoint(names) for one in choices):
                listed = " or ".join(names)
                said = f"{asked} is never {listed}: no program offers that"
                return Confirmation(said, Severity.HINT, condition=f"if {asked} is {listed}, ")
    return None


def ends_before(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the program ends in an error before it has trained, whatever it is given; before it hangs, of what does
    harm at the moment in which a line runs."""
    if not depends_on_the_start(finding):
        return None
    path = path_of(finding)
    tree, used = source.tree_of(read_file(path) or b""), repository.used_by(path)
    if tree is None or used is None:
        return None
    broken = broken_programs.break_before(tree, finding.line, path, used, reached=finding.code in IF_SEVERAL_COME)
    if broken is None:
        return _ends_in_this_case(repository, finding, used)
    said = f"the program ends in an error here: {broken.said}"
    name = "line " if broken.path == path else f"{posixpath.basename(broken.path)}:"
    return Confirmation(said, Severity.HINT, Place(broken.path, broken.line), f"if {name}{broken.line} is mended, ")


def _ends_in_this_case(repository: Repository, finding: Finding, used: Mapping[str, bytes]) -> Confirmation | None:
    """Whether the program ends in an error under the conditions on its settings under which this happens, before."""
    places = [place for place in parsed(places_of(finding)) if same_case.is_by_settings(place.tree, place.line)]
    if not places:
        return None
    # what uses a file makes its settings
    users = repository.users_of(path_of(finding)) or ()
    around = {**used, **{path: text for user in users for path, text in (repository.used_by(user) or {}).items()}}
    parsing = any(map(same_case.PARSER.search, around.values()))
    if not parsing or any(map(broken_programs.HIDDEN.search, around.values())):
        return None
    for file, tree, line in places:
        read = same_case.read_before(file, tree, line, around, repository.lacks_option)
        if read is not None:
            said = f"the program ends in an error here: it has no option {read.option}"
            condition = f"if {posixpath.basename(read.file)}:{read.line} is mended, "
            return Confirmation(said, Severity.HINT, Place(read.file, read.line), condition)
    return None


def not_imported(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the file cannot be run or imported: it imports what the project does not have, or what does not parse."""
    path = path_of(finding)
    failing = repository.failing_import(path) if finding.severity is not Severity.HINT else None
    # what a file is told that does not parse is about that
    if failing is None or source.tree_of(read_file(path) or b"") is None:
        return None
    name = posixpath.basename(failing.path)
    said = f"the program ends in an error here: {failing.said}"
    return Confirmation(said, Severity.HINT, Place(failing.path, failing.line), f"if {name}:{failing.line} is mended, ")


def without_its_option(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the line runs only with an option that is off by default, or a setting that only such an option turns on,
    and no command that starts the program gives it, or only those that start one process."""
    path = path_of(finding)
    concerned = finding.code in WITH_OPTIONS and finding.severity is not Severity.HINT
    commands = repository.launches.commands(path) if concerned else []
    # of a program that no command starts, nothing but its defaults is known, where others are started
    concerned = concerned and bool(commands or repository.leaves_out(path))
    if not concerned:
        return None
    # they may be declared in a file beside it
    options = given_options.given_in_all((repository.used_by(path) or {path: read_file(path) or b""}).values())
    places = list(parsed(places_of(finding)))
    for file, tree, line in places:
        ways = given_options.ways_to(tree, line, options, partial(_is_used_around, repository, file))
        if file != path:
            # where another text is asked for, the same may be done, of which no more is told
            ways = [frozenset(needed for needed in way if not needed.is_one_of_several) for way in ways]
        passed, ranks = _never_passed(repository, path, ways, options)
        if passed:
            said = f"no script or text that starts it passes {passed}{ranks}"
            return Confirmation(said, Severity.HINT, condition=f"if {passed} is given{ranks}, ")
    for name, names in _turned_on(repository, places):
        # a setting can be given by its own name, too: `--opts THROUGHPUT_MODE True`
        given = any(given_options.gives(command, {name, *names}) for command in commands)
        if not given and not any(map(partial(given_options.is_on, options), names)):
            said = f"no script or text that starts it passes what turns {name} on"
            return Confirmation(said, Severity.HINT, condition=f"if {name} is turned on, ")
    return None


def _never_passed(
    repository: Repository, path: str, ways: list[frozenset[Needed]], options: given_options.Options
) -> tuple[str, str]:
    """The options without which none of the commands that start several ranks of a program gets to a line, "" if one
    may; and to whom they are not passed, if others get them."""
    names = {dest: frozenset({dest}).union(*(one.names for one in declared)) for dest, declared in options.items()}
    commands = repository.launches.commands(path)
    several = [command for command in commands if not starts_one(repository, path, command)]
    # what a script would hand on that nothing calls is told by the others
    several = [command for command in several if not hands_on(command)] or several
    giving = {dest: _giving(repository, one, commands) for dest, one in names.items()}
    missing = [_never_given(way, names, giving, several) for way in ways]
    if not all(missing):
        return "", ""
    alone = len(several) < len(commands) and any(_never_given(way, names, giving, commands) == "" for way in ways)
    return " or ".join(dict.fromkeys(f"--{dest}" for dest in missing)), " to several ranks" if alone else ""


_Gives = Callable[[bytes, frozenset[str]], bool]


def _giving(repository: Repository, names: frozenset[str], commands: list[bytes]) -> _Gives:
    """What tells whether a command gives an option, or a file may that it hands on: who names it in one command does
    not leave it to what another hands on."""
    named = any(given_options.names_one(command, names) for command in commands)
    gives = given_options.names_one if named else given_options.gives
    return lambda command, known: gives(command, known) or repository.configurations.may_give(command, known)


def _never_given(
    way: frozenset[Needed], names: Mapping[str, frozenset[str]], giving: Mapping[str, _Gives], commands: list[bytes]
) -> str:
    """The first option of a way to a line without which none of the commands leaves it open; "" if one gives them all,
    or may. `giving`: whether a command gives an option, by the option."""
    left = commands
    for needed in sorted(way, key=lambda one: one.name):
        known = names[needed.name]
        left = [command for command in left if giving[needed.name](command, known)]
        left = [command for command in left if needed.is_met_by(_plain(given_options.value_in(command, known)))]
        if not left:
            return needed.name
    return ""


def _plain(value: str) -> str:
    """A value in which nothing is put in place, and that is no other option."""
    return value if _PLAIN.fullmatch(value) and not value.startswith("-") else ""


def _is_used_around(repository: Repository, path: str, name: str) -> bool:
    """Whether another file that uses this one may use a function of it."""
    users = repository.users_of(path)
    word = re.compile(rb"\b" + re.escape(name.encode()) + rb"\b")
    return users is None or any(word.search(read_file(user) or b"") for user in users - {path})


def _turned_on(repository: Repository, places: Iterable[ParsedPlace]) -> Iterator[tuple[str, frozenset[str]]]:
    """The settings without which some lines do not run, and the options that alone turn them on."""
    for _, tree, line in places:
        for needed in needed_at(tree, line, Settings(option, lambda _: [ast.Constant(value=False)])):
            if names := repository.configurations.asked_by(needed.name):
                yield needed.name, names


def of_a_copy(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it is in the tests, examples or tools of a library of others, which the repository holds a copy of, and
    nothing outside of the copy starts it."""
    if not depends_on_the_start(finding):
        return None
    path = path_of(finding)
    folder = repository.copied_library(path)
    if not folder or any(not script.startswith(f"{folder}/") for script in repository.launches.starting(path)):
        return None
    name = posixpath.basename(folder)
    said = f"nothing outside of the copy of a library in {name} starts it"
    return Confirmation(said, Severity.HINT, condition=f"if this part of the copy in {name} runs, ")


def in_test(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it is in a test, and no script or text starts that by a launcher: it runs as one process, or starts ranks
    for a moment."""
    path = path_of(finding)
    if finding.severity is not Severity.WARNING or not repository.is_test(path):
        return None
    if place_of(repository.launches.by_launcher, path) is not None:
        return None
    return Confirmation("it is a test, which no script or text starts by a launcher", Severity.HINT)


def never_given(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether what is loaded is an option of the program that no script or text which starts it passes, or that all
    give what others have published; or is loaded only with one that is off by default, or with a setting that is
    off."""
    path = path_of(finding)
    commands = repository.launches.commands(path)
    raw = read_file(path) if commands else None
    for dests, names in given_options.asked_at(raw, finding.line, finding.end_line) if raw is not None else ():
        giving = [command for command in commands if given_options.gives(command, names)]
        options = ", ".join(f"--{dest}" for dest in dests)
        if not giving:
            return Confirmation(f"no script or text that starts it passes {options}", Severity.HINT)
        if all(heuristics.PUBLISHED.found_in(given_options.value_in(command, names)) for command in giving):
            return Confirmation(
                f"the scripts and texts that start it pass published weights as {options}", Severity.HINT
            )
    return switched_off(repository, finding)


def never_passed_so(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it runs only with a parameter of its function that no caller in the project passes so, in a project that
    has programs."""
    if not depends_on_the_run(finding) or not repository.has_programs:
        return None
    for file, tree, line in parsed(places_of(finding)):
        function = innermost_function(tree, line)
        if function is None or repository.is_used_elsewhere(file, function.name):
            continue
        settings = Settings(_parameters_read(function), partial(repository.callers.passed_as, file, line))
        needed = next(needed_at(tree, line, settings), None)
        if needed is not None:
            said = f"no caller of {function.name} passes {needed.name} so that it comes here"
            condition = f"if {function.name} is called with another {needed.name}, "
            return Confirmation(said, Severity.HINT, condition=condition)
    return None


def _parameters_read(function: FunctionNode) -> Callable[[ast.expr], str]:
    """What tells the parameter that an expression reads, of those that the function leaves as they are passed."""
    nodes = walk(function)
    taken = {node.arg for node in walk(function.args) if isinstance(node, ast.arg)}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    return lambda node: node.id if isinstance(node, ast.Name) and node.id in taken - stored else ""


def switched_off(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it is under a setting that is off in every file of the project that sets it, or in those that the
    commands name which start several ranks of the program."""
    if finding.severity is Severity.HINT or finding.code not in WITH_OPTIONS:
        return None
    path = path_of(finding)
    several = [one for one in repository.launches.shown_commands(path) if not starts_one(repository, path, one)]
    named = repository.configurations.named_in(several)
    settings = Settings(setting, lambda name: repository.configurations.off_values(name, named))
    unset = Settings(asked_for, lambda name: repository.configurations.unset_value(name))
    for _, tree, line in parsed(places_of(finding)):
        if (needed := next(needed_at(tree, line, settings), None)) is not None:
            return _off(f"every file that sets {needed.name} has it off", needed)
        if (needed := next(needed_at(tree, line, unset), None)) is not None:
            return _off(f"no file and no command sets {needed.name}", needed)
    return None


def _off(said: str, needed: Needed) -> Confirmation:
    return Confirmation(said, Severity.HINT, condition=f"if {needed.name} is set, ")
