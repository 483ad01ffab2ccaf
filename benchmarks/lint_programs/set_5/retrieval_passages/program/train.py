import os
import sys
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
import yaml
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from encoder import Encoder
from mining import mine_negatives


class Triples(Dataset):
    def __init__(self, queries, corpus, positives, negatives):
        self.queries, self.corpus = queries, corpus
        self.positives, self.negatives = positives, negatives

    def __len__(self):
        return len(self.queries)

    def __getitem__(self, i):
        row = (self.queries[i], self.corpus[self.positives[i]], self.corpus[self.negatives[i]])
        return tuple(torch.from_numpy(np.array(x, dtype=np.int64)) for x in row)


def train_round(model, opt, dataset, cfg, device, seed):
    sampler = DistributedSampler(dataset, shuffle=True, seed=seed, drop_last=True)
    loader = DataLoader(dataset, cfg["batch_size"], sampler=sampler, num_workers=4, drop_last=True)
    step, epoch = 0, 0
    while step < cfg["steps_per_round"]:
        sampler.set_epoch(epoch)
        for q, pos, neg in loader:
            q, pos, neg = q.to(device), pos.to(device), neg.to(device)
            q_emb, p_emb = model(q, torch.cat([pos, neg]))
            scores = q_emb @ p_emb.T / 0.05
            loss = F.cross_entropy(scores, torch.arange(len(q), device=device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            if step == cfg["steps_per_round"]:
                break
        epoch += 1
    return loss.item()


def main(path):
    with open(path) as f:
        cfg = yaml.safe_load(f)
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo", timeout=timedelta(seconds=cfg["dist_timeout_s"]))
    rank = dist.get_rank()
    torch.manual_seed(23 + rank)

    corpus, queries, positives = (np.load(cfg[k], mmap_mode="r") for k in ("corpus", "queries", "positives"))
    model = DDP(Encoder(cfg["vocab"], cfg["dim"]).to(device), device_ids=[local_rank] if cuda else None,
                broadcast_buffers=False)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    os.makedirs(cfg["workdir"], exist_ok=True)

    for rnd in range(cfg["rounds"]):
        negatives_path = os.path.join(cfg["workdir"], f"negatives_{rnd}.npy")
        if rank == 0:
            mine_negatives(model.module, corpus, queries, positives, cfg["mining"], device, negatives_path)
        dist.barrier()
        negatives = np.load(negatives_path)
        loss = train_round(model, opt, Triples(queries, corpus, positives, negatives), cfg, device, seed=rnd)
        if rank == 0:
            print(f"round {rnd} loss {loss:.4f}", flush=True)
            torch.save(model.module.state_dict(), os.path.join(cfg["workdir"], "encoder.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
