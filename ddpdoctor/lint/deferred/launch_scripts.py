"""How the scripts and texts of a repository start its programs: by which launcher, and for which torch. Pure.

A program is a path (`tools/train.py`), or of `-m` a dotted name (`tools.train`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ddpdoctor.model.late_pattern import late_pattern

#: commands with the numbers of their first lines
_Commands = tuple[tuple[int, bytes], ...]

#: the launcher that passes the local rank as an option
OLD_LAUNCHER = late_pattern(rb"torch\.distributed\.launch\b(?![^\n]*--use[-_]env)")
#: any launcher
LAUNCHED = late_pattern(
    rb"torch\.distributed\.(launch|run)\b|\b(?:lightning|fabric)\s+run\b"
    rb"|\b(torchrun|srun|mpirun|mpiexec|jsrun|dist-run|accelerate\s+launch|deepspeed|horovodrun|colossalai\s+run)\b"
)
#: what tells a program by hand that it is one of several ranks
_TOLD = rb"--(?:rank|world[-_]size|node[-_]rank|nnodes|num[-_]nodes)\b|\b(?:RANK|WORLD_SIZE)="
#: the interpreter, or a program that is run as a file, which is a command of its own
_RUN = rb"(?:[^\n]*?\bpython[\d.]*\s+(?!-m\s+torch\b)|[\s$>]*(?:\w+=\S+\s+)*(?=\./[\w./-]+\.py(?:\s|$)))"
#: such a command without a launcher, and one that is told its rank
_PYTHON = late_pattern(
    rb"^(?![^\n]*(?:torch\.distributed|torchrun|srun|mpirun|mpiexec|accelerate|deepspeed|horovodrun|colossalai\s+run|"
    + _TOLD
    + rb"))"
    + _RUN
)
_BY_HAND = late_pattern(rb"^(?=[^\n]*(?:" + _TOLD + rb"))" + _RUN)
#: what every command has that starts a program in one of these ways
_STARTS = (
    rb"python|\./[\w./-]+\.py|torch|srun|mpi(?:run|exec)|dist-run|accelerate|deepspeed|horovodrun|colossalai"
    rb"|(?:lightning|fabric)\s+run"
)
_MAY_START = late_pattern(_STARTS)
#: DeepSpeed's launcher, which passes the local rank as an option with an underscore
_DEEPSPEED = late_pattern(rb"^[^\n]*?(?<![\w./-])deepspeed[ \t](?![^\n]*--no_local_rank)")
#: a launcher that starts one process, or DeepSpeed's on one GPU of one machine, unless it is started on several nodes
_ONE_PROCESS = late_pattern(
    rb"--(?:nproc[-_]per[-_]node|num[-_]processes|num[-_]gpus)[= ]+[\"']?1(?!\d)"
    rb"|--include[= ]+[\"']?[\w.-]+:\d+(?![\d,:@-])"
    rb"|\b(?:lightning|fabric)\s+run\b[^\n]*--devices[= ]+[\"']?1(?![\d,])"
)
_SEVERAL_NODES = late_pattern(rb"--(?:nnodes|num[-_](?:nodes|machines))[= ]+(?![\"']?1(?!\d))\S")
#: what starts a program on several nodes, or is told to: a launcher, Slurm, PBS, a setting of the program
_ON_NODES = late_pattern(
    rb"--(?:nnodes|num[-_](?:nodes|machines))[= ]+(?![\"']?1(?!\d))\S|--(?:node|machine)[-_]rank[= ]+[\"']?[1-9$]"
    rb"|^#SBATCH\s+(?:--nodes|-N)[= ]*(?!1(?!\d))\d"
    rb"|^#PBS\s+(?:-l\s*)?(?:select|nodes)=(?!1(?!\d))\d(?![^\n]*\bngpus=[01](?!\d))"
    rb"|(?<![\w-])(?:[\w.]+\.)?(?:nnodes|num_(?:nodes|machines))=(?!1(?!\d))\d"
    rb"|^\s*\"nodes\"\s*:\s*(?!1(?!\d))\d",
    re.MULTILINE,
)
#: a comment, which is not for Slurm or PBS
_ASIDE = late_pattern(rb"\s*#(?!SBATCH|PBS)")
#: Slurm shows each process one GPU, which is GPU 0 to it
_OWN_GPU = late_pattern(rb"--gpus-per-task[= ]+1(?!\d)")
_LOCAL_RANK = late_pattern(rb"--local[-_]rank")
#: how many processes Slurm starts of a command (manual page of srun): one, unless tasks, nodes, or GPUs for each task
#: are asked for
_TASKS = rb"(?<![\w-])(?:--(?:ntasks|nodes|ntasks-per-node)[= ]+|-[nN][= ]*)[\"']?"
_SEVERAL_TASKS = rb"(?:" + _TASKS + rb"(?!1(?![\d-]))\S|--(?:ntasks-per-(?!node)|gpus-per-task))"
_BATCH_JOB = late_pattern(rb"^#SBATCH\s", re.MULTILINE)
_STARTS_SEVERAL = late_pattern(_SEVERAL_TASKS)
_BATCH_OF_SEVERAL = late_pattern(rb"^#SBATCH(?=\s)[^\n#]*\s" + _SEVERAL_TASKS, re.MULTILINE)
_ONE_TASK = late_pattern(rb"(?<![\w-])(?:--ntasks[= ]+|-n[= ]*)[\"']?1(?![\d-])")
#: its launcher, and the options before what it starts
_SRUN = late_pattern(
    rb"\bsrun(\s[^\n]*?)(?=\b(?:python|torchrun|accelerate|deepspeed|bash|sh)\b|[\w./-]+\.(?:py|sh)\b)"
)
#: how a line of a comment begins
_COMMENT = late_pattern(rb"^[ \t]*#+[ \t]*", re.MULTILINE)
#: blanks, and perhaps a comment, behind the sign that a line goes on
_TRAILING = late_pattern(rb"\\[ \t]+(?:#[^\n]*)?(?=\n)")
_CONTINUED = late_pattern(rb"\\\r?\n")
#: the sign at the end of a comment, which does not go on: what follows is a command, unless it is an option
_ENDED_COMMENT = late_pattern(rb"^([ \t]*#[^\n]*?)\\[ \t]*(?=\n[ \t]*[^#\s-])", re.MULTILINE)
#: a command ends here
_ENDS = late_pattern(rb"[|;&]")
#: what a shell puts in place: `$(dirname "$0")`, `${ROOT}`, `$1`
_EXPANDED = late_pattern(rb"\$\([^)]{0,200}\)|\$\{[^}]{0,200}\}|\$\w+|\$@")
#: a variable that holds a program or a launcher, and its use
_HOLDS = late_pattern(
    rb"^[ \t]*(?:export[ \t]+|set[ \t]+)?(\w+)=[\"']?("
    rb"[\w./${}-]+\.py(?=[\"']?[ \t\r]*$)"
    rb"|(?!\d+[ \t])"
    rb"[^\n\"']*(?:torch\.distributed\.(?:launch|run)|torchrun|accelerate\s+launch|mpirun|mpiexec|horovodrun)\b[^\n\"']*)",
    re.MULTILINE,
)
_VARIABLE = late_pattern(rb"\$(?:\{(\w+)\}|(\w+))")
#: what a variable is given, and what else gives one something
_GIVEN = late_pattern(rb"(?<![\w$.-])(\w+)=([^\s;&|)]*)|\b(?:for|read)[ \t]+(?:-\w+[ \t]+)*(\w+)")
_PROGRAM = late_pattern(
    rb"(?<![\w./-])(?:([\w./-]*\w\.py)(?![\w.])|(?:-m|--module)[= ]+([A-Za-z_]\w*(?:\.\w+)*)(?![\w/-]))"
)
_MOVES = late_pattern(rb"^[^\n#]*\b(?:cd|pushd)\s", re.MULTILINE)
#: an image of torch: its authors' by the version, NVIDIA's by year and month, with torch 1 to the end of 2022
_IMAGE = rb"\bpytorch/pytorch:v?|(?:nvidia|nvcr\.io[\w/-]*)/pytorch:"
#: behind a version that is only the oldest one that will do
_OR_NEWER = (
    rb"(?![\d.]*\s*(?:\+(?!cu|cpu|rocm)|(?:or|and) (?:above|later|newer|higher|up)|"
    + "(?:及|或)?(?:以上|更高)".encode()
    + rb"))"
)
#: the name of torch before its version, in a text perhaps as a link: `[PyTorch](https://pytorch.org) version`
_NAMED = rb"\b(?:py)?torch(?:\]\([^)\n]{0,200}\))?(?:\s+version)?"
#: a version of torch before 2 that is asked for or was used
_TORCH_1 = late_pattern(
    rb"\bpytorch/pytorch:v?[01]\.\d+|nvidia/pytorch:(?:1\d|2[0-2])\.\d|"
    + _NAMED
    + rb"(?:\s*(?:==?|~=|:)\s*|\s+\(?v?|[-_]?v?)[01]\.\d+"
    + _OR_NEWER,
    re.IGNORECASE,
)
#: any such version
_PINNED = late_pattern(
    rb"(?:\bpytorch/pytorch:v?|" + _NAMED + rb"(?:\s*(?:==?|~=|:)\s*|\s+\(?v?))(\d+)\.(\d+)" + _OR_NEWER, re.IGNORECASE
)
#: the versions that will do, to the newest one: `torch>=1.9,!=1.10,<1.12`, of Poetry `torch = ">=1.9,<2"`
_RANGE = late_pattern(
    rb"\b(?:py)?torch(?:\[[\w,-]*\])?(?:\s*=\s*[\"'])?\s*\(?(?:[<>=!~^]=?=?\s*v?\d[\w.*+]*\s*,\s*)*"
    rb"<(=?)\s*v?(\d+)(?:\.(\d+))?((?:\.\d+)*)",
    re.IGNORECASE,
)
#: the last torch before the first of a new series
_LAST_BEFORE = {1: (0, 4), 2: (1, 13)}
#: what torch 2 cannot be installed or imported beside: it needs Python 3.8, for which there is no TensorFlow 1; no
#: `mmcv-full` was built for it; timm 0.3 imports `torch._six`; and its packages name CUDA `pytorch-cuda`, not
#: `cudatoolkit`, since 11.7
_BESIDE_TORCH_1 = late_pattern(
    rb"\bpython\s*(?:==?|~=|:|\s)\s*3\.[67](?![\d.]*\s*(?:\+|~|/|,\s*3|to\b|(?:or|and)\b)|[\d.]*-\d)"
    rb"|\bmmcv[-_]full(?:==|<=?|~=|\s+)\s*v?1\.\d"
    rb"|\btensorflow(?:[-_]gpu)?\s*(?:==?|~=)\s*1\.\d|\btimm\s*(?:==?|~=)\s*0\.3\."
    rb"|\bcudatoolkit\s*==?\s*(?:9|10|11\.[0-6])\b",
    re.IGNORECASE,
)
_TORCH_2 = late_pattern(_NAMED + rb"(?:\s*(?:[=~]=?|:)\s*|\s+\(?v?)[2-9]\.\d", re.IGNORECASE)
_LIGHTNING_1 = late_pattern(
    rb"(?<![a-z])lightning(?:\[\w+\])?\s*(?:[<>=!~]=?\s*v?[\d.*]+\s*,\s*)*(?:(?:==?|<=?|~=)\s*[01]\.\d|<\s*2)",
    re.IGNORECASE,
)
#: the oldest Python on which a project can be installed
_OLDEST_PYTHON = late_pattern(
    rb"^[ \t]*(?:requires-python|python[-_]requires|python)[ \t]*[:=][ \t]*[\"']?[ \t]*"
    rb"(?:>=|\^|~=?|==)[ \t]*(\d+)\.(\d+)",
    re.MULTILINE,
)
#: any version of torch that is asked for or was used
_TORCH = late_pattern(
    rb"(?:" + _NAMED + rb"(?:\s*(?:[=<>~!]=?|:)\s*|\s+\(?v?)|" + _IMAGE + rb")\d+\.\d+", re.IGNORECASE
)


def joined(text: bytes) -> bytes:
    """The text with lines that go on put together."""
    return _CONTINUED.sub(b" ", text)


def started_by_old_launcher(script: bytes) -> Iterator[tuple[int, str]]:
    """(line, program) of each command of a shell script with the old launcher, the program as seen from the script.

    Nothing of a script that goes to another folder first.
    """
    if not _MOVES.search(script):
        yield from _started(script, OLD_LAUNCHER)


def named_by_old_launcher(text: bytes) -> Iterator[tuple[int, str]]:
    """The same of a text, or of a script that goes to another folder, from which the program is not seen."""
    yield from _started(text, OLD_LAUNCHER)


def started_by_launcher(text: bytes) -> Iterator[tuple[int, str]]:
    """(line, program) of each command of a script or text with any launcher, or that is told its rank by hand."""
    for by in (LAUNCHED, _BY_HAND):
        yield from _started(text, by, one=False)


def shown_by_launcher(text: bytes) -> Iterator[tuple[int, str]]:
    """(line, program) of each such command, also of those in comments: `# or: torchrun train.py`."""
    if _MAY_START.search(text) is None:
        return
    commands = _filtered(text, _commands(_COMMENT.sub(b"", text), starting=True))
    for by in (LAUNCHED, _BY_HAND):
        yield from _by(commands, by, one=False)


#: a program of which a command names only the folder: `training/${PROGRAM}`, `tools/$1.py`
_IN_FOLDER = late_pattern(rb"[\"']?(?:\./)?((?:[\w.-]+/)+)\$(?:\{\w+\}|\w+)(?:\.py)?[\"']?$")


def folders_started(text: bytes) -> Iterator[str]:
    """The folders, as seen from the text, of the programs that commands with a launcher name by a variable."""
    for _, line in _starting(text):
        launcher = LAUNCHED.search(line)
        words = line[launcher.end() :].split() if launcher is not None else []
        for before, word in zip([b"", *words], words, strict=False):
            found = _IN_FOLDER.match(word)
            # behind `--config_file` it may be what that is given
            if found is not None and (b"=" in before or not before.startswith(b"-")):
                yield found[1].decode("utf-8", "replace")


def started_by_deepspeed(text: bytes) -> Iterator[tuple[int, str]]:
    """(line, program) of each command with DeepSpeed's launcher."""
    yield from _started(text, _DEEPSPEED)


