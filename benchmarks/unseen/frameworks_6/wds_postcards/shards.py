import io
import os
import tarfile
import time

import torch


def write_shards(folder, rank, shards=4, per_shard=40):
    os.makedirs(folder, exist_ok=True)
    paths = []
    g = torch.Generator().manual_seed(rank)
    for s in range(shards):
        path = os.path.join(folder, f"cards-{rank}-{s:03d}.tar")
        with tarfile.open(path, "w") as tar:
            for i in range(per_shard):
                card = {"pth": torch.randn(16, generator=g), "cls": torch.tensor(i % 4)}
                for ext, value in (("x.pth", card["pth"]), ("y.pth", card["cls"])):
                    b = io.BytesIO()
                    torch.save(value, b)
                    info = tarfile.TarInfo(f"{s:03d}{i:04d}.{ext}")
                    info.size = b.tell()
                    b.seek(0)
                    tar.addfile(info, b)
        paths.append(path)
    return paths


class Mirror:
    """Opens a shard; a mirror that is warming up is asked again, each time a little later."""

    def __init__(self, refuses):
        self.refuses = dict(refuses)

    def _open(self, path):
        left = self.refuses.get(os.path.basename(path), 0)
        if left:
            self.refuses[os.path.basename(path)] = left - 1
            raise ConnectionError(f"503 for {path}")
        return open(path, "rb")

    def fetch(self, path, tries=8):
        delay = 0.5
        for attempt in range(tries):
            try:
                return self._open(path)
            except ConnectionError as e:
                print(f"{e}; again in {delay:.1f} s", flush=True)
                time.sleep(delay)
                delay *= 2
        raise RuntimeError(path)
