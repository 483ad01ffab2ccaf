import argparse
import os
import random

WORDS = "the a one small large red green river house bird sees finds takes leaves near under over".split()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", default="shards")
    p.add_argument("--num-shards", type=int, default=8)
    p.add_argument("--docs", type=int, default=200, help="documents per shard")
    args = p.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for s in range(args.num_shards):
        rng = random.Random(s)
        with open(os.path.join(args.out, f"{s:05d}.txt"), "w") as f:
            for d in range(args.docs):
                f.write(f"{s} {d} " + " ".join(rng.choices(WORDS, k=rng.randint(10, 30))) + "\n")


if __name__ == "__main__":
    main()
