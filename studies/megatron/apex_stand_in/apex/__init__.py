"""Stands in for NVIDIA's Apex, which must be compiled for a card, in studies/megatron/compare_distributed.sh.

Note [Apex stood in for]
Rationale: most of Megatron-LM's golden files come of images that have Apex. Its fused layer norm and
  softmax allocate less than the operations that Megatron-LM takes without it.
Approach: what Megatron-LM calls of them, each by an operation of PyTorch's that allocates and saves
  what Apex's own function does (apex/normalization/fused_layer_norm.py, csrc/megatron/*softmax_cuda.cu
  there). The values are not Apex's: the masks are not applied.
Limits: hidden sizes without a persistent layer norm; of the optimizers Adam; no fused norms of gradients.
"""
