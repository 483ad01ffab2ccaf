import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from data import OFFSET, PAD, ReverseDataset, collate
from model import Seq2Seq


def strip(row):
    return [t for t in row if t != PAD]


@torch.no_grad()
def evaluate(accelerator, model, loader, max_len):
    model.eval()
    net = accelerator.unwrap_model(model)
    exact, total = 0, 0
    for batch in loader:
        generated = net.generate(batch["src"], max_len)
        labels = batch["tgt"][:, 1:].contiguous()
        generated, labels = accelerator.gather_for_metrics((generated, labels))
        for pred, gold in zip(generated.tolist(), labels.tolist()):
            exact += strip(pred) == strip(gold)
            total += 1
    model.train()
    return exact / total


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--symbols", type=int, default=8)
    p.add_argument("--min_len", type=int, default=2)
    p.add_argument("--max_len", type=int, default=12)
    p.add_argument("--dim", type=int, default=64)
    p.add_argument("--batch_size", type=int, default=16)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--output", default="reverse.pt")
    args = p.parse_args()

    accelerator = Accelerator()
    set_seed(args.seed)
    train_set = ReverseDataset(1000, args.symbols, args.min_len, args.max_len, seed=1)
    val_set = ReverseDataset(150, args.symbols, args.min_len, args.max_len, seed=2)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, collate_fn=collate)
    val_loader = DataLoader(val_set, args.batch_size, collate_fn=collate)
    model = Seq2Seq(args.symbols + OFFSET, args.dim)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    model, optimizer, train_loader, val_loader = accelerator.prepare(model, optimizer, train_loader, val_loader)

    for epoch in range(args.epochs):
        for batch in train_loader:
            tgt = batch["tgt"]
            logits = model(batch["src"], tgt[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        mean = accelerator.reduce(loss.detach(), reduction="mean").item()
        score = evaluate(accelerator, model, val_loader, args.max_len + 1)
        accelerator.print(f"epoch {epoch} loss {mean:.4f} exact {score:.3f}")

    accelerator.wait_for_everyone()
    accelerator.save(accelerator.unwrap_model(model).state_dict(), args.output)
    accelerator.end_training()


if __name__ == "__main__":
    main()
