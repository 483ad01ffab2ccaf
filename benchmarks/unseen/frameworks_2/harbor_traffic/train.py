"""Ship-type classifier from AIS tracks. Stops together when any node is told to drain."""
import argparse
import hashlib
import io
import os
import random
import signal
import time

import torch
from accelerate import Accelerator, DataLoaderConfiguration
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class AisTracks(IterableDataset):
    """An endless simulated feed of tracks."""

    def __init__(self, points=16):
        self.points = points

    def __iter__(self):
        gen = torch.Generator().manual_seed(2024)
        while True:
            track = torch.randn(self.points, 3, generator=gen).cumsum(0)
            yield track, int(track[-1, 0] > 0) + 2 * int(track[-1, 1] > 0)


class TrackNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.scan = nn.GRU(3, 20, batch_first=True)
        self.kind = nn.Linear(20, 4)

    def forward(self, tracks):
        return self.kind(self.scan(tracks)[1][0])


class DrainNotice:
    """The scheduler sends SIGUSR1 to one task of the job some time before it takes the node."""

    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.told = False
        signal.signal(signal.SIGUSR1, self._on_signal)

    def _on_signal(self, number, frame):
        print(f"[{self.accelerator.process_index}] node is draining", flush=True)
        self.told = True

    def agreed(self):
        if self.told:
            self.told = False
            self.accelerator.set_trigger()
        return self.accelerator.check_trigger()


def put(store, name, blob, part=2048, chance=0.25):
    """Upload in parts; the archive refuses a part now and then and wants it again."""
    rng = random.Random(9)
    digest = hashlib.sha256()
    with open(os.path.join(store, name), "wb") as out:
        for start in range(0, len(blob), part):
            while rng.random() < chance:
                time.sleep(0.4)
            out.write(blob[start:start + part])
            out.flush()
            os.fsync(out.fileno())
            digest.update(blob[start:start + part])
            time.sleep(0.2)
    return digest.hexdigest()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--store", default="/tmp")
    p.add_argument("--max-steps", type=int, default=3000)
    p.add_argument("--drain-step", type=int, default=45, help="rehearsal: the step at which a notice is sent")
    args = p.parse_args()

    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(dispatch_batches=False))
    torch.manual_seed(0)
    model = TrackNet()
    model, optimizer, feed = accelerator.prepare(
        model, torch.optim.Adam(model.parameters(), lr=1e-2), DataLoader(AisTracks(), batch_size=8))
    notice = DrainNotice(accelerator)

    for step, (tracks, kinds) in enumerate(feed, start=1):
        loss = nn.functional.cross_entropy(model(tracks), kinds)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.05)
        if step == args.drain_step and accelerator.is_last_process:
            os.kill(os.getpid(), signal.SIGUSR1)
        if notice.agreed() or step >= args.max_steps:
            break

    accelerator.print(f"stopping at step {step}, loss {loss.item():.3f}")
    if accelerator.is_main_process:
        blob = io.BytesIO()
        torch.save({"model": accelerator.unwrap_model(model).state_dict(),
                    "optimizer": optimizer.state_dict(), "ballast": torch.zeros(16000)}, blob)
        print("archived", put(args.store, "harbor_traffic.pt", blob.getvalue()), flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
