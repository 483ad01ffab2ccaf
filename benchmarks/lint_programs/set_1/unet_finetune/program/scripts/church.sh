export MODEL_NAME="google/ddpm-ema-church-256"
export DATA_DIR="/mnt/data/chapels"

accelerate launch --num_processes 8 --mixed_precision fp16 train_unconditional.py \
  --pretrained_model_name_or_path=$MODEL_NAME \
  --train_data_dir=$DATA_DIR \
  --resolution=256 \
  --train_batch_size=4 \
  --gradient_accumulation_steps=16 \
  --max_train_steps=20000 \
  --learning_rate=2e-5 --lr_warmup_steps=500 \
  --checkpointing_steps=2000 \
  --output_dir="ddpm-chapels"
