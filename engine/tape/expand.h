// The full recording that a folded one stands for.
//
// Layers that take turns were run once; their stretches of tape are written out here, each turn with storages of its
// own. What a turn frees of its neighbours is seen from the layers beside the group, which stand for themselves and
// were run: where the group frees the k-th storage of the layer below it, a turn frees the k-th storage of the turn
// below it. Micro-batches stay folded: three stand for any number.
#pragma once

#include "engine/tape/tape.h"

namespace trainmem {

/// Writes the full recording (without WorkMarks) to `full`; false if the layers beside the group are not like it, or if
/// the group frees what a layer further off has allocated, as weights that FSDP1 gathers ahead in forward. Then the
/// layers must be run one by one, and `full` means nothing.
bool expand(const Recording& folded, Recording& full);

}  // namespace trainmem
