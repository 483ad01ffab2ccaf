"""Stand-alone scorer: reads a state file, scores hypothesis by hypothesis."""
import json
import sys
import time

import torch


def main(state_path, out_path, items):
    state = torch.load(state_path, weights_only=True)
    norm = sum(v.float().norm().item() for v in state.values())
    score = 0.0
    for i in range(items):
        time.sleep(0.2)
        score += (norm * (i + 1)) % 1.0
    with open(out_path, "w") as f:
        json.dump({"score": score / items}, f)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
