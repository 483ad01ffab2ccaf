"""Whether a repository asks for the sharding without which a saved state is whole on each rank. Impure: reads files."""

from __future__ import annotations

from ddpdoctor.lint.deferred.asked_versions import OLD_LIGHTNING
from ddpdoctor.lint.deferred.configurations import BELOW_THIRD
from ddpdoctor.lint.deferred.confirmation import Confirmation, path_of
from ddpdoctor.lint.deferred.launches import place_of
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.files import read_file
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.late_pattern import late_pattern


def unsharded(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether DeepSpeed leaves the weights whole on each rank: no configuration has stage 3; or nothing tells
    Accelerate to shard; of what only Lightning 2 does, whether the repository is for an older one."""
    if finding.condition.startswith(OLD_LIGHTNING.condition):
        return OLD_LIGHTNING if repository.launches.are_for_lightning_1 else None
    path = path_of(finding)
    text = read_file(path) or b""
    if b"Accelerator(" in text and b"Trainer(" not in text:
        return _unsharded_by_accelerate(repository, path, text)
    stages = repository.configurations.zero_stages(path, text, repository.launches.commands(path))
    return _below_third(stages, text)


def sharded(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether what uses the file is started so that DeepSpeed or FSDP shards the model that a trainer trains."""
    users = sorted(repository.users_of(path_of(finding)) or {path_of(finding)})
    commands = {user: repository.launches.commands(user) for user in users}
    at = next(filter(None, (place_of(repository.launches.as_several, user) for user in users)), None)
    if any(_FSDP.search(command) for given in commands.values() for command in given):
        return Confirmation("it is started here with FSDP", at=at)
    stages: set[bytes] = set()
    for user in users:
        text = read_file(user) or b""
        if any(b"deepspeed" in said.lower() for said in (text, *commands[user])):
            stages |= repository.configurations.zero_stages(user, text, commands[user])
    said = "it is started here, and the configuration of DeepSpeed is of stage 3"
    return Confirmation(said, at=at) if at is not None and stages == {b"3"} else None


#: the option by which the trainer of transformers shards the model
_FSDP = late_pattern(rb"--fsdp[= ]+[\"']?(full_shard|hybrid_shard)")


def _unsharded_by_accelerate(repository: Repository, path: str, text: bytes) -> Confirmation | None:
    """Of a program that leaves it to Accelerate, whether nothing tells that to shard the model."""
    launches, configurations = repository.launches, repository.configurations
    commands = launches.commands(path)
    # what it imports may give Accelerate a plugin
    used = repository.used_by(path) if configurations.shard_nothing(commands) else None
    if used is not None and not any(map(configurations.gives_plugin, used.values())):
        return Confirmation("the commands that start it have Accelerate shard nothing", Severity.HINT)
    # where it is started, a file that only commands for other programs name is for these, and an unnamed one for none
    if commands:
        configurations = configurations.without(launches.only_for_others(path) | configurations.unnamed(path))
    stages = configurations.zero_stages(path, text, commands)
    below = _below_third(stages, text)
    if below is not None:
        return below
    # a stage that is "auto" or computed may be the third
    asked = stages or configurations.ask_for_sharding or any(b"fsdp" in command.lower() for command in commands)
    said = "nothing in the repository tells Accelerate to shard the model"
    return None if asked else Confirmation(said, Severity.HINT)


def _below_third(stages: frozenset[bytes], text: bytes) -> Confirmation | None:
    if not stages or stages - BELOW_THIRD or b"fsdp" in text.lower():
        return None
    listed = ", ".join(sorted(stage.decode(errors="replace") for stage in stages))
    return Confirmation(f"the configurations of DeepSpeed are of stage {listed}, which gathers nothing", Severity.HINT)
