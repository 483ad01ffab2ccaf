"""What the configurations of a repository say, as files and in its programs: what shards models, what starts
ranks, what is off. Pure.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cached_property

from ddpdoctor.lint.deferred import given_options
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.record import record
from ddpdoctor.program import source
from ddpdoctor.program.enclosing import conditions_around
from ddpdoctor.program.nodes import last_name, walk

#: a file of settings that a program or a command names
NAMED = late_pattern(rb"([\w.-]+\.(?:json|ya?ml))\b")
#: what a configuration of DeepSpeed calls its ZeRO, and the stage of it
_ZERO = late_pattern(rb"zero_optimization|\bzero_stage\b")
_STAGE = late_pattern(rb"(?:[\"']stage[\"']|\bzero_stage)\s*[:=]\s*[\"']?(\w+)")
#: a comment of a program
_ASIDE = late_pattern(rb"(?:^|(?<=\s))#[^\n]*")
#: the stages that leave the weights whole
BELOW_THIRD = frozenset({b"0", b"1", b"2"})
#: an object or variable that makes Accelerate shard a model: one that is made, given or set up; not where a program
#: only asks whether there is one, as who loads frozen models does
_PLUGIN = late_pattern(
    rb"^[^\n#]*?(?:(?:DeepSpeed|FullyShardedDataParallel)Plugin|ACCELERATE_USE_"
    rb"|(?:deepspeed|fsdp)_plugins?(?:[\"']?\]?\s*[=:](?![=\r\n])(?![^\n]*\.(?:deepspeed|fsdp)_plugin)|\.(?!zero3_init)))",
    re.MULTILINE,
)
#: Accelerate's launcher; the file that it is given; and what tells it, or the program, to shard
_BY_ACCELERATE = late_pattern(rb"\baccelerate\s+launch\b|\baccelerate\.commands\.launch\b")
_GIVEN_FILE = late_pattern(rb"--config[-_]file[= ]+[\"']?([^\s\"']+)")
_TOLD_TO_SHARD = late_pattern(
    rb"--(?:use[-_])?(?:fsdp|deepspeed|zero)|ACCELERATE_USE_|(?<![\w./-])deepspeed[ \t]", re.IGNORECASE
)
_MULTI_GPU = late_pattern(rb"--multi[-_]gpu\b")
#: a setting for FSDP, of Accelerate or of the Trainer of transformers
_FSDP = late_pattern(rb"distributed_type[\"']?\s*:\s*[\"']?FSDP|^\s*[\"']?fsdp(?:_config)?[\"']?\s*:", re.MULTILINE)
#: Accelerate's file for a job that shards nothing
_OF_ANOTHER_KIND = late_pattern(
    rb"^\s*[\"']?distributed_type[\"']?\s*:\s*[\"']?(?:MULTI_(?:GPU|CPU|NPU)|NO)\b", re.MULTILINE
)
#: a job of Kubernetes whose pods are ranks
_MANIFEST = late_pattern(
    rb"^\s*kind:\s*(?:PyTorchJob|MPIJob|TrainJob|PaddleJob|RayJob|RayCluster|JobSet)\b", re.MULTILINE
)

#: a setting of Lightning's Trainer for several devices
_DEVICES = late_pattern(
    rb"(?<![\w.])[\"']?(?:(?:devices|gpus|num_nodes)[\"']?\s*:\s*(?:[2-9]|[1-9]\d+)\b"
    rb"|strategy[\"']?\s*:\s*[\"']?(?:ddp|fsdp|deepspeed))"
)

#: the values of what is off, as they are written
_OFF: Mapping[bytes, bool | int | str | None] = {
    **dict.fromkeys((b"None", b"null", b"Null", b"NULL", b"~")),
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
        programs = {path: _ASIDE.sub(b"", text) for path, text in (self.programs or {}).items() if b"stage" in text}
        return {path: text for path, text in {**self.files, **programs}.items() if _ZERO.search(text)}

    def zero_stages(self, path: str, program: bytes, commands: Iterable[bytes]) -> frozenset[bytes]:
        """The stages that a program may be started with: those of the configurations that the commands name which start
        it, or that these name, or else of those that it names itself, or else of those beside it, or else of any in the
        repository."""
        asked = self._with_named({name for command in commands for name in NAMED.findall(command)})
        own = set(NAMED.findall(program))
        beside = {p: text for p, text in self._of_zero.items() if posixpath.dirname(p) == posixpath.dirname(path)}
        texts = (
            _called(asked, self._of_zero)
            or {p: text for p, text in beside.items() if p == path or p in _called(own, beside)}
            or beside
            or self._of_zero
        )
        return _stages(texts)

    def _with_named(self, names: Set[bytes]) -> set[bytes]:
        """Files, and those that they name: Accelerate's may name that of DeepSpeed."""
        return {*names, *(name for text in _called(names, self.files).values() for name in NAMED.findall(text))}

    def unnamed(self, path: str) -> frozenset[bytes]:
        """The files for DeepSpeed alone that lie elsewhere than a program and that nothing in the repository names:
        Accelerate would have to be told of them."""
        files = [p for p in self._of_zero if p.endswith(".json") and posixpath.dirname(p) != posixpath.dirname(path)]
        names = {posixpath.basename(file).encode(errors="surrogateescape") for file in files}
        said = (*self.scripts.values(), *self._texts)
        return frozenset(name for name in names if not any(name in text for text in said))

    def without(self, names: Set[bytes]) -> Configurations:
        """These without the files of settings that have one of the names."""
        left = _called(names, self.files) if names else {}
        files = {path: text for path, text in self.files.items() if path not in left}
        return Configurations(files, self.programs, self.scripts) if left else self

    def shard_nothing(self, commands: Iterable[bytes]) -> bool:
        """Whether the commands that start a program, by Accelerate's launcher and perhaps others, say that nothing is
        sharded; without a word of it, that launcher does what its user once chose."""
        told = [*commands]
        return any(map(_BY_ACCELERATE.search, told)) and all(map(self._shards_nothing, told))

    def _shards_nothing(self, command: bytes) -> bool:
        if _TOLD_TO_SHARD.search(command) is not None:
            return False
        given = _GIVEN_FILE.search(command)
        if given is None:
            return _BY_ACCELERATE.search(command) is None or _MULTI_GPU.search(command) is not None
        held = _called({posixpath.basename(given[1])}, self.files)
        return bool(held) and all(_OF_ANOTHER_KIND.search(text) or self._is_below_third(text) for text in held.values())

    def _is_below_third(self, text: bytes) -> bool:
        """Whether Accelerate's file is for DeepSpeed, and at most for stage 2."""
        configured = _called(self._with_named({*NAMED.findall(text)}), self._of_zero)
        stages = _stages({**configured, "": text})
        return bool(stages) and stages <= BELOW_THIRD and _FSDP.search(text) is None

    def gives_plugin(self, program: bytes) -> bool:
        """Whether a program gives Accelerate what shards a model."""
        return _PLUGIN.search(program) is not None

    @cached_property
    def ask_for_sharding(self) -> bool:
        """Whether a file of settings makes something shard models by FSDP, or a program gives Accelerate a plugin that
        does; so it may where there are too many programs."""
        programs = self.programs
        # what a file that asks for another kind of job says of FSDP stays without effect
        asking = (text for text in self.files.values() if not _OF_ANOTHER_KIND.search(text))
        return programs is None or _in_any(_PLUGIN, programs.values()) or _in_any(_FSDP, asking)

    @cached_property
    def use_several_devices(self) -> bool:
        """Whether a file of settings has Lightning use several devices."""
        return _in_any(_DEVICES, self.files.values())

    @cached_property
    def describe_a_job(self) -> bool:
        """Whether a manifest describes a job of several ranks, which a cluster starts."""
        return _in_any(_MANIFEST, self.files.values())

    def named_in(self, commands: Iterable[bytes]) -> frozenset[str]:
        """The files of settings that commands name, if each names one."""
        named = [_called({*NAMED.findall(command)}, self.files) for command in commands]
        return frozenset(path for files in named for path in files) if all(named) else frozenset()

    def may_give(self, command: bytes, names: Iterable[str]) -> bool:
        """Whether a file that a command gives the program names one of its options, or one that cannot be seen may."""
        handed = [_called({name}, self.files) for name in given_options.handed_on(command)]
        held = (text for files in handed for text in files.values())
        return not all(handed) or any(given_options.names_one(text, names) for text in held)

    def off_values(self, name: str, named: Set[str] = frozenset()) -> list[ast.expr]:
        """What the files set something to, if each sets it to a value that is off, and it is no option of a command
        line; of those that are `named` alone, if they set it."""
        spelled = name.encode()
        if self.is_option(name) or _in_any(_given_by_name(spelled), self.scripts.values()):
            return []
        setting = _setting(spelled)
        own = [self.files[path] for path in named if setting.search(self.files[path]) is not None]
        values = _values(spelled, own or self._texts)
        return [ast.Constant(_OFF[value]) for value in sorted(values)] if values <= _OFF.keys() else []

    def turn_on(self, name: str) -> bool:
        """Whether a file of settings sets something to a value that is not off, whatever else may set it."""
        return not _values(name.encode(), self.files.values()) <= _OFF.keys()

    def unset_value(self, name: str) -> list[ast.expr]:
        """What it is of a setting where nobody sets it, if there are files of settings, and neither one of them, nor a
        program, nor a command sets this."""
        spelled = name.encode()
        set_somewhere = self.is_option(name) or _in_any(_given_by_name(spelled), self.scripts.values())
        read_all = self.programs is not None and any(self.files.values())
        return [ast.Constant(None)] if read_all and not set_somewhere and not self._writes(spelled) else []

    def _writes(self, spelled: bytes) -> bool:
        """Whether a file of settings has the name, or a program sets something of it, or has it as a key or keyword."""
        word = re.compile(rb"(?<![\w-])" + re.escape(spelled) + rb"(?![\w-])")
        held = re.compile(word.pattern + rb"[\"']?\]?[ \t]*(?::|=(?!=))")
        return _in_any(word, self.files.values()) or _in_any(held, (self.programs or {}).values())

    def asked_by(self, name: str) -> frozenset[str]:
        """What options are called that alone set something which is off otherwise: `if args.throughput:
        config.THROUGHPUT_MODE = True`; empty if something else may set it, or nothing does."""
        spelled = name.encode()
        if any(spelled in text for text in self.files.values()):
            return frozenset()
        trees = (source.tree_of(text) for text in (self.programs or {}).values() if spelled in text)
        sets = [(tree, node) for tree in trees if tree is not None for node in _assignments(tree, name)]
        apart = [(node.value, conditions_around(tree, node.lineno)) for tree, node in sets]
        is_off = [isinstance(value, ast.Constant) and not value.value for value, tests in apart if not tests]
        asked = [frozenset(filter(self.is_option, _names_in(tests))) for _, tests in apart if tests]
        alone = is_off and all(is_off) and all(asked)
        return frozenset[str]().union(*asked) if alone else frozenset()

    def is_option(self, name: str) -> bool:
        """Whether something gives or declares an option of the command line of this name."""
        return _in_any(_option(name), self._texts)