def started_alone(text: bytes) -> Iterator[tuple[int, str]]:
    """(line, program) of each command of a script or text that starts a program without a launcher."""
    yield from _started(text, _PYTHON)


def alone_with_options(text: bytes) -> Iterator[tuple[int, str, bytes]]:
    """(line, program, command) of each command that starts a program without a launcher and gives it options."""
    for number, line in _starting(text):
        program = _program(line, _PYTHON) if b" -" in line else ""
        if program:
            yield number, program, line


def started_as_one(text: bytes) -> Iterator[tuple[int, str]]:
    """(line, program) of each command with a launcher that is told to start one process."""
    yield from _started(text, LAUNCHED, one=True)


def started_as_one_by_setting(text: bytes) -> Iterator[tuple[int, str]]:
    """The same of those that a variable tells, whose number people change."""
    fixed = {number for number, line in _starting(text, with_numbers=False) if _is_one(line)}
    yield from (found for found in started_as_one(text) if found[0] not in fixed)


def lines(script: bytes) -> Iterator[bytes]:
    """The lines of a script that are no comments, put together where they go on."""
    return (line for _, line in _commands(script) if not line.lstrip().startswith(b"#"))


def starting_commands(text: bytes) -> Iterator[tuple[str, bytes]]:
    """(program, command) of each command that starts a program, with a launcher or without."""
    for _, line in _starting(text):
        program = next(filter(None, (_program(line, by) for by in (LAUNCHED, _BY_HAND, _PYTHON))), "")
        if program:
            yield program, line


