// Recomputation: torch.utils.checkpoint.
#pragma once

#include <functional>

#include "engine/tensor/autograd.h"

namespace trainmem {

using Forward = std::function<Tensor(Tensor)>;

struct CheckpointOptions {
  bool selective = false;  ///< results of some operations are kept, too, and not computed again: see selective.h
  bool early_stop = true;  ///< the second forward ends at the last tensor that the block keeps
};

/// Not re-entrant: keeps the input; the first kept tensor that backward asks for runs `forward` again.
/// torch/utils/checkpoint.py: _checkpoint_without_reentrant_generator.
Tensor checkpoint(Forward forward, Tensor x, const CheckpointOptions& options);

/// Re-entrant: runs `forward` without autograd, keeps the input; backward runs it again and then its own backward.
/// torch/utils/checkpoint.py: CheckpointFunction.
struct ReentrantOptions {
  Tensor** beside = nullptr;    ///< where `forward` leaves what it returns beside its result; null: it returns nothing
  Tensor second;                ///< a second argument; undefined: there is none
  Tensor** in_place = nullptr;  ///< where `forward` finds what it is to take in place of the second argument
};
Tensor checkpoint_reentrant(Forward forward, Tensor x, const ReentrantOptions& options = {});

}  // namespace trainmem
