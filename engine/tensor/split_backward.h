// Backward cut in two, for zero-bubble pipelines.
#pragma once

#include <vector>

#include "engine/tensor/autograd.h"

namespace trainmem {

/// A backward in two parts: the gradient of one leaf first, those of all other leaves later.
/// pytorch torch/distributed/pipelining/_backward.py: stage_backward_input, stage_backward_weight.
class SplitBackward {
 public:
  /// Gradient of `input`. Nodes keep what they keep (retain_graph); those where a weight comes in keep their
  /// gradients, too.
  void run_input(const Tensor& root, Tensor gradient, const Tensor& input);
  /// Gradients of the other leaves, in the order of the forward; everything is let go at the end.
  void run_weights();

 private:
  struct Left {
    Ref<Node> node;
    Few<Edge, 3> whole;    ///< the node's edges
    Few<Edge, 3> weights;  ///< those that do not lead to the input
    Few<Tensor, 1> gradients;
  };
  void release(std::size_t end);

  std::vector<Left> left_;
  std::vector<Ref<Node>> nodes_;  ///< all that still keep something, later ones first
};

}  // namespace trainmem
