// The optimizer's step on the parameters of the active run: states, temporaries, gradients set to none.
#pragma once

#include <vector>

#include "engine/config.h"
#include "engine/step.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

class OptimizerStep {
 public:
  OptimizerStep(const Recipe& recipe, const Formats& formats) : recipe_(recipe), formats_(formats) {}
  void step();
  void zero_grad();

 private:
  void make_states();

  const Recipe& recipe_;
  const Formats formats_;
  std::vector<Tensor> states_;
};

}  // namespace trainmem
