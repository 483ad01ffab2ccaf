import argparse
import pathlib

import torch

from module import StarModel
from vocab import Vocab


@torch.no_grad()
def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--root", required=True)
    ap.add_argument("--ckpt", required=True)
    ap.add_argument("text")
    ns = ap.parse_args()
    vocab = Vocab.load(pathlib.Path(ns.root) / "vocab.json")
    model = StarModel.load_from_checkpoint(ns.ckpt, map_location="cpu").eval()
    ids = torch.tensor([vocab.encode(ns.text, 256)])
    print(model(ids, torch.tensor([ids.shape[1]])).softmax(-1).squeeze().tolist())


if __name__ == "__main__":
    main()
