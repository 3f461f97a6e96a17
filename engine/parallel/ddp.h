// DistributedDataParallel: every GPU holds everything; gradients are reduced through buckets.
//
// The buckets hold a second copy of all gradients for ever, or, with gradient_as_bucket_view, are the gradients:
// then each gradient is copied into its bucket as it appears, and stays there after zero_grad. Micro-batches before the
// last one run under no_sync(): their gradients lie beside the buckets.
// Source: pytorch torch/csrc/distributed/c10d/reducer.cpp: initialize_buckets, mark_variable_ready_dense.
#pragma once

#include "engine/tensor/tensor.h"

namespace trainmem {

class Ddp {
 public:
  /// Wraps the parameters of the active run.
  explicit Ddp(bool gradient_as_bucket_view);
  ~Ddp();
  /// Whether the backward that follows reduces.
  void set_last_micro_batch(bool last) { reduces_ = last; }

 private:
  bool reduces_ = true;
  Tensor buckets_;  ///< one buffer for all: their split does not change the sum
};

}  // namespace trainmem
