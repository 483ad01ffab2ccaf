import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from data import PAD, Headlines, Vocab, collate
from evaluate import evaluate
from model import Summarizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", required=True)
    parser.add_argument("--dev", required=True)
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--out", default="summarizer")
    args = parser.parse_args()

    accelerator = Accelerator()
    set_seed(11)
    vocab = Vocab(args.vocab)
    train_loader = DataLoader(Headlines(args.train, vocab), args.batch_size, shuffle=True, collate_fn=collate,
                              drop_last=True)
    dev_loader = DataLoader(Headlines(args.dev, vocab), args.batch_size, collate_fn=collate)
    model = Summarizer(len(vocab))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    model, optimizer, train_loader, dev_loader = accelerator.prepare(model, optimizer, train_loader, dev_loader)

    best = 0.0
    for epoch in range(args.epochs):
        for batch in train_loader:
            logits = model(batch["source"], batch["target"])
            loss = F.cross_entropy(logits.flatten(0, 1), batch["target"].flatten(), ignore_index=PAD)
            optimizer.zero_grad()
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        rouge = evaluate(accelerator, model, dev_loader, vocab)
        accelerator.print(f"epoch {epoch}: loss {loss.item():.3f} rouge-1 {rouge:.4f}")
        if rouge > best:
            best = rouge
            accelerator.save_model(model, args.out)
    accelerator.end_training()


if __name__ == "__main__":
    main()
