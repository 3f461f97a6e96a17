// One training run of a configuration on one GPU, written to a tape.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/config.h"
#include "engine/tape.h"

namespace trainmem::transformers {
class Architecture;
}

namespace trainmem {

struct StepOptions {
  std::int32_t steps = 2;           ///< the last one is the steady state: optimizer states exist from the first one on
  bool short_accumulation = false;  ///< three micro-batches stand for more of them
  bool fold = false;                ///< equal layers and micro-batches once, with repeat marks
  std::int64_t stage = 0;           ///< pipeline stage
};

/// Runs initialisation and `steps` training steps. The configuration is valid and modelled.
Recording run_training(const Config& config, const StepOptions& options);

/// Number formats that a recipe's precision stands for, with what the recipe overrides.
struct Formats {
  DType weights = DType::bfloat16;
  DType computation = DType::automatic;  ///< of gathered weights; automatic: as the weights
  DType autocast = DType::automatic;     ///< automatic: no autocast
  DType gradients = DType::automatic;    ///< automatic: as the weights
  DType optimizer_states = DType::automatic;
};
Formats formats(const Recipe& recipe);

/// The forward that stands for a configuration's model; null if there is none. Megatron's are elsewhere.
std::unique_ptr<transformers::Architecture> make_architecture(const Model& model, const Recipe& recipe);

}  // namespace trainmem
