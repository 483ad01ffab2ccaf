deepspeed --num_gpus 8 pretrain.py --shards /data/wiki_shards --save_dir ckpt/bert
