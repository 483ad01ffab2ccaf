import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


@torch.no_grad()
def score_examples(net, dataset, batch_size, device):
    """Loss of every example of `dataset`, the work shared by all ranks.

    Every rank gets the whole vector (one entry per example).
    """
    net.eval()
    sampler = DistributedSampler(dataset, shuffle=False)
    loader = DataLoader(dataset, batch_size=batch_size, sampler=sampler)
    mine = []
    for x, y in loader:
        logits = net(x.to(device))
        mine.append(F.cross_entropy(logits, y.to(device), reduction="none"))
    mine = torch.cat(mine)

    parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, mine)
    scores = torch.cat(parts)
    return scores[: len(dataset)].cpu()


def hardest(scores, fraction):
    """Sorted indices of the `fraction` of the examples with the largest loss."""
    k = max(1, int(fraction * len(scores)))
    return scores.topk(k).indices.sort().values.tolist()
