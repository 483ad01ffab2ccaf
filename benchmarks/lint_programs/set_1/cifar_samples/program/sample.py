import argparse
import time

import numpy as np
import torch

from ancestral import sample
from setup import load_ema, start

ap = argparse.ArgumentParser()
ap.add_argument("--ckpt", required=True)
ap.add_argument("--out", default="samples.npz")
ap.add_argument("--total", type=int, default=50_000)
ap.add_argument("--batch", type=int, default=256, help="per process")
ap.add_argument("--steps", type=int, default=250)
ap.add_argument("--guidance", type=float, default=1.5)
ap.add_argument("--width", type=int, default=128)
ap.add_argument("--seed", type=int, default=0)


def main(args):
    acc = start(args.seed)
    net = load_ema(args.ckpt, acc.device, args.width)

    images, labels, done, t0 = [], [], 0, time.time()
    while done < args.total:
        y = torch.randint(0, 10, (args.batch,), device=acc.device)
        x = sample(net, y, args.steps, args.guidance)
        x = ((x + 1) * 127.5).round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).contiguous()
        x, y = acc.gather((x, y))
        done += len(y)
        if acc.is_main_process:
            images.append(x.cpu().numpy())
            labels.append(y.cpu().numpy())
            print(f"{min(done, args.total)}/{args.total} images, {time.time() - t0:.0f}s", flush=True)

    if acc.is_main_process:
        np.savez(args.out, np.concatenate(images)[: args.total], np.concatenate(labels)[: args.total])
    acc.wait_for_everyone()
    acc.end_training()


if __name__ == "__main__":
    main(ap.parse_args())
