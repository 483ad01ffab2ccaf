import os

import torch


def setup(seed):
    """Join the job started by the launcher; returns (rank, world, gpu)."""
    gpu = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(gpu)
    torch.distributed.init_process_group("nccl", init_method="env://")
    rank = torch.distributed.get_rank()
    torch.manual_seed(seed + rank)
    torch.cuda.manual_seed(seed + rank)
    return rank, torch.distributed.get_world_size(), gpu


@torch.no_grad()
def concat_all_gather(tensor):
    """all_gather along the batch dimension; carries no gradient."""
    parts = [torch.ones_like(tensor) for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather(parts, tensor.contiguous(), async_op=False)
    return torch.cat(parts, dim=0)
