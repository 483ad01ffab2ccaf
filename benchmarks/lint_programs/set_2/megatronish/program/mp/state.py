from dataclasses import dataclass

import torch.distributed as dist


@dataclass
class ParallelState:
    tp_group: dist.ProcessGroup
    dp_group: dist.ProcessGroup
    tp_size: int
    dp_size: int
    tp_rank: int
    dp_rank: int
    tp_src: int


_STATE = None


def initialize(tp_size):
    """Consecutive ranks form a tensor group, strided ranks a data group."""
    global _STATE
    world, me = dist.get_world_size(), dist.get_rank()
    assert world % tp_size == 0
    dp_size = world // tp_size

    tp_group = dp_group = None
    tp_src = 0
    for d in range(dp_size):
        ranks = list(range(d * tp_size, (d + 1) * tp_size))
        group = dist.new_group(ranks)
        if me in ranks:
            tp_group = group
            tp_src = dist.get_group_rank(group, ranks[0])
    for t in range(tp_size):
        ranks = list(range(t, world, tp_size))
        group = dist.new_group(ranks)
        if me in ranks:
            dp_group = group

    _STATE = ParallelState(tp_group, dp_group, tp_size, dp_size, me % tp_size, me // tp_size, tp_src)
    return _STATE


def get():
    assert _STATE is not None, "call mp.state.initialize first"
    return _STATE
