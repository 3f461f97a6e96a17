// Recomputation: torch.utils.checkpoint.
#pragma once

#include <functional>

#include "engine/tensor/autograd.h"

namespace trainmem {

using Forward = std::function<Tensor(Tensor)>;

/// Not re-entrant: keeps the input; the first kept tensor that backward asks for runs `forward` again, up to the
/// last tensor that the block keeps. torch/utils/checkpoint.py: _checkpoint_without_reentrant_generator.
/// `selective`: results of some operations are kept, too, and not computed again (selective.h).
/// `early_stop`: as above; without, the second forward runs to its end.
Tensor checkpoint(Forward forward, Tensor x, bool selective = false, bool early_stop = true);

/// Re-entrant: runs `forward` without autograd, keeps the input; backward runs it again and then its own backward.
/// torch/utils/checkpoint.py: CheckpointFunction.
/// `beside`: where `forward` leaves what it returns beside its result; null: it returns nothing else.
Tensor checkpoint_reentrant(Forward forward, Tensor x, Tensor** beside = nullptr);

}  // namespace trainmem
