accelerate launch --num_processes 4 --mixed_precision bf16 -m rloo.main \
    --model Qwen/Qwen2.5-0.5B-Instruct --problems data/problems.jsonl \
    --prompts-per-rank 8 --k 8 --max-new-tokens 256 --updates 500 --out runs/rloo
