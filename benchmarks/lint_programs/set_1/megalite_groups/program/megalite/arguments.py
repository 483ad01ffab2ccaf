import argparse
import os


def parse_args():
    parser = argparse.ArgumentParser(description="Megalite Arguments")
    g = parser.add_argument_group("model")
    g.add_argument("--num-layers", type=int, default=12)
    g.add_argument("--hidden-size", type=int, default=768)
    g.add_argument("--num-attention-heads", type=int, default=12)
    g.add_argument("--vocab-size", type=int, default=50304)
    g = parser.add_argument_group("training")
    g.add_argument("--micro-batch-size", type=int, default=4)
    g.add_argument("--seq-length", type=int, default=1024)
    g.add_argument("--train-iters", type=int, default=10000)
    g.add_argument("--lr", type=float, default=1.5e-4)
    g.add_argument("--lr-warmup-iters", type=int, default=500)
    g.add_argument("--seed", type=int, default=1234)
    g = parser.add_argument_group("distributed")
    g.add_argument("--tensor-model-parallel-size", type=int, default=1)
    g = parser.add_argument_group("data and output")
    g.add_argument("--data-path", required=True)
    g.add_argument("--save", required=True)
    g.add_argument("--save-interval", type=int, default=1000)
    g.add_argument("--log-interval", type=int, default=10)
    args = parser.parse_args()

    args.local_rank = int(os.environ["LOCAL_RANK"])
    args.world_size = int(os.environ["WORLD_SIZE"])
    assert args.world_size % args.tensor_model_parallel_size == 0
    assert args.num_attention_heads % args.tensor_model_parallel_size == 0
    return args
