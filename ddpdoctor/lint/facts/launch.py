"""How a script's processes are started."""

from __future__ import annotations

from ddpdoctor.lint.facts.facts import ModuleFacts

#: what tests import: they run on the machine of whoever wrote them
_TESTING = frozenset({"pytest", "unittest"})

#: what launchers of several nodes set
_VARIABLES = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK")


_ONE_NODE = ("localhost", "127.0.0.1", "--standalone", "nnodes=1", "nnodes 1")


def one_node_only(facts: ModuleFacts) -> bool:
    """The script is written for a single machine, where the local rank is the rank."""
    if any(path.partition(".")[0] in _TESTING for path in facts.module.imports.values()):
        return True
    others = (m.text for m in facts.analysis.reached.values() if "init_process_group" in m.words)
    if any(word in text for text in (facts.module.text, *others) for word in _ONE_NODE):
        return True
    groups = facts.named("torch.distributed.init_process_group")
    ranks = [call.argument(3, "rank") for call in groups]
    return any(rank is not None and "local_rank" in rank.tags for rank in ranks)


def seen(facts: ModuleFacts) -> bool:
    """The program makes its process group, or reads what the launcher says, where it can be seen."""
    named = any(name in facts.module.text for name in _VARIABLES)
    return named or bool(facts.named("torch.distributed.init_process_group"))
