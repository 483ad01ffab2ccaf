"""Distil a visual question answering teacher into a small student."""
import argparse
import collections
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from modeling import StudentVQA, Teacher
from questions import QuestionBank


def kd_loss(student, teacher, answers, T=2.0, alpha=0.7):
    soft = F.kl_div((student / T).log_softmax(-1), (teacher / T).softmax(-1), reduction="batchmean")
    return alpha * T * T * soft + (1 - alpha) * F.cross_entropy(student, answers)


class Smoothed:
    def __init__(self, window=10):
        self.values = collections.deque(maxlen=window)

    def add(self, value):
        """Mean over the ranks, then over the last steps."""
        got = [torch.zeros(1) for _ in range(dist.get_world_size())]
        dist.all_gather(got, torch.tensor([value]))
        self.values.append(torch.cat(got).mean().item())
        return sum(self.values) / len(self.values)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--ema", type=float, default=0.99)
    opts = ap.parse_args()

    dist.init_process_group("gloo")
    me = dist.get_rank()
    torch.manual_seed(99)
    teacher = Teacher().eval().requires_grad_(False)
    student = DDP(StudentVQA())
    ema = {k: v.clone() for k, v in student.module.state_dict().items()}
    optim = torch.optim.AdamW(student.parameters(), lr=1e-3)
    smooth = Smoothed()
    loader = DataLoader(QuestionBank(shard=me), batch_size=opts.batch_size)

    for epoch in range(opts.epochs):
        t0 = time.time()
        for it, (question, image, has_image, answer) in enumerate(loader):
            with torch.no_grad():
                target = teacher(question, image, has_image)
            loss = kd_loss(student(question, image, has_image), target, answer)
            optim.zero_grad(set_to_none=True)
            loss.backward()
            optim.step()
            with torch.no_grad():
                for k, v in student.module.state_dict().items():
                    ema[k].lerp_(v, 1 - opts.ema)
            shown = smooth.add(loss.item())
            if me == 0 and it % 10 == 0:
                print(f"epoch {epoch} it {it} loss {shown:.4f} {time.time() - t0:.1f}s", flush=True)
    if me == 0:
        print("ema norm", sum(v.float().norm().item() for v in ema.values()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
