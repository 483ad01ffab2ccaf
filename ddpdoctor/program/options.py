"""Options of a program's command line, as the calls that declare them are written. Nothing is evaluated here.

Read are argparse's `add_argument` and optparse's `add_option`, click's `option`, and absl's `DEFINE_integer` and its
like.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Set

from ddpdoctor.model.record import record
from ddpdoctor.program.nodes import last_name

#: what stores a constant, and what that leaves where nobody gives the option
_SWITCHES = {"store_true": False, "store_false": True}


@record(frozen=True, slots=True)
class Option:
    """An option: how it is given, the name under which the program reads it, and what it is otherwise."""

    #: the call that declares it
    node: ast.Call
    #: as it is given: `--local-rank`, `-r`; of a positional argument its name
    flags: tuple[str, ...]
    #: the name under which the program reads it
    dest: str
    #: what it is where nobody gives it, also where that is not written; None if that cannot be seen, or if it has to
    #: be given
    default: ast.expr | None
    help: ast.expr | None

    @property
    def flag(self) -> str:
        """How it is given, in the spelling that says most."""
        return (*filter(_is_long, self.flags), *self.flags, self.dest)[0]

    @property
    def default_text(self) -> str:
        """`nccl` for `add_argument("--backend", default="nccl")`; "" where its default is no text."""
        given = self.default.value if isinstance(self.default, ast.Constant) else None
        return given if isinstance(given, str) else ""

    @property
    def names(self) -> frozenset[str]:
        """Its flags as names, and the name under which it is read."""
        return frozenset((self.dest, *map(_name, self.flags)))


def by_dest(calls: Iterable[ast.Call], renamed: Set[str] = frozenset()) -> dict[str, list[Option]]:
    """The options that some calls declare, by the name under which the program reads them."""
    found: dict[str, list[Option]] = {}
    for call in calls:
        option = declared_by(call, renamed)
        if option is not None:
            found.setdefault(option.dest, []).append(option)
    return found


#: methods and functions that declare one
_DECLARING = frozenset({"add_argument", "add_option", "option"})


def renamed_in(assignments: Iterable[ast.Assign]) -> frozenset[str]:
    """Other names of the methods that declare options: `arg = parser.add_argument`."""
    given = (node for node in assignments if isinstance(node.value, ast.Attribute) and node.value.attr in _DECLARING)
    return frozenset(target.id for node in given for target in node.targets if isinstance(target, ast.Name))


def declared_by(call: ast.Call, renamed: Set[str] = frozenset()) -> Option | None:
    """The option that a call declares, if it does and the option's name is written there; `renamed`: other names of the
    methods that do."""
    function = "add_argument" if isinstance(call.func, ast.Name) and call.func.id in renamed else last_name(call.func)
    if function.startswith("DEFINE_"):
        return _of_absl(call)
    if function not in _DECLARING:
        return None
    flags = tuple(filter(None, map(_text, call.args)))
    if function == "option" and not any(flag.startswith("-") for flag in flags):
        return None  # not click's
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    dest = _text(given.get("dest")) or _dest(flags)
    return Option(call, flags, dest, _default(flags, given), given.get("help")) if dest else None


def _of_absl(call: ast.Call) -> Option | None:
    """`flags.DEFINE_integer("epochs", 1, "how often")`."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    given = {**dict(zip(("name", "default", "help"), call.args, strict=False)), **given}
    name = _text(given.get("name"))
    return Option(call, (f"--{name}",), name, given.get("default"), given.get("help")) if name else None


def _default(flags: tuple[str, ...], given: dict[str | None, ast.expr]) -> ast.expr | None:
    if "default" in given:
        return given["default"]
    required = given.get("required")
    optional = required is None or (isinstance(required, ast.Constant) and not required.value)
    # further arguments may hold one
    if None in given or not optional or not any(flag.startswith("-") for flag in flags):
        return None
    is_flag = given.get("is_flag")
    if isinstance(is_flag, ast.Constant) and is_flag.value:
        return ast.Constant(value=False)
    return ast.Constant(_SWITCHES.get(_text(given.get("action"))))


def _dest(flags: tuple[str, ...]) -> str:
    """The name under which an option is read if none is given: a plain name, or the first of the longest flags."""
    plain = (flag for flag in flags if not flag.startswith("-"))
    return next((_name(flag) for flag in (*plain, *filter(_is_long, flags), *flags)), "")


def _is_long(flag: str) -> bool:
    return flag.startswith("--")


def _name(flag: str) -> str:
    """A flag as a name: `local_rank` of `--local-rank`; of click's `--amp/--no-amp` the first."""
    return flag.partition("/")[0].lstrip("-").replace("-", "_")


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
