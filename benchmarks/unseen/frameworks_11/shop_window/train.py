"""Category of a shop's articles from their text and, where there is one, their picture; FSDP2 on CPU."""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from articles import Catalogue
from towers import ArticleModel

STEPS = 240


def shard(model: nn.Module) -> nn.Module:
    fully_shard(model.text, reshard_after_forward=False)
    fully_shard(model.picture, reshard_after_forward=False)
    return fully_shard(model, reshard_after_forward=False)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = shard(ArticleModel(words=500, categories=12))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    catalogue = Catalogue(rank, dist.get_world_size(), batch_size=16)
    for step in range(STEPS):
        batch = catalogue.batch(step)
        loss = nn.functional.cross_entropy(model(batch), batch.category)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 60 == 59:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step}: {mean.item() / dist.get_world_size():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
