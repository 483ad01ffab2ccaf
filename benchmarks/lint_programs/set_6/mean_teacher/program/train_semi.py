import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from ema import EMATeacher
from semi import ConvNet, Digits


def consistency(student_logits, teacher_logits, threshold):
    prob, pseudo = teacher_logits.softmax(-1).max(-1)
    keep = (prob >= threshold).float()
    return (F.cross_entropy(student_logits, pseudo, reduction="none") * keep).mean(), keep.mean()


@torch.no_grad()
def accuracy(accelerator, net, loader):
    hits, seen = 0, 0
    for weak, _, label in loader:
        pred = net(weak).argmax(-1)
        pred, label = accelerator.gather_for_metrics((pred, label))
        hits += (pred == label).sum().item()
        seen += label.numel()
    return hits / seen


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--labeled", type=int, default=128)
    p.add_argument("--unlabeled", type=int, default=4096)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--mu", type=int, default=3, help="unlabeled images for each labeled one")
    p.add_argument("--weight", type=float, default=1.0)
    p.add_argument("--threshold", type=float, default=0.7)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--out", default="semi.pt")
    args = p.parse_args()

    accelerator = Accelerator()
    set_seed(args.seed)
    student = ConvNet()
    optimizer = torch.optim.AdamW(student.parameters(), lr=args.lr)
    labeled = DataLoader(Digits(args.labeled, seed=0), args.batch_size, shuffle=True, drop_last=True)
    unlabeled = DataLoader(Digits(args.unlabeled, seed=10**5), args.batch_size * args.mu, shuffle=True, drop_last=True)
    test = DataLoader(Digits(500, seed=10**7), 100)
    student, optimizer, labeled, unlabeled, test = accelerator.prepare(student, optimizer, labeled, unlabeled, test)
    teacher = EMATeacher(student, accelerator)
    set_seed(args.seed, device_specific=True)

    def labeled_forever():
        while True:
            yield from labeled

    for epoch in range(args.epochs):
        student.train()
        kept = []
        for (lx, _, ly), (weak, strong, _) in zip(labeled_forever(), unlabeled):
            target = teacher.predict(weak)
            logits = student(torch.cat([lx, strong]))
            supervised = F.cross_entropy(logits[: len(lx)], ly)
            unsupervised, kept_share = consistency(logits[len(lx) :], target, args.threshold)
            optimizer.zero_grad()
            accelerator.backward(supervised + args.weight * unsupervised)
            optimizer.step()
            teacher.update(student)
            kept.append(kept_share)
        share = accelerator.reduce(torch.stack(kept).mean(), reduction="mean").item()
        acc = accuracy(accelerator, teacher.net, test)
        accelerator.print(f"epoch {epoch} pseudo labels kept {share:.3f} teacher accuracy {acc:.3f}")
        if accelerator.is_main_process:
            torch.save({"teacher": teacher.state_dict(), "student": accelerator.unwrap_model(student).state_dict()}, args.out)
    accelerator.end_training()


if __name__ == "__main__":
    main()