def commented_commands(program: bytes) -> Iterator[tuple[str, bytes]]:
    """(program, command) of each command in the comments and texts inside a program, which say how it is started."""
    if LAUNCHED.search(program) or b"python" in program:
        yield from starting_commands(_COMMENT.sub(b"", program))


def says_launched(program: bytes) -> bool:
    """Whether comments and texts inside a program show a launcher that starts several of it."""
    return LAUNCHED.search(program) is not None and any(
        LAUNCHED.search(command) and not _is_one(command) for _, command in commented_commands(program)
    )


def _started(text: bytes, by: re.Pattern[bytes], *, one: bool | None = None) -> Iterator[tuple[int, str]]:
    """`one`: only of commands that start one process, or only of others."""
    return _by(_starting(text), by, one=one)


def _by(commands: _Commands, by: re.Pattern[bytes], *, one: bool | None) -> Iterator[tuple[int, str]]:
    for number, line in commands:
        program = _program(line, by)
        if program and (one is None or one is _is_one(line)):
            yield number, program


@lru_cache(maxsize=1 << 12)  # as `_starting`: asked of each program that a text starts
def on_nodes(text: bytes) -> int | None:
    """The first line that starts a program on several nodes, or says that it will be; None if there is none."""
    said = ((number, line) for number, line in _commands(text) if not _ASIDE.match(line))
    return next((number for number, line in said if _ON_NODES.search(line) is not None), None)


