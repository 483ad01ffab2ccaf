import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from net import SegNet


class Tiles(Dataset):
    def __init__(self, n, size=32, classes=5):
        self.n, self.size, self.classes = n, size, classes

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(1000 + i)
        coarse = torch.randint(0, self.classes, (1, 4, 4), generator=g).float()
        mask = F.interpolate(coarse[None], (self.size, self.size), mode="nearest")[0, 0].long()
        img = torch.stack([(mask == b).float() for b in range(4)])
        return img + 0.5 * torch.randn(img.shape, generator=g), mask


def miou(model, loader, device, classes):
    model.eval()
    conf = torch.zeros(classes, classes, device=device)
    with torch.no_grad():
        for img, mask in loader:
            out, _ = model(img.to(device))
            idx = mask.to(device).flatten() * classes + out.argmax(1).flatten()
            conf += torch.bincount(idx, minlength=classes**2).view(classes, classes).float()
    dist.all_reduce(conf)
    inter = conf.diag()
    return (inter / (conf.sum(0) + conf.sum(1) - inter).clamp(min=1)).mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--aux-epochs", type=int, default=10, help="deep supervision for the first N epochs")
    p.add_argument("--aux-weight", type=float, default=0.4)
    p.add_argument("--tiles", type=int, default=400)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-3)
    args = p.parse_args()

    gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if gpu else "gloo")
    rank, local_rank = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    torch.manual_seed(0)

    train_ds = Tiles(args.tiles)
    val_ds = torch.utils.data.Subset(Tiles(args.tiles + 64), range(args.tiles, args.tiles + 64))
    sampler = DistributedSampler(train_ds, shuffle=True)
    train_dl = DataLoader(train_ds, args.batch_size, sampler=sampler, drop_last=True)
    val_dl = DataLoader(val_ds, args.batch_size, sampler=DistributedSampler(val_ds, shuffle=False))

    model = SegNet().to(device)
    model = DDP(model, device_ids=[local_rank] if gpu else None)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for img, mask in train_dl:
            img, mask = img.to(device), mask.to(device)
            out, aux = model(img, with_aux=epoch < args.aux_epochs)
            loss = F.cross_entropy(out, mask)
            if aux is not None:
                loss = loss + args.aux_weight * F.cross_entropy(aux, mask)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        score = miou(model, val_dl, device, classes=5)
        if rank == 0:
            print(f"epoch {epoch} mIoU {score:.3f}", flush=True)

    if rank == 0:
        torch.save(model.module.state_dict(), "segnet.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
