"""Dual encoder for product search. Recall@k over the whole catalogue is computed by one process."""
import contextlib
import time
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CFG = SimpleNamespace(dim=16, vocab=300, items=64, pairs=288, batch=8, rounds=2, shortlist=120)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(CFG.vocab, CFG.dim)
        self.bn = nn.BatchNorm1d(CFG.dim)
        self.proj = nn.Linear(CFG.dim, CFG.dim)

    def forward(self, ids):
        return F.normalize(self.proj(self.bn(self.bag(ids))), dim=-1)


class DualEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.item = Tower(), Tower()

    def forward(self, q, i):
        return self.query(q) @ self.item(i).T * 10


@contextlib.contextmanager
def stopwatch(acc, what):
    t0 = time.time()
    yield
    acc.print(f"{what}: {time.time() - t0:.1f}s")


@torch.inference_mode()
def exact_recall(model, queries, catalogue, k=10):
    model.eval()
    bank = model.item(catalogue)
    hits = 0
    for n, q in enumerate(queries[: CFG.shortlist]):
        top = (model.query(q[None]) @ bank.T).topk(k).indices[0]
        hits += int(n % len(catalogue) in top.tolist())
        time.sleep(0.08)  # re-ranking of the shortlist
    model.train()
    return hits / CFG.shortlist


def main():
    acc = Accelerator(cpu=True)
    torch.manual_seed(5)
    q = torch.randint(0, CFG.vocab, (CFG.pairs, 6))
    i = torch.randint(0, CFG.vocab, (CFG.pairs, 10))
    net = DualEncoder()
    opt = torch.optim.Adam(net.parameters(), 5e-3)
    net, opt, loader = acc.prepare(net, opt, DataLoader(TensorDataset(q, i), batch_size=CFG.batch, shuffle=True))
    for rnd in range(CFG.rounds):
        for qb, ib in loader:
            loss = F.cross_entropy(net(qb, ib), torch.arange(len(qb)))
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            time.sleep(0.02)
        result = [None]
        with stopwatch(acc, f"round {rnd} evaluation"):
            if acc.is_main_process:
                result[0] = exact_recall(acc.unwrap_model(net), q, i[: CFG.items])
            broadcast_object_list(result, from_process=0)
        acc.print(f"round {rnd} loss {loss.item():.3f} recall@10 {result[0]:.3f}")
    acc.wait_for_everyone()
    acc.end_training()


if __name__ == "__main__":
    main()
