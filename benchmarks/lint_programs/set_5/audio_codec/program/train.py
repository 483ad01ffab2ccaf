import os
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from codec.losses import spectral_loss
from codec.model import Codec


@dataclass
class Config:
    clips: str = os.environ.get("CLIPS", "clips.npy")      # (N, samples) float32 in [-1, 1]
    crop: int = 4096
    batch_size: int = 16
    epochs: int = int(os.environ.get("EPOCHS", 50))
    lr: float = 3e-4
    commit: float = 0.25
    codebook: int = 256
    out: str = os.environ.get("OUT", "codec.pt")


class Clips(Dataset):
    def __init__(self, path, crop):
        self.clips = np.load(path, mmap_mode="r")
        self.crop = crop

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, i):
        start = int(torch.randint(self.clips.shape[1] - self.crop + 1, ()))
        return torch.from_numpy(np.array(self.clips[i, start:start + self.crop]))[None]


def setup():
    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    return torch.device("cuda", local_rank) if cuda else torch.device("cpu")


def main():
    cfg = Config()
    device = setup()
    rank = dist.get_rank()
    torch.manual_seed(0)

    data = Clips(cfg.clips, cfg.crop)
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    loader = DataLoader(data, cfg.batch_size, sampler=sampler, drop_last=True, num_workers=2)

    # no batch norm in the codec: skip the broadcast of the buffers in every forward
    model = DDP(Codec(codebook=cfg.codebook).to(device), broadcast_buffers=False,
                device_ids=[device.index] if device.type == "cuda" else None)
    torch.manual_seed(1 + rank)        # other crops on every rank
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, betas=(0.8, 0.99))

    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(2, device=device)
        for wav in loader:
            wav = wav.to(device)
            rec, commit, _ = model(wav)
            loss = F.l1_loss(rec, wav) + spectral_loss(rec, wav) + cfg.commit * commit
            opt.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            total += torch.stack([loss.detach(), torch.ones((), device=device)])
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} loss {(total[0] / total[1]).item():.4f}", flush=True)
            torch.save(model.module.state_dict(), cfg.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
