import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from towers import DualEncoder, in_batch_loss


class QueryPassage(Dataset):
    """A passage of 24 words about one topic, and a query of 6 words in other terms for that topic."""

    def __init__(self, count, topics=60, seed=0):
        self.count, self.topics, self.seed = count, topics, seed

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed + i)
        a, b = torch.randint(0, self.topics, (2,), generator=g).tolist()
        choose = lambda n: torch.where(torch.rand(n, generator=g) < 0.5, torch.tensor(a), torch.tensor(b))
        query = choose(6) * 5 + torch.randint(0, 5, (6,), generator=g)
        passage = 300 + choose(24) * 5 + torch.randint(0, 5, (24,), generator=g)
        return query, passage


@torch.no_grad()
def recall_at(model, dataset, k, device):
    """Recall over the whole development set; every rank ranks its own share of the queries."""
    model.eval()
    queries, passages = zip(*(dataset[i] for i in range(len(dataset))))
    index = model.encode_passage(torch.stack(passages).to(device))
    mine = torch.arange(dist.get_rank(), len(dataset), dist.get_world_size(), device=device)
    q = model.encode_query(torch.stack(queries).to(device)[mine])
    top = (q @ index.T).topk(k, dim=1).indices
    hits = torch.stack([(top == mine[:, None]).any(1).sum(), torch.tensor(len(mine), device=device)])
    dist.all_reduce(hits)
    model.train()
    return (hits[0] / hits[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=50000)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--out", default="dual.pt")
    args = parser.parse_args()

    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")

    torch.manual_seed(42)
    model = DualEncoder().to(device)
    model = DistributedDataParallel(model, device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / args.warmup))

    train = QueryPassage(args.pairs)
    dev = QueryPassage(300, seed=10**8)
    sampler = DistributedSampler(train, drop_last=True)
    loader = DataLoader(train, args.batch_size, sampler=sampler, drop_last=True)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for step, (query_tokens, passage_tokens) in enumerate(loader):
            query_tokens, passage_tokens = query_tokens.to(device), passage_tokens.to(device)
            query = model.module.encode_query(query_tokens)
            passage = model.module.encode_passage(passage_tokens)
            loss = in_batch_loss(query, passage, model.module.log_scale.exp())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            if dist.get_rank() == 0 and step % 50 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f}", flush=True)
        recall = recall_at(model.module, dev, 5, device)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} recall@5 {recall:.3f}", flush=True)
            torch.save(model.module.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
