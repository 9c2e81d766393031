#!/bin/sh
torchrun pretrain_gpt.py \
    --num-layers 8 --hidden-size 512 --num-attention-heads 8 \
    --seq-length 0 --micro-batch-size 1
