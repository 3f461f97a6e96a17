// transformers' Llama divided over a tensor-parallel group with DTensor, by the plan of torchtitan
// (torchtitan/models/llama3/infra/parallelize.py: apply_non_moe_tp).
//
// Query, key, value, gate and up are divided by their outputs, the output projection and down by their inputs, the
// token embedding and the head by the vocabulary; norms are whole. With sequence parallelism what lies between the
// blocks is divided over the sequence, gathered before a divided layer and scattered after it.
#pragma once

#include <memory>

#include "engine/blocks/transformers/model.h"

namespace trainmem::transformers {

struct TensorParallel {
  Size size = 1;
  bool sequence_parallel = false;
  bool loss_parallel = false;  ///< the loss works on each GPU's part of the vocabulary
};

std::unique_ptr<Architecture> make_tensor_parallel_llama(const Model& model, DType weights, TensorParallel group);

}  // namespace trainmem::transformers
