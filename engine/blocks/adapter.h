// LoRA beside a linear layer, as peft writes it: peft/tuners/lora/layer.py, Linear.forward.
#pragma once

#include "engine/tensor/ops.h"

namespace trainmem {

class ModuleWrapper;

/// Low-rank side branch: base(x) + B(A(dropout(x))) * scaling, computed in the adapter's own format.
struct Adapter {
  Tensor a;  ///< (rank, in)
  Tensor b;  ///< (out, rank)
  double dropout = 0.0;
  ModuleWrapper* wrapper = nullptr;  ///< of each matrix's module; null: they are their block's
  int groups[2] = {-1, -1};
  /// Whether there is one, and it is not disabled (peft_model.py: disable_adapter).
  bool defined() const;
  /// Adds the branch to the base layer's output.
  Tensor operator()(Tensor base, Tensor x) const;
  /// The same beside a 4-bit layer, whose branch takes the input as it is under autocast, and is cast before it is
  /// added otherwise: peft/tuners/lora/bnb.py, Linear4bit.forward.
  Tensor beside_quantized(Tensor base, Tensor x) const;

 private:
  Tensor product(int which, Tensor x) const;  ///< with A, or with B
};

/// The adapter of the layer called `role`, if the run's fine-tuning asks for one. Unless its weights are shards, they
/// have no memory yet. `times`: of the fine-tuning's rank.
Adapter make_adapter(Size in, Size out, const char* role, Size times = 1);

/// Gives whole adapters made so far their memory, layer by layer.
void give_memory_to_adapters();

/// Whether fine-tuning stores this layer's weight in 4 bits.
bool is_quantized(const char* role);

}  // namespace trainmem
