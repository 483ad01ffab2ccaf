deepspeed --num_gpus 8 train.py --base base.pt --ds-config ds_config.json
