"""Impure: reads pyproject.toml. The settings of `watch`: options come before variables, and these before the file.

A project's file is whoever's code one happens to run: it can name neither a command to run, nor an address to tell, nor
a file to write.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ddpdoctor.cli import options, project_file
from ddpdoctor.errors import UsageError

_PREFIX = "DDPDOCTOR_"
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


@dataclass(frozen=True, slots=True)
class Setting:
    """An option of `watch` that can be set elsewhere, too."""

    name: str
    default: str | bool | None
    #: what a project's file may set it to: "any", "nothing", or one of these words
    project: str = "any"
    #: holds a secret: shown in part
    secret: bool = False

    @property
    def variable(self) -> str:
        return _PREFIX + self.name.upper().replace("-", "_")

    @property
    def attribute(self) -> str:
        """Its name among parsed arguments."""
        return self.name.replace("-", "_")


@dataclass(frozen=True, slots=True)
class Resolved:
    setting: Setting
    value: str | bool | None
    #: "default", a variable, or a file
    origin: str

    def shown(self) -> str:
        """The value as it may be printed: of an address its host."""
        if self.value is None:
            return "-"
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        parts = urlsplit(self.value) if self.setting.secret else None
        return f"{parts.scheme}://{parts.hostname}/..." if parts else self.value


SETTINGS = (
    Setting("stall-after", "auto"),
    Setting("on-hang", "report", project="report stop"),
    Setting("on-desync", "report", project="report ignore stop"),
    Setting("nccl-timeout", None),
    Setting("dump-signal", "QUIT"),
    Setting("native", False),
    Setting("no-locals", False),
    Setting("no-probe", False),
    Setting("lint", False),
    Setting("quiet", False),
    Setting("live", "line"),
    Setting("json", None, project="nothing"),
    Setting("html", None, project="nothing"),
    Setting("bundle", None, project="nothing"),
    Setting("shared", None, project="nothing"),
    Setting("metrics-file", None, project="nothing"),
    Setting("notify-url", None, project="nothing", secret=True),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


def resolve(environ: Mapping[str, str], folder: Path) -> tuple[Resolved, ...]:
    """Every setting with where it comes from, before options. Raises UsageError and InputError."""
    _check_variables(environ)
    found = project_file.nearest(folder, "watch")
    said = _checked(*found) if found else {}
    file = str(found[0]) if found else ""
    return tuple(_resolved(setting, environ, said, file) for setting in SETTINGS)


def _check_variables(environ: Mapping[str, str]) -> None:
    """Raises UsageError for a misspelt setting. Another variable with our prefix (an image's DDPDOCTOR_VERSION) is not
    ours to judge, and no reason to refuse a job.
    """
    known = [setting.variable.removeprefix(_PREFIX) for setting in SETTINGS]
    for name in sorted(one.removeprefix(_PREFIX) for one in environ if one.startswith(_PREFIX)):
        if name not in known and (guess := options.closest(name, known)):
            raise UsageError(f"there is no variable {_PREFIX}{name}", hint=f"did you mean {_PREFIX}{guess}?")


def defaults(environ: Mapping[str, str], folder: Path) -> dict[str, str | bool | None]:
    """What options default to."""
    return {one.setting.attribute: one.value for one in resolve(environ, folder)}


def _resolved(setting: Setting, environ: Mapping[str, str], said: Mapping[str, str | bool], file: str) -> Resolved:
    given = environ.get(setting.variable)
    if given is not None:
        return Resolved(setting, _of_text(setting, given), setting.variable)
    if setting.name in said:
        return Resolved(setting, said[setting.name], file)
    return Resolved(setting, setting.default, "default")


def _of_text(setting: Setting, text: str) -> str | bool | None:
    if not isinstance(setting.default, bool):
        return text or setting.default
    word = text.strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise UsageError(f"{setting.variable}={text}: neither true nor false", hint="type 1 or 0")
    return word in _TRUE


def _checked(path: Path, table: object) -> Mapping[str, str | bool]:
    """The project's settings. Raises UsageError for a key that does not exist, or that a project may not set."""
    where = f"{path}: [tool.ddpdoctor.watch]"
    if not isinstance(table, dict):
        raise UsageError(f"{where}: it is not a table")
    for name, value in table.items():
        setting = _BY_NAME.get(name)
        if setting is None:
            guess = options.closest(name, _BY_NAME)
            hint = f"did you mean {guess!r}?" if guess else f"there are {', '.join(_BY_NAME)}"
            raise UsageError(f"{where}: there is no key {name!r}", hint=hint)
        wanted = bool if isinstance(setting.default, bool) else str
        if not isinstance(value, wanted):
            raise UsageError(f"{where}: {name} is not a {'boolean' if wanted is bool else 'string'}")
        if setting.project != "any" and value not in setting.project.split():
            allowed = "" if setting.project == "nothing" else f" to anything but {' or '.join(setting.project.split())}"
            hint = f"set {setting.variable}, or type --{name}"
            raise UsageError(f"{where}: a project cannot set {name}{allowed}", hint=hint)
    return table
