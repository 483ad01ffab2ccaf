"""Whether a repository starts its programs on several machines. Impure: reads files."""

from __future__ import annotations

from ddpdoctor.lint.deferred import given_options
from ddpdoctor.lint.deferred.confirmation import Confirmation, path_of
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.files import read_file
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.late_pattern import late_pattern


def on_one_node(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the repository says how the program is started, and never on several machines."""
    path, launches = path_of(finding), repository.launches
    if finding.code != "DD144" or finding.severity is Severity.HINT:
        return None
    if not launches.starting(path) or launches.on_nodes(path) is not None or repository.configurations.describe_a_job:
        return None
    said, condition = "each command that starts it is for one machine", "if this is ever started on two nodes, "
    return Confirmation(said, Severity.HINT, condition=condition)


def on_several_nodes(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether what uses the file is started on several nodes, and with its local rank, if that is an option."""
    path, launches = path_of(finding), repository.launches
    users = repository.users_of(path) or {path}
    at = next(filter(None, map(launches.on_nodes, sorted(users))), None)
    if at is None or (_needs_local_rank(path) and not launches.pass_local_rank(path)):
        return None
    return Confirmation("the program is started on several nodes here", at=at)


#: the local rank from the environment
_READ = late_pattern(rb"(?:get|getenv)\(\s*[\"']LOCAL_RANK|environ\[[\"']LOCAL_RANK[\"']\](?!\s*=[^=])")


def _needs_local_rank(path: str) -> bool:
    """Whether a program has its local rank as an option only."""
    text = read_file(path) or b""
    module = given_options.module_of(text) if _READ.search(text) is None else None
    return module is not None and "local_rank" in module.options
