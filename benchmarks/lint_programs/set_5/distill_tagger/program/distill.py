import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from taggers import Student, Tagger

IGNORE = -100


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True, help=".pt with words and tags, (N, T), padded with 0 and -100")
    p.add_argument("--teacher", help="state dict of the teacher")
    p.add_argument("--vocab", type=int, default=30000)
    p.add_argument("--tags", type=int, default=17)
    p.add_argument("--teacher-dim", type=int, default=512)
    p.add_argument("--teacher-layers", type=int, default=8)
    p.add_argument("--dim", type=int, default=128)
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--temperature", type=float, default=2.0)
    p.add_argument("--alpha", type=float, default=0.5, help="weight of the soft targets")
    p.add_argument("--beta", type=float, default=0.1, help="weight of the hidden states")
    p.add_argument("--out", default="student.pt")
    return p.parse_args()


def train_one_epoch(student, teacher, loader, optimizer, args, device):
    student.train()
    totals = torch.zeros(2, device=device)
    for words, tags in loader:
        words, tags = words.to(device), tags.to(device)
        real = words != 0
        with torch.no_grad():
            t_logits, t_states = teacher.with_states(words)
        s_logits, s_states = student.module.with_states(words)

        hard = F.cross_entropy(s_logits.flatten(0, 1), tags.flatten(), ignore_index=IGNORE)
        T = args.temperature
        soft = F.kl_div(F.log_softmax(s_logits[real] / T, -1), F.softmax(t_logits[real] / T, -1),
                        reduction="batchmean") * T * T
        states = F.mse_loss(s_states[real], t_states[real])
        loss = (1 - args.alpha) * hard + args.alpha * soft + args.beta * states

        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        totals += torch.stack([loss.detach(), torch.ones_like(loss)])
    dist.all_reduce(totals)
    return (totals[0] / totals[1]).item()


def main():
    args = parse_args()
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    torch.manual_seed(4)

    blob = torch.load(args.data, map_location="cpu")
    data = TensorDataset(blob["words"], blob["tags"])
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    loader = DataLoader(data, args.batch_size, sampler=sampler, drop_last=True)

    teacher = Tagger(args.vocab, args.tags, args.teacher_dim, args.teacher_layers).to(device)
    if args.teacher:
        teacher.load_state_dict(torch.load(args.teacher, map_location=device))
    teacher.eval().requires_grad_(False)
    student = Student(args.vocab, args.tags, args.dim, args.layers, args.teacher_dim).to(device)
    torch.manual_seed(4 + dist.get_rank())         # dropout differs between the ranks
    student = DistributedDataParallel(student, device_ids=[local_rank] if cuda else None)
    optimizer = torch.optim.AdamW(student.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        loss = train_one_epoch(student, teacher, loader, optimizer, args, device)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {loss:.4f}", flush=True)
            torch.save(student.module.state_dict(), args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
