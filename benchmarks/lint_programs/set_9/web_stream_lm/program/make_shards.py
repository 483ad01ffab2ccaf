import argparse
import json
import random
from pathlib import Path


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", default="shards")
    p.add_argument("--count", type=int, default=4)
    p.add_argument("--rows", type=int, default=64)
    args = p.parse_args()
    rng = random.Random(0)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    for s in range(args.count):
        with open(out / f"part-{s:05d}.jsonl", "w") as f:
            for _ in range(args.rows):
                word = f"s{s}x{rng.randint(0, 9)} "
                f.write(json.dumps({"text": word * rng.randint(8, 20)}) + "\n")


if __name__ == "__main__":
    main()
