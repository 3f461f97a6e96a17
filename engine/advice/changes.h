// The changes that can save memory, each with what it means and what it costs.
//
// Order and wording follow the map from cause to cure: recomputation for activations, ZeRO-1 for optimizer states,
// ZeRO-2 for gradients, ZeRO-3 or FSDP for parameters, tensor parallelism to split the layer itself; and before all of
// them a smaller micro-batch and better kernels, which cost little.
#pragma once

#include <cstdint>
#include <span>

#include "engine/config.h"

namespace trainmem {

/// What a change costs, cheapest first.
enum class Cost : std::uint8_t {
  none,      ///< the same training, no slower
  speed,     ///< the same training, slower
  host,      ///< the same training, much slower: what waits in host memory crosses PCIe
  numbers,   ///< other rounding, or another optimizer
  adapters,  ///< another training: adapters learn, the model is frozen
  gpus,      ///< more GPUs, or others given up for it
};
const char* name(Cost cost);

struct Change {
  const char* id;       ///< stable word: "smaller_micro_batch"
  const char* title;    ///< "Smaller micro-batch, accumulated"
  const char* meaning;  ///< one line: what it does to memory
  Cost cost;
  const char* cost_words;  ///< what it costs, in a sentence
  const char* source;      ///< where meaning and cost are stated; empty for plain arithmetic: a smaller batch
  std::int64_t amount;     ///< by how much, for apply
  /// Makes the change; false: it says nothing new about this configuration.
  bool (*apply)(Config& config, std::int64_t amount);
};

/// Makes the change. False, and nothing is changed: it says nothing new, or what comes out is invalid or not modelled.
bool make(const Change& change, Config& config);

/// Degrees of one change?
bool same_kind(const Change& a, const Change& b);

/// All changes. Neighbours with the same id are degrees of one change, mildest first.
std::span<const Change> all_changes();

}  // namespace trainmem
