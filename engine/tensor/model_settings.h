// The recipe's settings that modules and operations look up where they run.
#pragma once

#include <cstdint>
#include <string>

#include "engine/config.h"

namespace trainmem {

/// Operations of the model that a kernel library replaces by one kernel (Liger-Kernel, Unsloth).
struct FusedKernels {
  bool norm = false;
  bool mlp = false;
  bool rope = false;
  bool fast_path = false;  ///< of layers that are no attention: causal-conv1d, mamba-ssm
};

/// How a model that is being built is tuned: adapters beside frozen weights.
struct FineTuning {
  std::int64_t rank = 0;  ///< of LoRA; 0: every weight is trained
  std::string targets;    ///< words of the layers that have an adapter: "q,v"
  double dropout = 0.0;
  DType dtype = DType::float32;  ///< of the adapters
  Quantization quantization = Quantization::none;
  bool fused = false;  ///< products of attention with adapters are one operation
};

/// Tensor parallelism of the model that is built and runs: see parallel/tensor.h.
struct TensorParallel {
  std::int64_t size = 1;  ///< GPUs; 1: none
  bool sequence = false;  ///< activations between the layers are shards of the sequence
  bool loss = false;      ///< the loss takes logits of a part of the vocabulary
};

/// GPUs that share a sequence: see parallel/context.h.
struct ContextParallel {
  std::int64_t size = 1;  ///< 1: none
  ContextParallelMethod method = ContextParallelMethod::automatic;
};

/// GPUs among which experts are divided.
struct ExpertParallel {
  std::int64_t size = 1;   ///< 1: none
  double imbalance = 1.0;  ///< rows that the busiest GPU receives, over the mean
};

/// Set once, before the model is made.
struct ModelSettings {
  FineTuning fine_tuning;
  FusedKernels fused;
  TensorParallel tensor_parallel;
  ContextParallel context_parallel;
  ExpertParallel expert_parallel;
  bool compiles_blocks = false;       ///< every block of the model is compiled
  bool legacy_models = false;         ///< the classes of transformers before 4.46
  bool inputs_want_gradient = false;  ///< of embeddings that are frozen: they are made to want one
  bool takes_attention_mask = false;  ///< of each sequence, which masks of attention are made with
  bool padding = false;               ///< it has zeros
  bool offload_checkpoints = false;   ///< inputs of recomputed blocks are kept in host memory
};

}  // namespace trainmem
