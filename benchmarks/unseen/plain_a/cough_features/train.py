"""Cough detection. Feature extraction runs in the loader's workers; the extracted
features are kept in memory so that later epochs need not compute them again."""
import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from features import Clips, FeatureStore


class CoughNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(16, 20, 5, padding=2)
        self.b = nn.Conv1d(20, 20, 5, padding=2)
        self.cls = nn.Linear(20, 1)

    def forward(self, x):
        h = torch.relu(self.b(torch.relu(self.a(x))))
        return self.cls(h.mean(-1)).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--memory-limit", type=int, default=400 * 1024, help="bytes of features to keep in memory")
    args = ap.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    store = FeatureStore(tempfile.mkdtemp(prefix=f"feat{rank}-"), args.memory_limit)
    clips = Clips(device=("phone", "stethoscope")[rank % 2], store=store)
    model = DDP(CoughNet())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))

    for epoch in range(args.epochs):
        if store.nbytes > args.memory_limit:
            store.spill()
        loader = DataLoader(clips, args.batch_size, shuffle=True, num_workers=args.workers)
        seen, hits = 0, 0
        for index, feats, label in loader:
            if epoch == 0:
                store.absorb(index.tolist(), feats)
            logit = model(feats)
            loss = criterion(logit, label.float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += len(label)
            hits += int(((logit > 0) == (label > 0.5)).sum())
        print(f"rank {rank} epoch {epoch}: loss {loss.item():.4f} accuracy {hits / seen:.3f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
