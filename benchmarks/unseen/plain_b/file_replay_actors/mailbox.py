"""Exchange through a folder: weights in one direction, episodes in the other."""
import os
import time
from pathlib import Path

import torch


class Mailbox:
    def __init__(self, root):
        self.root = Path(root)
        self.episodes = self.root / "episodes"
        self.episodes.mkdir(parents=True, exist_ok=True)

    def _publish(self, obj, target):
        part = target.with_name(f".{target.name}.{os.getpid()}")
        torch.save(obj, part)
        part.rename(target)

    # weights ------------------------------------------------------------
    def put_weights(self, version, state):
        self._publish({"version": version, "state": state}, self.root / "weights.pt")

    def weights_newer_than(self, version, every=0.2):
        """Polls until there are newer weights."""
        path = self.root / "weights.pt"
        while True:
            if path.exists():
                parcel = torch.load(path)
                if parcel["version"] > version:
                    return parcel
            time.sleep(every)

    # episodes -----------------------------------------------------------
    def put_episode(self, actor, number, episode):
        self._publish(episode, self.episodes / f"{actor:02d}-{number:05d}.pt")

    def take_episodes(self, n, every=0.1):
        """Polls until n episodes have arrived, removes and returns them."""
        while True:
            names = sorted(p for p in self.episodes.glob("*.pt"))
            if len(names) >= n:
                break
            time.sleep(every)
        taken = [torch.load(p) for p in names]
        for p in names:
            p.unlink()
        return taken
