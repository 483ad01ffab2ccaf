"""How a script's processes are started."""

from __future__ import annotations

from ddpdoctor.lint.facts.facts import ModuleFacts


def one_node_only(facts: ModuleFacts) -> bool:
    """The script is written for a single machine, where the local rank is the rank."""
    text = facts.module.text
    if any(word in text for word in ("localhost", "127.0.0.1", "--standalone", "nnodes=1", "nnodes 1")):
        return True
    groups = facts.named("torch.distributed.init_process_group")
    ranks = [call.argument(3, "rank") for call in groups]
    return any(rank is not None and "local_rank" in rank.tags for rank in ranks)
