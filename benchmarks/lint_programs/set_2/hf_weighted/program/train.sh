torchrun --nproc_per_node=4 run_cls.py \
  --train_file data/train.jsonl --dev_file data/dev.jsonl \
  --output_dir out/intent --num_train_epochs 5 --per_device_train_batch_size 32 \
  --learning_rate 3e-5 --warmup_ratio 0.06 --bf16 --eval_strategy epoch --save_strategy epoch \
  --load_best_model_at_end --metric_for_best_model macro_f1 --seed 13
