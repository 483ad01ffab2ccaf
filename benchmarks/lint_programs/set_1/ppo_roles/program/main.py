import argparse
import os
from datetime import timedelta

import torch
import torch.distributed as dist

from policy import Policy, distinct_bigrams, response_logps, sample
from ppo import Learner, PPOConfig
from roles import Cluster, Rollouts


def actor(args, cluster, model, prompts):
    model.eval()
    dst = cluster.my_learner()
    gen = torch.Generator().manual_seed(cluster.rank)
    prompt_len = prompts.size(1)
    for _ in range(args.iterations):
        pick = torch.randint(prompts.size(0), (args.rollouts,), generator=gen)
        ids = sample(model, prompts[pick].cuda(), args.new_tokens)
        with torch.no_grad():
            logp = response_logps(model, ids, prompt_len)
        Rollouts(ids, logp, distinct_bigrams(ids[:, prompt_len:])).send(dst)
        cluster.sync_weights(model)


def learner(args, cluster, model, prompts):
    model.train()
    prompt_len = prompts.size(1)
    ppo = Learner(model, cluster.learner_group, prompt_len, PPOConfig(lr=args.lr, target_kl=args.target_kl))
    for it in range(args.iterations):
        got = [
            Rollouts.empty(args.rollouts, prompt_len, args.new_tokens).recv(src)
            for src in cluster.my_actors()
        ]
        info = ppo.update(Rollouts.concat(got))
        cluster.sync_weights(model)
        if cluster.rank == 0:
            print(
                f"{it:5d}  reward {info['reward']:.4f}  kl {info['kl']:.4f}  ppo epochs {info['epochs']}",
                flush=True,
            )
            if (it + 1) % args.save_every == 0:
                torch.save(model.state_dict(), f"{args.out}.{it + 1}.pt")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--learners", type=int, default=1)
    p.add_argument("--policy", required=True)
    p.add_argument("--prompts", required=True, help="int64 tensor (n, prompt length)")
    p.add_argument("--iterations", type=int, default=1000)
    p.add_argument("--rollouts", type=int, default=64, help="per actor and iteration")
    p.add_argument("--new_tokens", type=int, default=128)
    p.add_argument("--lr", type=float, default=2e-6)
    p.add_argument("--target_kl", type=float, default=0.02)
    p.add_argument("--save_every", type=int, default=100)
    p.add_argument("--out", default="ppo")
    args = p.parse_args()

    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group(
        "nccl", timeout=timedelta(minutes=20), device_id=torch.device("cuda", local)
    )
    cluster = Cluster(args.learners)
    model = Policy().cuda()
    model.load_state_dict(torch.load(args.policy, map_location="cpu"))
    prompts = torch.load(args.prompts)
    torch.manual_seed(1000 + cluster.rank)

    role = learner if cluster.is_learner else actor
    role(args, cluster, model, prompts)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
