"""torchrun --nproc_per_node=8 pretrain.py --shards 'shards/*.npy' --output_dir out --max_steps 100000"""
from transformers import GPT2Config, GPT2LMHeadModel, HfArgumentParser, Trainer, TrainingArguments, set_seed

from configs import PretrainConfig
from stream import TokenStream


def build_model(cfg):
    return GPT2LMHeadModel(GPT2Config(
        vocab_size=cfg.vocab_size, n_positions=cfg.block_size, n_embd=cfg.hidden, n_layer=cfg.layers,
        n_head=cfg.heads, bos_token_id=0, eos_token_id=0))


def main():
    cfg, args = HfArgumentParser((PretrainConfig, TrainingArguments)).parse_args_into_dataclasses()
    if args.max_steps <= 0:
        raise SystemExit("the stream has no length, give --max_steps")
    set_seed(args.seed)
    model = build_model(cfg)
    stream = TokenStream(cfg.shards, cfg.block_size, cfg.buffer, seed=args.seed)
    trainer = Trainer(model=model, args=args, train_dataset=stream)
    result = trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)
    trainer.log_metrics("train", result.metrics)
    trainer.save_model()
    trainer.save_state()


if __name__ == "__main__":
    main()
