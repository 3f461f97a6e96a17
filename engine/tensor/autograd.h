// Reverse-mode differentiation of sizes: nodes, what they keep, and the engine that runs them in reverse.
//
// The order of events is that of torch/csrc/autograd/engine.cpp: the ready node with the highest sequence number
// runs first, gradients for leaves at once; a node's kept tensors go right after it has run; two gradients that
// meet are added in place if nobody else holds the first. The nodes of a compiled graph stand for one node of torch:
// what they have for leaves is passed on when the last of them has run.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/tensor/few.h"
#include "engine/tensor/pool.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

/// A tensor as a node keeps it: itself, or whatever saved-tensor hooks put in its place.
class Kept {
 public:
  struct Holder {
    std::int32_t references = 0;
    virtual Tensor unpack() = 0;
    virtual ~Holder() = default;
    void release() { delete this; }
  };
  Kept() = default;
  explicit Kept(Tensor tensor) : tensor_(std::move(tensor)) {}
  explicit Kept(Ref<Holder> holder) : holder_(std::move(holder)) {}
  Tensor unpack() const { return holder_ ? holder_->unpack() : tensor_; }

 private:
  Tensor tensor_;
  Ref<Holder> holder_;
};

/// Replaces how tensors are kept while it is the run's hooks.
class SavedTensorHooks {
 public:
  virtual Kept pack(const Tensor& tensor) = 0;
  virtual ~SavedTensorHooks() = default;
};

struct Edge {
  Ref<Node> node;
  std::int32_t input = 0;
};

/// One node's backward in progress.
class Backward {
 public:
  Backward(Node& node, Few<Tensor, 1>& gradients, Few<Tensor, 3>& results)
      : node_(node), gradients_(gradients), results_(results) {}
  /// Gradient of the operation's n-th result; undefined if none arrived.
  const Tensor& gradient(int n = 0) const { return gradients_[static_cast<std::size_t>(n)]; }
  /// Lets the operation take the gradient for itself (to change it in place or pass it on).
  Tensor take_gradient(int n = 0) { return std::move(gradients_[static_cast<std::size_t>(n)]); }
  /// Lets go of all gradients that arrived.
  void let_go() { gradients_.clear(); }
  /// Whether the n-th argument wants a gradient.
  bool wants(int n) const;
  /// The n-th kept tensor; recomputes it if it was dropped.
  Tensor kept(int n) const;
  void give(int n, Tensor gradient) { results_[static_cast<std::size_t>(n)] = std::move(gradient); }

 private:
  Node& node_;
  Few<Tensor, 1>& gradients_;
  Few<Tensor, 3>& results_;
};

class Node : public Pooled<Node> {
 public:
  struct Result {
    Shape shape;
    DType dtype = DType::float32;
  };

  std::int32_t references = 0;
  const Rule* rule = nullptr;
  std::uint64_t sequence = 0;
  Few<Edge, 3> next;
  Few<Kept, 3> kept;
  Few<Result, 1> results;  ///< of the forward operation: what arriving gradients must look like
  InPlaceFunction<Backward, 264> backward;
  std::function<void()> before;  ///< runs before the node's backward, when its gradients are there
  Tensor leaf;                   ///< accumulation nodes: the leaf whose .grad they fill
  std::uint32_t place = 0;
  std::int32_t layer = -1;
  std::int32_t region = 0;  ///< compiled graph that it is part of; 0: none
  Component component = Component::activations;
  bool distributed = false;          ///< gradients that meet here are DTensors: their sum is a new tensor
  bool reads_all = false;            ///< gradients that meet here stay apart: one compiled kernel reads them all
  Few<Tensor, 1> gradients;          ///< used by the engine: those that have arrived
  std::int32_t waiting = 0;          ///< used by the engine: gradients still to come
  std::uint64_t visited = 0;         ///< used by the engine: the last run that saw this node
  bool reaches_input = false;        ///< used by split_backward.h
  Few<Tensor, 1>* caught = nullptr;  ///< used by split_backward.h: where the gradients go, too

  void release();
};

/// Starts the node of an operation on `arguments` if any of them wants a gradient; else null.
Ref<Node> begin_node(const Rule& rule, std::initializer_list<const Tensor*> arguments);
Ref<Node> begin_node(const Rule& rule, const std::vector<Tensor>& arguments);
/// Keeps a tensor for the node's backward. Null node: nothing happens.
void keep(const Ref<Node>& node, const Tensor& tensor);
/// Whether the node's n-th argument wants a gradient. Null node: false.
bool wants(const Ref<Node>& node, int n);
/// Makes `result` the node's next result. Null node: `result` needs no gradient.
void finish_node(const Ref<Node>& node, const Tensor& result);

/// The same tensor, wanting a gradient that nobody uses (requires_grad_ on an activation).
Tensor require_gradient(Tensor tensor);

/// Runs backward from a scalar loss. `at_end`: what was queued to run when the last node has run (queue_callback).
void run_backward(const Tensor& loss, const std::function<void()>& at_end = nullptr);
/// Runs backward from any tensor with the gradient given.
void run_backward(const Tensor& root, Tensor gradient);

/// Hands a leaf to the optimizer.
void register_parameter(const Tensor& parameter);
/// A buffer of the model, which lies among its weights.
Tensor model_buffer(const Shape& shape, DType dtype, const Rule& rule, const char* name = nullptr);
/// A leaf that wants a gradient: allocates it as a weight and registers it with the run, or lets the maker of the run's
/// new parameters do so.
Tensor make_parameter(const Shape& shape, DType dtype, const char* name, bool trainable = true);

}  // namespace trainmem
