#!/bin/bash
# Made up: a 70B on 64 GPUs.
GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-8}
PP=4
TP=${TENSOR:-8}

DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NNODES
)
MODEL_ARGS=(
    --num-layers 80 --hidden-size 8192   # as Llama's
    --ffn-hidden-size 28672
    --num-attention-heads 64
    --group-query-attention --num-query-groups 8
    --seq-length 8192 --max-position-embeddings 8192
    --position-embedding-type rope
    --swiglu --normalization RMSNorm --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0 --hidden-dropout 0.0
    --vocab-size=128256
)
TRAINING="--micro-batch-size 1 --global-batch-size 128 --lr 3.0e-4 --bf16 \
    --recompute-granularity selective"

torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    "${MODEL_ARGS[@]}" $TRAINING \
    --tensor-model-parallel-size $TP --pipeline-model-parallel-size "${PP}" \
    --num-layers-per-virtual-pipeline-stage 5 --sequence-parallel \
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
    --data-path /data/corpus_text_document 2>&1 | tee log
