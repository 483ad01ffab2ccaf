"""Masked-patch pre-training of a small transformer on spectrogram frames."""
import argparse
import tempfile
import time

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from archive import ColdArchive


class FrameEncoder(nn.Module):
    def __init__(self, bins=24, dim=64, layers=3):
        super().__init__()
        self.project = nn.Linear(bins, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 128, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.reconstruct = nn.Linear(dim, bins)

    def forward(self, frames, hidden):
        visible = frames.masked_fill(hidden.unsqueeze(-1), 0.0)
        return self.reconstruct(self.encoder(self.project(visible)))


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--save-every", type=int, default=20)
    return p.parse_args()


def main():
    args = parse()
    accelerator = Accelerator(cpu=True)
    set_seed(2)
    folder = [tempfile.mkdtemp(prefix="staging-") if accelerator.is_main_process else None]
    archive = ColdArchive(broadcast_object_list(folder)[0])

    frames = torch.randn(args.steps * 8 * accelerator.num_processes, 20, 24)
    loader = DataLoader(TensorDataset(frames), batch_size=8, shuffle=True)
    model = FrameEncoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    for step, (batch,) in enumerate(loader, start=1):
        hidden = torch.rand(batch.shape[:2]) < 0.3
        loss = ((model(batch, hidden) - batch) ** 2)[hidden].mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.03)
        if step % args.save_every == 0:
            accelerator.wait_for_everyone()
            if accelerator.is_main_process:
                size = archive.store(f"encoder-{step:05d}.pt", accelerator.unwrap_model(model).state_dict())
                print(f"step {step}: archived {size} bytes", flush=True)
            # nobody changes the weights or leaves before the archive has accepted them
            accelerator.wait_for_everyone()

    accelerator.print("loss", loss.item())
    accelerator.end_training()


if __name__ == "__main__":
    main()