def _given_by_name(spelled: bytes) -> re.Pattern[bytes]:
    """What sets something in a command, as Hydra and mmengine have it: `train.ema=true`."""
    return re.compile(rb"(?<![\w-])(?:[\w.]+\.)?" + re.escape(spelled) + rb"=")


def _setting(spelled: bytes) -> re.Pattern[bytes]:
    """What sets something in a file, and to what."""
    annotated = rb"[\"']?(?:[ \t]*:[ \t]*\w+)?[ \t]*[:=](?!=)[ \t]*([^\s,#]*)"
    return re.compile(rb"^[ \t]*(?:\w+\.)?[\"']?" + re.escape(spelled) + annotated, re.MULTILINE)


def _values(spelled: bytes, texts: Iterable[bytes]) -> set[bytes]:
    """What the texts set something to, as it is written."""
    setting = _setting(spelled)
    return {value for text in texts if spelled in text for value in setting.findall(text)}


def _option(name: str) -> re.Pattern[bytes]:
    spelled = re.escape(name.replace("-", "_").encode()).replace(b"_", b"[-_]")
    return re.compile(rb"--" + spelled + rb"\b")


def _assignments(tree: ast.Module, name: str) -> Iterator[ast.Assign]:
    for node in walk(tree):
        if isinstance(node, ast.Assign) and any(last_name(target) == name for target in node.targets):
            yield node


def _names_in(tests: Iterable[ast.expr]) -> frozenset[str]:
    """The attributes and texts in some conditions."""
    nodes = [node for test in tests for node in walk(test)]
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return frozenset({*texts, *(node.attr for node in nodes if isinstance(node, ast.Attribute))})


def _in_any(pattern: re.Pattern[bytes], texts: Iterable[bytes]) -> bool:
    return any(map(pattern.search, texts))


def _stages(texts: Mapping[str, bytes]) -> frozenset[bytes]:
    return frozenset(stage for text in texts.values() for stage in _STAGE.findall(text))


def _called(names: Set[bytes], texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Those of the files that have one of the names."""
    return {
        path: text for path, text in texts.items() if posixpath.basename(path).encode(errors="surrogateescape") in names
    }
