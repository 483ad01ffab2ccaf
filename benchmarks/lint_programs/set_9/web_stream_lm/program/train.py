import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader

from stream import TextStream


class ByteLM(nn.Module):
    def __init__(self, dim=96):
        super().__init__()
        self.emb = nn.Embedding(256, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, 256)

    def forward(self, ids):
        hidden, _ = self.rnn(self.emb(ids))
        return self.out(hidden)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--shards", default="shards")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=8, help="per process")
    p.add_argument("--seq", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--seed", type=int, default=12)
    p.add_argument("--out", default="bytelm.pt")
    args = p.parse_args()

    accelerator = Accelerator(cpu=not torch.cuda.is_available())
    set_seed(args.seed)
    stream = TextStream(args.shards, seq=args.seq, seed=args.seed)
    loader = DataLoader(stream, args.batch_size, num_workers=args.workers, drop_last=True)
    model = ByteLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    step = 0
    for epoch in range(args.epochs):
        stream.set_epoch(epoch)
        tokens, nll = 0, torch.zeros((), device=accelerator.device)
        for batch in loader:
            logits = model(batch["ids"])
            loss = F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())
            optimizer.zero_grad(set_to_none=True)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            nll += loss.detach() * batch["labels"].numel()
            tokens += batch["labels"].numel()
        stats = torch.stack([nll, torch.tensor(float(tokens), device=accelerator.device)])
        total_nll, total_tokens = accelerator.reduce(stats, reduction="sum").tolist()
        accelerator.print(
            f"epoch {epoch} step {step} tokens {int(total_tokens)} nll {total_nll / max(1.0, total_tokens):.4f}"
        )

    accelerator.wait_for_everyone()
    accelerator.save(accelerator.unwrap_model(model).state_dict(), args.out)
    accelerator.end_training()


if __name__ == "__main__":
    main()
