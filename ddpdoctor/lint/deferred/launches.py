"""Where the scripts and texts of a repository start each of its programs, and for which torch. Impure: reads files.

Each answer is by program: (script or text, line) that starts it.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from ddpdoctor.lint.deferred import handed_on, launch_scripts
from ddpdoctor.lint.deferred.configurations import NAMED
from ddpdoctor.lint.deferred.process_numbers import ProcessNumbers
from ddpdoctor.lint.files import is_file, read_file
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import record

#: ends of the names of files that are commands alone
COMMANDS = (".sh", ".slurm", ".sbatch")
#: folders of texts about the folder that they are in
_ABOUT = late_pattern(r"/(?:docs?|documentation|docker|requirements?|install|\.github)(?:[._-][^/]*)?/.*|/[^/]*$")


class Place(NamedTuple):
    """A line of a script or text; of a notebook, of one of its cells."""

    file: str
    line: int
    cell: int | None = None


@record(eq=False)
class Launches:
    """What the scripts and texts say, each read once."""

    #: their contents by path
    scripts: Mapping[str, bytes]
    #: the folder of the repository, "" if there is none
    root: str
    #: of scripts that are not files of their own, where each line is
    places: Mapping[str, Sequence[Place]]
    #: how its programs are told to start several processes
    numbers: ProcessNumbers
    #: programs by path that install what the repository has, and say what that needs
    setups: Mapping[str, bytes]

    @cached_property
    def by_old_launcher(self) -> dict[str, Place]:
        """(script, line) that starts it with the old launcher."""
        commands = {script: raw for script, raw in self.scripts.items() if script.endswith(COMMANDS)}
        return self._started(commands, launch_scripts.started_by_old_launcher)

    @cached_property
    def by_old_launcher_in_texts(self) -> dict[str, Place]:
        """The same of texts in which people write how a program is started."""
        return self._started(self.scripts, launch_scripts.named_by_old_launcher)

    @cached_property
    def launched(self) -> dict[str, Place]:
        """(script or text, line) that starts it with any launcher, or tells it to start several processes."""
        return {**self._by_number, **self._started(self.scripts, launch_scripts.started_by_launcher)}

    @cached_property
    def shown(self) -> dict[str, Place]:
        """The same, also where a comment says how that is done."""
        return {**self._by_number, **self._started(self.scripts, launch_scripts.shown_by_launcher)}

    @cached_property
    def _by_number(self) -> dict[str, Place]:
        """(script or text, line) that tells it how many processes to start, which are several."""
        started = dict[str, Place]()
        for script, raw in self.scripts.items():
            for line, name, command in launch_scripts.alone_with_options(raw):
                program = self._seen_from(script, name)
                if program not in started and self.numbers.tell_several(program, command):
                    started[program] = self._place(script, line)
        return started

    @cached_property
    def by_deepspeed(self) -> dict[str, Place]:
        """(script or text, line) that starts it with DeepSpeed's launcher."""
        return self._started(self.scripts, launch_scripts.started_by_deepspeed)

    @cached_property
    def alone(self) -> dict[str, Place]:
        """(script or text, line) that starts it without a launcher."""
        return self._started(self.scripts, launch_scripts.started_alone)

    @cached_property
    def as_one(self) -> dict[str, Place]:
        """(script or text, line) that starts it as one process, without a launcher or by one."""
        return {**self.as_one_by_launcher, **self.alone}

    @cached_property
    def as_one_by_launcher(self) -> dict[str, Place]:
        """(script or text, line) that starts it as one process by a launcher."""
        return self._started(self.scripts, launch_scripts.started_as_one)

    @cached_property
    def as_one_by_setting(self) -> dict[str, Place]:
        """(script or text, line) that starts it as one process by a launcher, as a variable says that people change."""
        return self._started(self.scripts, launch_scripts.started_as_one_by_setting)

    @cached_property
    def by_launcher(self) -> dict[str, Place]:
        """(script or text, line) that starts it by a launcher as several ranks, or may."""
        return {**self.as_one_by_setting, **self.launched}

    @cached_property
    def as_several(self) -> dict[str, Place]:
        """(script or text, line) that starts it as several ranks, or may, or shows in a comment how that is done."""
        return {**self.shown, **self.by_launcher}

    def start_in(self, path: str) -> bool:
        """Whether a command starts several ranks of a program in the folder of this one, and has its name in a
        variable."""
        return posixpath.dirname(path) in self._folders

    @cached_property
    def _folders(self) -> frozenset[str]:
        named = ((script, folder) for script, raw in self.scripts.items()
                 for folder in launch_scripts.folders_started(raw))  # fmt: skip
        return frozenset(
            posixpath.normpath(f"{around}/{folder}") for script, folder in named for around in self._around(script)
        )

    def _around(self, script: str) -> Iterator[str]:
        """The folder of a script, and those around it in the repository."""
        folder = posixpath.dirname(script)
        yield folder
        while self.root and folder.startswith(f"{self.root}/"):
            folder = posixpath.dirname(folder)
            yield folder

    @property
    def start_unnamed(self) -> bool:
        """Whether a script starts something by a launcher although no program is known to be started by one."""
        scripts = (raw for script, raw in self.scripts.items() if script.endswith(COMMANDS))
        return not self.by_launcher and any(map(launch_scripts.LAUNCHED.search, scripts))

    def commands(self, path: str) -> list[bytes]:
        """Every command that starts a program, with a launcher or without."""
        return [command for _, command in self._commands_of(path)]

    def only_for_others(self, path: str) -> frozenset[bytes]:
        """The files of settings that commands name which start other programs, and none that starts this one."""
        own = set(self.commands(path))
        named = {command: NAMED.findall(command) for _, _, command in self._commands}
        mine = {name for command in own for name in named.get(command, ())}
        return frozenset(name for names in named.values() for name in names) - mine

    def starting(self, path: str) -> list[str]:
        """The scripts and texts that start a program."""
        return list(dict.fromkeys(script for script, _ in self._commands_of(path)))

    def _commands_of(self, path: str) -> Iterator[tuple[str, bytes]]:
        """(script or text, command) of each that starts a program. One that names it from a folder which nothing tells
        may be about any file of the name, but where several have commands of their own: there about what lies below the
        folder that the text speaks of."""
        apart = path in self._namesakes
        for script, program, command in self._commands:
            below = program == path or not apart or path.startswith(f"{_speaks_of(script)}/")
            if below and is_named(program, path):
                yield script, command

    @cached_property
    def _namesakes(self) -> frozenset[str]:
        """The files that commands name for certain, where they so name another file of that name as well."""
        files = {program for _, program, _ in self._commands if is_file(program)}
        names = Counter(map(posixpath.basename, files))
        return frozenset(file for file in files if names[posixpath.basename(file)] > 1)

    def on_nodes(self, path: str) -> Place | None:
        """(script or text, line) that starts a program on several nodes."""
        found = ((script, launch_scripts.on_nodes(self.scripts[script])) for script in self.starting(path))
        return next((self._place(script, line) for script, line in found if line is not None), None)

    def pass_local_rank(self, path: str) -> bool:
        """Whether a script that starts a program gives it the local rank as an option, or none starts it."""
        scripts = self.starting(path)
        return not scripts or any(launch_scripts.passes_local_rank(self.scripts[script]) for script in scripts)

    def own_commands(self, path: str) -> list[bytes]:
        """The commands that start a program from where it lies, not one of its name from a folder that is not told."""
        return [command for _, program, command in self._commands if program == path]

    def shown_commands(self, path: str) -> list[bytes]:
        """Those, and the commands that the comments of the program show."""
        own = launch_scripts.commented_commands(read_file(path) or b"")
        shown = [command for name, command in own if is_named(self._seen_from(path, name), path)]
        return [*self.commands(path), *shown]

    def lines_with(self, path: str) -> list[bytes]:
        """The lines of shell scripts that name a program, by whatever they start it."""
        named = re.compile(rb"(?<![\w-])" + re.escape(os.fsencode(posixpath.basename(path))) + rb"\b")
        scripts = (raw for script, raw in self.scripts.items() if script.endswith(COMMANDS))
        return [line for raw in scripts for line in launch_scripts.lines(raw) if named.search(line)]

    def give_own_gpus(self, path: str) -> bool:
        """Whether each shell script that names a program gives every process one GPU, and shows it no other."""
        scripts = [raw for script, raw in self.scripts.items() if script.endswith(COMMANDS)]
        naming = [raw for raw in scripts if os.fsencode(posixpath.basename(path)) in raw]
        return bool(naming) and all(map(launch_scripts.gives_own_gpus, naming))

    @cached_property
    def naming(self) -> frozenset[str]:
        """The scripts and texts with a command of which the program is known."""
        return frozenset(script for script, _, _ in self._commands)

    @cached_property
    def _commands(self) -> list[tuple[str, str, bytes]]:
        """(script or text, program, command) of each, with what the scripts are called with that hand it on."""
        return [
            (script, program, called)
            for script, raw in self.scripts.items()
            for name, command in launch_scripts.starting_commands(raw)
            if (program := self._seen_from(script, name))
            for called in self._as_called(script, command)
        ]

    def _as_called(self, script: str, command: bytes) -> list[bytes]:
        if not script.endswith(COMMANDS) or not handed_on.hands_on(command):
            return [command]
        return handed_on.as_called(command, os.fsencode(posixpath.basename(script)), self.scripts.values())

    def _started(
        self, texts: Mapping[str, bytes], find: Callable[[bytes], Iterator[tuple[int, str]]]
    ) -> dict[str, Place]:
        started = dict[str, Place]()
        for script, raw in texts.items():
            for line, name in find(raw):
                if program := self._seen_from(script, name):
                    started.setdefault(program, self._place(script, line))
        return started

    def _place(self, script: str, line: int) -> Place:
        return self.places[script][line - 1] if script in self.places else Place(script, line)

    def _seen_from(self, script: str, name: str) -> str:
        """The path of a program that a script names: from its own folder, or the nearest one around that has it; "" for
        a module that the repository does not have."""
        files = [name] if name.endswith(".py") else _files_of(name)
        programs = [posixpath.normpath(f"{folder}/{file}") for folder in self._around(script) for file in files]
        return next(filter(is_file, programs), programs[-1] if name.endswith(".py") else "")

    @cached_property
    def _asking(self) -> dict[str, bytes]:
        """What says which versions the repository needs."""
        return {**self.scripts, **self.setups}

    @cached_property
    def _for_torch_1(self) -> frozenset[str]:
        """The folders of which a text says that they need torch 1."""
        told = (script for script, text in self._asking.items() if launch_scripts.is_for_torch_1(text))
        return frozenset(map(_speaks_of, told))

    @cached_property
    def _for_torch(self) -> frozenset[str]:
        """The folders of which a text names a version of torch."""
        told = (script for script, text in self._asking.items() if launch_scripts.names_torch(text))
        return frozenset(map(_speaks_of, told))

    def are_for_torch_1(self, path: str) -> bool:
        """Whether a text of the folder that a file is in, or of one around that, asks for torch 1; of any folder if
        none of these names a version."""
        if any(path.startswith(f"{folder}/") for folder in self._for_torch):
            return any(path.startswith(f"{folder}/") for folder in self._for_torch_1)
        return bool(self._for_torch_1)

    @cached_property
    def newest_torch(self) -> tuple[tuple[int, int], Place] | None:
        """The newest torch that a text of the repository asks for, other than as the oldest that will do, and where;
        None if none does."""
        asked = (
            (version, self._place(script, line))
            for script, text in self._asking.items()
            for version, line in launch_scripts.pinned_torches(text)
        )
        return max(asked, key=lambda one: one[0], default=None)

    @cached_property
    def python(self) -> tuple[int, int] | None:
        """The oldest Python that a text of the repository asks for, None if none does."""
        return max((asked for text in self._asking.values() for asked in launch_scripts.pythons(text)), default=None)

    @cached_property
    def are_for_lightning_1(self) -> bool:
        """Whether a text of the repository asks for a Lightning before 2."""
        return any(map(launch_scripts.is_for_lightning_1, self._asking.values()))


def place_of(started: Mapping[str, Place], path: str) -> Place | None:
    """Where a program is started; also by its name alone, from a folder that nothing tells."""
    return started.get(path) or next((at for program, at in started.items() if is_named(program, path)), None)


def is_named(program: str, path: str) -> bool:
    """Whether a command's program is this file, as far as that can be told."""
    return program == path or (posixpath.basename(program) == posixpath.basename(path) and not is_file(program))


def _files_of(module: str) -> list[str]:
    """Which files may be run as a module."""
    path = module.replace(".", "/")
    return [f"{start}{path}{end}" for start in ("", "src/") for end in (".py", "/__main__.py")]


def _speaks_of(script: str) -> str:
    """The folder that a text speaks of: its own, or what its documentation is of."""
    return _ABOUT.sub("", script, count=1)
