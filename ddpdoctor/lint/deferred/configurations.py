"""What the configurations of a repository say, as files and in its programs: what shards models, what starts
ranks, what is off. Pure.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterable, Mapping, Set
from functools import cached_property

from ddpdoctor.model.record import record

#: a file of settings that a program names
_NAMED = re.compile(rb"([\w.-]+\.(?:json|ya?ml))\b")
#: what a configuration of DeepSpeed calls its ZeRO, and the stage of it
_ZERO = re.compile(rb"zero_optimization|\bzero_stage\b")
_STAGE = re.compile(rb"(?:[\"']stage[\"']|\bzero_stage)\s*[:=]\s*[\"']?(\w+)")
#: an object or variable that makes Accelerate shard a model
_PLUGIN = re.compile(rb"(?:deepspeed|fsdp)_plugins?\b|(?:DeepSpeed|FullyShardedDataParallel)Plugin|ACCELERATE_USE_")
#: a setting for FSDP, of Accelerate or of the Trainer of transformers
_FSDP = re.compile(rb"distributed_type[\"']?\s*:\s*[\"']?FSDP|^\s*[\"']?fsdp(?:_config)?[\"']?\s*:", re.MULTILINE)
#: Accelerate's file for a job that shards nothing
_OF_ANOTHER_KIND = re.compile(
    rb"^\s*[\"']?distributed_type[\"']?\s*:\s*[\"']?(?:MULTI_(?:GPU|CPU|NPU)|NO)\b", re.MULTILINE
)
#: a job of Kubernetes whose pods are ranks
_MANIFEST = re.compile(
    rb"^\s*kind:\s*(?:PyTorchJob|MPIJob|TrainJob|PaddleJob|RayJob|RayCluster|JobSet)\b", re.MULTILINE
)

#: the values of what is off, as they are written
_OFF: Mapping[bytes, bool | int | str | None] = {
    **dict.fromkeys((b"None", b"null", b"~")),
    **dict.fromkeys((b"False", b"false", b"no", b"off"), False),
    **dict.fromkeys((b"''", b'""'), ""),
    b"0": 0,
}


@record(eq=False)
class Configurations:
    """What configures the programs of a repository."""

    #: files of settings by path
    files: Mapping[str, bytes]
    #: the programs by path, which may set something themselves; None if there are too many to read
    programs: Mapping[str, bytes] | None
    #: the scripts and texts that start them
    scripts: Mapping[str, bytes]

    @property
    def _texts(self) -> list[bytes]:
        return [*self.files.values(), *(self.programs or {}).values()]

    @cached_property
    def _of_zero(self) -> dict[str, bytes]:
        """What configures DeepSpeed's ZeRO."""
        programs = {path: text for path, text in (self.programs or {}).items() if b"stage" in text}
        return {path: text for path, text in {**self.files, **programs}.items() if _ZERO.search(text)}

    def zero_stages(self, path: str, program: bytes, commands: Iterable[bytes]) -> frozenset[bytes]:
        """The stages that a program may be started with: those of the configurations that the commands name which start
        it, or that these name, or else of those that it names itself, or else of those beside it, or else of any in the
        repository."""
        asked = {name for command in commands for name in _NAMED.findall(command)}
        # Accelerate's file may name that of DeepSpeed
        asked |= {name for text in _called(asked, self.files).values() for name in _NAMED.findall(text)}
        own = set(_NAMED.findall(program))
        beside = {p: text for p, text in self._of_zero.items() if posixpath.dirname(p) == posixpath.dirname(path)}
        texts = (
            _called(asked, self._of_zero)
            or {p: text for p, text in beside.items() if p == path or p in _called(own, beside)}
            or beside
            or self._of_zero
        )
        return frozenset(stage for text in texts.values() for stage in _STAGE.findall(text))

    @cached_property
    def ask_for_sharding(self) -> bool:
        """Whether a file of settings makes something shard models by FSDP, or a program gives Accelerate a plugin that
        does; so it may where there are too many programs."""
        programs = self.programs
        # what a file that asks for another kind of job says of FSDP stays without effect
        asking = (text for text in self.files.values() if not _OF_ANOTHER_KIND.search(text))
        return programs is None or _in_any(_PLUGIN, programs.values()) or _in_any(_FSDP, asking)

    @cached_property
    def describe_a_job(self) -> bool:
        """Whether a manifest describes a job of several ranks, which a cluster starts."""
        return _in_any(_MANIFEST, self.files.values())

    def off_values(self, name: str) -> list[ast.expr]:
        """What the files set something to, if each sets it to a value that is off, and it is no option of a command
        line."""
        spelled = name.encode()
        option = re.compile(rb"--" + re.sub(rb"[-_]", b"[-_]", re.escape(spelled)) + rb"\b")
        if _in_any(option, self._texts):
            return []
        setting = re.compile(
            rb"^[ \t]*(?:\w+\.)?[\"']?"
            + re.escape(spelled)
            + rb"[\"']?(?:[ \t]*:[ \t]*\w+)?[ \t]*[:=](?!=)[ \t]*([^\s,#]*)",
            re.MULTILINE,
        )
        values = {value for text in self._texts if spelled in text for value in setting.findall(text)}
        return [ast.Constant(_OFF[value]) for value in sorted(values)] if values <= _OFF.keys() else []


def _in_any(pattern: re.Pattern[bytes], texts: Iterable[bytes]) -> bool:
    return any(map(pattern.search, texts))


def _called(names: Set[bytes], texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Those of the files that have one of the names."""
    return {
        path: text for path, text in texts.items() if posixpath.basename(path).encode(errors="surrogateescape") in names
    }
