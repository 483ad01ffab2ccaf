"""Impure. The fixtures: programs that hang, stall or die for a known reason, with the expected verdict."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import ddpdoctor
from ddpdoctor.errors import InputError
from ddpdoctor.model.diagnosis import Deadlock, Outcome
from ddpdoctor.model.ranks import RankSet
from ddpdoctor.repro.case import Case, Harm

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

BACKENDS = ("gloo", "nccl")
#: names of the checks of a run
CHECKS = ("outcome", "deadlock", "code", "culprits", "line", "time", "status", "number", "lint")
LAUNCHERS = ("torchrun", "torch.distributed.run", "accelerate", "spawn", "python")
_KEYS = frozenset(
    {
        *("code", "name", "summary", "ranks", "culprits", "elsewhere", "locate", "deadlock", "outcome"),
        *("launcher", "lint", "stall_after", "sometimes_proven", "needs", "packages", "seconds"),
        *("backends", "only_because", "nccl_differs"),
    }
)
#: `outcome` of a program that neither hangs nor dies, and the keys that describe how the harm shows
_HARM = "harm"
_HARM_KEYS = frozenset({"measure", "harmed", "cured", "fails"})
#: keys that only a hang or a crash has
_VERDICT_KEYS = frozenset({"culprits", "elsewhere", "deadlock", "stall_after", "sometimes_proven"})


def root() -> Path:
    """The folder of the fixtures: in the installed package, or beside it in a checkout.

    Raises InputError if there is neither.
    """
    package = Path(ddpdoctor.__file__).parent
    for folder in (package / "fixtures", package.parent / "fixtures"):
        if folder.is_dir():
            return folder
    raise InputError("the fixtures are not installed", hint="install ddpdoctor from its wheel or its checkout")


def names(folder: Path) -> list[str]:
    """Names of all fixtures in a folder."""
    return sorted(path.parent.name for path in folder.glob("*/fixture.toml"))


def load_all(folder: Path) -> tuple[Case, ...]:
    """Every fixture, sorted by code. Raises InputError for one that is not well-formed."""
    return tuple(sorted((load(folder / name) for name in names(folder)), key=lambda case: (case.code, case.name)))


def load(folder: Path) -> Case:
    """Read one fixture. Raises InputError that names the file and the error."""
    path = folder / "fixture.toml"
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {error}", hint="see the other fixtures for the form") from None
    fields = _TomlFields(path, values)
    outcome = fields.choice("outcome", [*(o.value for o in Outcome), _HARM])
    keys = (_KEYS - _VERDICT_KEYS) | _HARM_KEYS if outcome == _HARM else _KEYS
    unknown = sorted(values.keys() - keys)
    if unknown:
        raise fields.wrong(unknown[0], f"is not a key; keys are {', '.join(sorted(keys))}")
    if fields.get("name", str) != folder.name:
        raise fields.wrong("name", f"must be the folder's name, {folder.name!r}")
    ranks = fields.get("ranks", int)
    backends = fields.some("backends", BACKENDS)
    if bool(fields.get("only_because", str, "")) is not (len(backends) == 1):
        raise fields.wrong("only_because", "states why there is one backend only, and nothing else")
    return Case(
        name=folder.name,
        code=fields.code("code"),
        summary=fields.get("summary", str),
        folder=folder,
        ranks=ranks,
        culprits=RankSet() if outcome == _HARM else fields.ranks("culprits", ranks),
        line=_line_of(folder / "broken.py", fields),
        deadlock=Deadlock.NO if outcome == _HARM else Deadlock(fields.choice("deadlock", [d.value for d in Deadlock])),
        sometimes_proven=fields.flag("sometimes_proven"),
        outcome=Outcome.HEALTHY if outcome == _HARM else Outcome(outcome),
        launcher=fields.choice("launcher", LAUNCHERS),
        lint=fields.code("lint", ""),
        stall_after=fields.get("stall_after", int) if "stall_after" in values else None,
        needs=fields.choice("needs", ("", "gpu", "multi-node"), ""),
        seconds=fields.get("seconds", int),
        packages=fields.modules("packages"),
        harm=_harm(fields) if outcome == _HARM else None,
        elsewhere=fields.ranks_by_number("elsewhere"),
        backends=backends,
        only_because=fields.get("only_because", str, ""),
        nccl_differs=fields.some("nccl_differs", CHECKS) if "nccl_differs" in values else (),
    )


def _harm(fields: _TomlFields) -> Harm:
    return Harm(
        measure=fields.get("measure", str),
        harmed=fields.bounds("harmed"),
        cured=fields.bounds("cured"),
        fails=fields.flag("fails"),
    )


@dataclass(frozen=True, slots=True)
class _TomlFields:
    path: Path
    values: Mapping[str, Any]

    def wrong(self, key: str, fault: str) -> InputError:
        return InputError(f"{self.path}: {key!r} {fault}")

    def get(self, key: str, kind: type[T], default: T | None = None) -> T:
        value = self.values.get(key, default)
        if value is None:
            raise self.wrong(key, "is missing")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.wrong(key, f"must be a {kind.__name__}, found {value!r}")
        return value

    def flag(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, f"must be true or false, found {value!r}")
        return value

    def choice(self, key: str, choices: list[str] | tuple[str, ...], default: str | None = None) -> str:
        value = self.get(key, str, default)
        if value not in choices:
            raise self.wrong(key, f"is {value!r}; it can be {', '.join(map(repr, choices))}")
        return value

    def some(self, key: str, choices: tuple[str, ...]) -> tuple[str, ...]:
        """One or more of the choices, without repetition."""
        values = self.get(key, list)
        if not values or not set(map(str, values)) <= set(choices) or len(set(map(str, values))) < len(values):
            raise self.wrong(key, f"must be some of {', '.join(choices)}, found {values!r}")
        return tuple(values)

    def modules(self, key: str) -> tuple[str, ...]:
        """Names of modules, none if the key is missing."""
        values = self.get(key, list, [])
        if not all(isinstance(value, str) and value.isidentifier() for value in values):
            raise self.wrong(key, f"must be a list of names of packages, found {values!r}")
        return tuple(values)

    def code(self, key: str, default: str | None = None) -> str:
        value = self.get(key, str, default)
        if value != default and not re.fullmatch(r"DD\d{3}", value):
            raise self.wrong(key, f"must be a code such as DD201, found {value!r}")
        return value

    def ranks(self, key: str, world_size: int) -> RankSet:
        return self._ranks(key, self.get(key, list), world_size)

    def ranks_by_number(self, key: str) -> Mapping[int, RankSet]:
        """A table from a number of ranks to some of them."""
        found: dict[int, RankSet] = {}
        for number, values in self.get(key, dict, {}).items():
            if not number.isdigit() or not isinstance(values, list):
                raise self.wrong(key, f"must give a list of ranks for a number of ranks, found {number} = {values!r}")
            found[int(number)] = self._ranks(key, values, int(number))
        return found

    def _ranks(self, key: str, values: list[Any], world_size: int) -> RankSet:
        if not all(isinstance(v, int) and not isinstance(v, bool) and 0 <= v < world_size for v in values):
            raise self.wrong(key, f"must be a list of ranks below {world_size}, found {values!r}")
        return RankSet.of(values)

    def bounds(self, key: str) -> tuple[int, int]:
        values = self.get(key, list)
        if [type(v) for v in values] != [int, int] or values[0] > values[1]:
            raise self.wrong(key, f"must be the least and the greatest whole number, found {values!r}")
        return values[0], values[1]


def _line_of(broken: Path, fields: _TomlFields) -> int:
    """Number of the only line that contains the text of `locate`."""
    wanted = fields.get("locate", str)
    try:
        lines = broken.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{broken}: {error.strerror}", hint="a fixture has broken.py and fixed.py") from None
    found = [number for number, line in enumerate(lines, 1) if wanted in line]
    if len(found) != 1:
        raise fields.wrong("locate", f"must be the text of one line of broken.py; {len(found)} lines contain it")
    return found[0]
