// The optimizer in a training run: its states, its step with clipping before it, gradients set to none.
#pragma once

#include <vector>

#include "engine/config.h"
#include "engine/config/formats.h"
#include "engine/optimizer/walk.h"

namespace trainmem {

class OptimizerStep {
 public:
  /// Constructs the optimizer of the active run's parameters. One that steps inside backward hooks them. `meshes`: see
  /// clip_gradient_norm.
  OptimizerStep(const Recipe& recipe, const Formats& formats, int meshes = 0);
  ~OptimizerStep();
  OptimizerStep(const OptimizerStep&) = delete;
  OptimizerStep& operator=(const OptimizerStep&) = delete;

  void step();
  void zero_grad();

 private:
  bool in_backward_;
  bool clipping_;
  int meshes_;
  std::vector<OptimizerWalk> walks_;  ///< in the order in which they step
};

}  // namespace trainmem
