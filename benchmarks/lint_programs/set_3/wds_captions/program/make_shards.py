import argparse
import io
import json
import os
import tarfile

import numpy as np


def add(tar, name, payload):
    info = tarfile.TarInfo(name)
    info.size = len(payload)
    tar.addfile(info, io.BytesIO(payload))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--out", default="shards")
    ap.add_argument("--num-shards", type=int, default=64)
    ap.add_argument("--per-shard", type=int, default=500)
    args = ap.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for s in range(args.num_shards):
        rng = np.random.default_rng(s)
        with tarfile.open(os.path.join(args.out, f"{s:06d}.tar"), "w") as tar:
            for i in range(args.per_shard):
                topic = int(rng.integers(50))
                img = rng.normal(size=64).astype("float32") * 0.5
                img[topic % 64] += 3
                cap = [topic] + [int(t) for t in rng.integers(50, 200, size=5)]
                key = f"{s:04d}{i:05d}"
                add(tar, f"{key}.bin", img.tobytes())
                add(tar, f"{key}.json", json.dumps(cap).encode())


if __name__ == "__main__":
    main()
