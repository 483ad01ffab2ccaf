import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from headlines import VOCAB, Headliner, corpus


def evaluate(accelerator, model, loader):
    model.eval()
    preds, refs = [], []
    for doc, head in loader:
        with torch.no_grad():
            pred = model(doc).argmax(-1)
        pred, head = accelerator.gather((pred, head))
        preds.append(pred.cpu())
        refs.append(head.cpu())
    preds, refs = torch.cat(preds), torch.cat(refs)
    exact = (preds == refs).all(1).float().mean().item()
    token = (preds == refs).float().mean().item()
    return {"exact": exact, "token": token, "documents": len(refs)}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--train-docs", type=int, default=8000)
    p.add_argument("--eval-docs", type=int, default=997)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--grad-accum", type=int, default=2)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="headliner.pt")
    args = p.parse_args()

    accelerator = Accelerator(gradient_accumulation_steps=args.grad_accum)
    set_seed(args.seed)
    train_dl = DataLoader(corpus(args.train_docs, 1), args.batch_size, shuffle=True, drop_last=True)
    eval_dl = DataLoader(corpus(args.eval_docs, 2), args.batch_size)
    model = Headliner()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, opt, train_dl, eval_dl = accelerator.prepare(model, opt, train_dl, eval_dl)

    for epoch in range(args.epochs):
        model.train()
        for doc, head in train_dl:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(doc).reshape(-1, VOCAB), head.reshape(-1))
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                opt.zero_grad()
        metrics = evaluate(accelerator, model, eval_dl)
        accelerator.print(f"epoch {epoch} " + " ".join(f"{k}={v:.4g}" for k, v in metrics.items()))

    accelerator.wait_for_everyone()
    accelerator.save(accelerator.unwrap_model(model).state_dict(), args.out)
    accelerator.end_training()


if __name__ == "__main__":
    main()