def passes_local_rank(text: bytes) -> bool:
    """Whether a script gives a program its local rank as an option, or has a launcher that does."""
    return _LOCAL_RANK.search(text) is not None or OLD_LAUNCHER.search(text) is not None


def is_one_on_its_node(line: bytes) -> bool:
    """Whether a command with a launcher starts one process on each machine."""
    return _ONE_PROCESS.search(line) is not None


def needs_no_local_rank(line: bytes) -> bool:
    """Whether a command starts one process, or by a launcher that passes the option with an underscore."""
    if OLD_LAUNCHER.search(line) is not None:
        return False
    if LAUNCHED.search(line) is not None:
        return _is_one(line) or _DEEPSPEED.search(line) is not None
    return _PYTHON.search(line) is not None


def gives_own_gpus(script: bytes) -> bool:
    """Whether a script gives each process one GPU, and shows it no other."""
    return _OWN_GPU.search(script) is not None


def _is_one(line: bytes) -> bool:
    return _ONE_PROCESS.search(line) is not None and _SEVERAL_NODES.search(line) is None


def _program(line: bytes, by: re.Pattern[bytes]) -> str:
    """The program that a command starts by this launcher, "" if none."""
    found = by.search(line)
    if found is None or line.lstrip().startswith(b"#"):
        return ""
    plain = _EXPANDED.sub(b".", line[found.end() :]).translate(None, b"\"'")
    program = _PROGRAM.search(_ENDS.split(plain)[0])
    return (program[1] or program[2]).decode("utf-8", "replace") if program is not None else ""


