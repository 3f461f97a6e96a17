// xIELU (Huang and Schlag 2024, arXiv:2411.13010), which learns how steep it is on either side of zero.
#pragma once

#include "engine/blocks/transformers/parts.h"

namespace trainmem::transformers {

/// transformers activations.py: XIELUActivation, its _xielu_python, which runs where the xielu package is not
/// installed.
class Xielu {
 public:
  explicit Xielu(DType dtype);
  Tensor operator()(const Tensor& x) const;

 private:
  Tensor positive_, negative_;  ///< learned
  Tensor beta_, epsilon_;       ///< buffers
};

}  // namespace trainmem::transformers
