// The published closed formulas, each exactly as its source gives it, beside the replayed step.
//
//   N  parameters          s  sequence length     h  hidden size     t  tensor-parallel size
//   d  data-parallel size  b  micro-batch size    a  query heads     L  layers
//
// All of them are whole-model or one-layer accounts of dense transformers; every line says what it leaves out.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/config.h"
#include "engine/result.h"

namespace trainmem {

/// The rows of table 2 of Korthikanti et al. 2022 (arXiv:2205.05198).
enum class ActivationTechnique {
  no_parallelism,
  tensor,
  tensor_and_sequence,
  tensor_and_selective,
  tensor_and_sequence_and_selective,
  full_recomputation
};

/// What the activation formulas depend on.
struct LayerSizes {
  std::int64_t s = 0;
  std::int64_t b = 0;
  std::int64_t h = 0;
  std::int64_t a = 0;
  std::int64_t t = 1;
};

/// Bytes of activations of `layers` layers; exact, rounded up where t does not divide.
Bytes korthikanti_bytes(ActivationTechnique technique, const LayerSizes& sizes, std::int64_t layers = 1);

Bytes attention_activation_bytes(const LayerSizes& sizes);  ///< 11sbh + 5as^2b
Bytes mlp_activation_bytes(const LayerSizes& sizes);        ///< 19sbh
Bytes norm_activation_bytes(const LayerSizes& sizes);       ///< 4sbh: two layer norms

/// Model states of one GPU by ZeRO stage 0 to 3 over d GPUs, mixed precision Adam: 2N + 2N + 12N.
Bytes zero_state_bytes(int stage, std::int64_t parameters, std::int64_t d);

/// Megatron's distributed optimizer with 16-bit weights and fp32 gradients: (6 + 12/d) N.
Bytes distributed_optimizer_bytes(std::int64_t parameters, std::int64_t d);

/// Heuristic activation numbers of one token: 4.6894e-4 N + 1.8494e6.
double heuristic_activations_per_token(std::int64_t parameters);

/// Every line of the textbook for one configuration.
std::vector<TextbookLine> textbook(const Config& config, std::int64_t parameters);

}  // namespace trainmem