@lru_cache(maxsize=1 << 12)  # more than the texts of a repository that are read, twice
def _starting(text: bytes, *, with_numbers: bool = True) -> _Commands:
    """The commands of a repository's text that may start a program, which are asked for again and again."""
    if _MAY_START.search(text) is None:
        return ()
    if not with_numbers and b"$" not in text:
        return _starting(text)
    return _filtered(text, _commands(text, None if with_numbers else {}, starting=True))


def _plain(text: bytes, commands: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The commands of a text, without Slurm's launcher where it starts one process."""
    as_one = _BATCH_JOB.search(text) is not None and _BATCH_OF_SEVERAL.search(text) is None

    def started(found: re.Match[bytes]) -> bytes:
        several = _STARTS_SEVERAL.search(found[1]) is not None
        return found[0] if several or not (as_one or _ONE_TASK.search(found[1])) else found[1]

    return ((number, _SRUN.sub(started, line) if b"srun" in line else line) for number, line in commands)


def _filtered(text: bytes, commands: Iterator[tuple[int, bytes]]) -> _Commands:
    """Those commands of a text that may start a program: few of its lines."""
    starting = ((number, line) for number, line in commands if _MAY_START.search(line) is not None)
    return tuple((n, line) for n, line in _plain(text, starting) if _ASKS_FOR_HELP.search(line) is None)


#: a command that ends at once
_ASKS_FOR_HELP = late_pattern(rb"(?<!\S)(?:--help|-h)\s*$")


def _commands(
    script: bytes, numbers: dict[bytes, list[bytes]] | None = None, *, starting: bool = False
) -> Iterator[tuple[int, bytes]]:
    """Each command with the number of its first line; for each program or launcher that a variable in it may hold, with
    that, and with the numbers that its variables are always given, if these are not named; `starting`: those that start
    nothing may be left out."""
    programs: dict[bytes, list[bytes]] = {}
    if b"$" in script:
        programs = _numbers(script) if numbers is None else dict(numbers)
        for name, program in _HOLDS.findall(script):
            programs.setdefault(name, []).append(program)
    text = _TRAILING.sub(b"\\\\", script.replace(b"\r\n", b"\n"))
    text = _ENDED_COMMENT.sub(rb"\1", text) if b"#" in text else text
    for number, command in lines_to_read(text) if starting else numbered_lines(text):
        yield from ((number, line) for line in _with_programs(joined(command), programs))


def numbered_lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines of a text with their numbers, each with those in which it goes on."""
    number = 1
    for line in re.split(rb"(?<!\\)\n", text):
        yield number, line
        number += 1 + line.count(b"\n")


#: what a line has that may start something: it says so, a variable may hold what does, or it goes on
TO_READ = late_pattern(_STARTS + rb"|\$|\\\n")
_END = late_pattern(rb"(?<!\\)\n")


def lines_to_read(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Those of them that may start something: few in most texts."""
    number, counted, end = 1, 0, -1
    for found in TO_READ.finditer(text):
        if found.start() < end:
            continue
        begin = found.start()
        # back to where the line begins that goes on here
        while (before := text.rfind(b"\n", 0, begin)) >= 0:
            begin = before
            if not text.endswith(b"\\", 0, before):
                break
        begin = begin + 1 if before >= 0 else 0
        ended = _END.search(text, found.start())
        end = ended.start() if ended is not None else len(text)
        number += text.count(b"\n", counted, begin)
        counted = begin
        yield number, text[begin:end]


def _numbers(script: bytes) -> dict[bytes, list[bytes]]:
    """The variables that a script gives one number, and nothing else anywhere."""
    given: dict[bytes, set[bytes]] = {}
    for name, value, other in _GIVEN.findall(script):
        given.setdefault(name or other, set()).add(value.strip(b"\"'"))
    return {name: [*values] for name, values in given.items() if len(values) == 1 and next(iter(values)).isdigit()}


def _with_programs(command: bytes, held: dict[bytes, list[bytes]]) -> Iterator[bytes]:
    """The command with what its variables may hold in their places."""
    used = None
    if b"$" in command:
        used = next((found for found in _VARIABLE.finditer(command) if _name(found) in held), None)
    if used is None:
        yield command
        return
    name = _name(used)
    others = {other: values for other, values in held.items() if other != name}
    for value in held[name]:
        yield from _with_programs(command[: used.start()] + value + command[used.end() :], others)


def _name(variable: re.Match[bytes]) -> bytes:
    found: bytes = variable.group(variable.lastindex or 0)
    return found


def is_for_torch_1(text: bytes) -> bool:
    """Whether a text asks for a torch before 2, which passes the option with an underscore, or for what there is only
    with such a torch."""
    beside = _BESIDE_TORCH_1.search(text) is not None and _TORCH_2.search(text) is None
    return beside or _TORCH_1.search(text) is not None or any(newest < (2, 0) for newest, _ in _ranges(text))


def pinned_torches(text: bytes) -> Iterator[tuple[tuple[int, int], int]]:
    """(version, line) of each torch that a text asks for, other than as the oldest that will do; of a range, the newest
    that is in it."""
    named = (((int(found[1]), int(found[2])), found.start()) for found in _PINNED.finditer(text))
    for version, at in (*named, *_ranges(text)):
        yield version, text.count(b"\n", 0, at) + 1


def _ranges(text: bytes) -> Iterator[tuple[tuple[int, int], int]]:
    """(newest version, place) of each range of torch."""
    for found in _RANGE.finditer(text):
        major, minor = int(found[2]), int(found[3] or 0)
        # the bound itself, or what is older than a later version of its series: `<=1.12`, `<1.12.1`
        if found[1] or found[4].strip(b".0"):
            yield (major, minor), found.start()
        else:
            yield (major, minor - 1) if minor else _LAST_BEFORE.get(major, (major, minor)), found.start()


def pythons(text: bytes) -> Iterator[tuple[int, int]]:
    """The oldest Pythons that a text asks for, as a package says it."""
    yield from ((int(major), int(minor)) for major, minor in _OLDEST_PYTHON.findall(text))


def is_for_lightning_1(text: bytes) -> bool:
    """Whether a text asks for a Lightning before 2."""
    return _LIGHTNING_1.search(text) is not None


def names_torch(text: bytes) -> bool:
    """Whether a text names a version of torch, or of what decides it."""
    return any(pattern.search(text) is not None for pattern in (_TORCH, _RANGE, _BESIDE_TORCH_1))
