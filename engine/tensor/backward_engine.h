// The engine that runs nodes in reverse; autograd.h says in which order. Used by run_backward and SplitBackward.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor/autograd.h"
#include "engine/tensor/few.h"
#include "engine/tensor/run.h"

namespace trainmem {

/// Of the nodes that fill a leaf's .grad.
inline constexpr Rule accumulate_rule{"gradient", "gradient of a weight, until the optimizer has used it",
                                      "pytorch torch/csrc/autograd/functions/accumulate_grad.h"};

/// Whether nodes keep what they keep after they have run (retain_graph).
enum class RetainGraph : std::uint8_t { no, yes };

/// One backward.
class BackwardEngine {
 public:
  explicit BackwardEngine(RetainGraph retain = RetainGraph::no) : retain_(retain) {}

  /// From the `input`-th result of `root`.
  void run(const Ref<Node>& root, std::int32_t input, Tensor gradient);
  /// From all results of `root`.
  void run(const Ref<Node>& root, Few<Tensor, 1> gradients);

 private:
  void push(Ref<Node> node);
  void repeat_layer(const Node& node);
  void evaluate(Node& node);
  void deliver(const Edge& edge, Tensor gradient, std::int32_t region);

  const RetainGraph retain_;
  std::vector<Ref<Node>> ready_;    ///< a heap, the latest first
  std::vector<Ref<Node>> put_off_;  ///< leaves whose gradients a compiled graph returns at its end
  std::int32_t put_off_region_ = 0;
  LayerStretches stretches_{LayerOrder::falling};
  std::int32_t layer_ = active_run().layer;
};

}  // namespace trainmem
