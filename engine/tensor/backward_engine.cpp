#include "engine/tensor/backward_engine.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "engine/tensor/dispatch_mode.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/work.h"

namespace trainmem {

namespace {

/// Adds a gradient to a leaf's .grad: torch/csrc/autograd/functions/accumulate_grad.h, accumulateGrad().
void accumulate(const Tensor& leaf, Tensor gradient) {
  TensorBody* body = leaf.get();
  if (!body->grad.defined()) {
    // Stolen if nobody else holds it and it lies in memory as the leaf does; otherwise cloned.
    const bool steal = gradient->references == 1 && gradient->strides == leaf->strides;
    body->grad = steal ? std::move(gradient) : clone_contiguous(std::move(gradient));
    body->grad->requires_grad = false;
    set_component(body->grad, Component::gradients);
    note_kept(body->grad, accumulate_rule);
  } else {  // added in place: read and written
    const Size bytes = body->grad.elements() * element_bytes(body->grad.dtype());
    note_traffic(Pass::backward, Component::gradients, 2 * bytes);
  }
  if (body->gradient_hook) body->gradient_hook(leaf);
}

/// Adds a gradient that arrives where another one waits: torch/csrc/autograd/input_buffer.cpp, accumulate(). Autograd
/// knows of a view what it is a view of, which is a second holder of the memory (variable.h: DifferentiableViewMeta).
void arrive(Tensor& waiting, Tensor gradient, bool distributed) {
  if (!waiting.defined()) {
    waiting = std::move(gradient);
    return;
  }
  const bool recorded = DispatchMode::is_on();  // a recorder adds in place wherever nobody else holds one of the two
  const bool plain = !distributed && !waiting->is_view;
  if (waiting.sole_owner() && (plain || recorded)) return;  // added in place
  if (recorded && gradient.sole_owner()) {
    waiting = std::move(gradient);
    return;
  }
  waiting = sum_of_gradients(std::move(waiting), std::move(gradient));
}

/// As the forward's result was: torch/csrc/autograd/engine.cpp, validate_outputs().
Tensor fit_to(Tensor gradient, const Node::Result& wanted) {
  if (!(gradient.shape() == wanted.shape)) gradient = reduce_to(std::move(gradient), wanted.shape);
  if (gradient.dtype() != wanted.dtype) gradient = cast_gradient(std::move(gradient), wanted.dtype);
  return gradient;
}

bool waits_for(const Ref<Node>& a, const Ref<Node>& b) { return a->sequence < b->sequence; }

// A heap of nodes, the latest first. Leaves are all equal, and come out as of libstdc++'s heap (bits/stl_heap.h), which
// PyTorch's ready queue is on Linux: another library's would let them run in another order.

/// `node` rises from a free place.
void rise(std::vector<Ref<Node>>& heap, std::size_t place, Ref<Node> node) {
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (!waits_for(heap[parent], node)) break;
    heap[place] = std::move(heap[parent]);
    place = parent;
  }
  heap[place] = std::move(node);
}

/// The free place of the first one sinks to the end, along the right one of equals; from there the last one rises.
Ref<Node> take_first(std::vector<Ref<Node>>& heap) {
  Ref<Node> first = std::move(heap.front());
  Ref<Node> last = std::move(heap.back());
  heap.pop_back();
  if (heap.empty()) return first;
  std::size_t place = 0;
  for (std::size_t child = 2; child <= heap.size(); child = 2 * place + 2) {
    if (child == heap.size() || waits_for(heap[child], heap[child - 1])) --child;
    heap[place] = std::move(heap[child]);
    place = child;
  }
  rise(heap, place, std::move(last));
  return first;
}

/// Counts for every node below `root` how many gradients will arrive.
void count_gradients(Node* root) {
  static thread_local std::uint64_t visits = 0;
  const std::uint64_t visit = ++visits;
  std::vector<Node*> stack{root};
  root->waiting = 0;
  root->visited = visit;
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (std::size_t i = 0; i < node->next.size(); ++i) {
      Node* next = node->next[i].node.get();
      if (next == nullptr) continue;
      if (next->visited != visit) {
        next->visited = visit;
        next->waiting = 0;
        stack.push_back(next);
      }
      ++next->waiting;
    }
  }
}

}  // namespace

void BackwardEngine::run(const Ref<Node>& root, std::int32_t input, Tensor gradient) {
  Few<Tensor, 1> gradients;
  gradients.resize(root->results.size());
  gradients[static_cast<std::size_t>(input)] = std::move(gradient);
  run(root, std::move(gradients));
}

void BackwardEngine::run(const Ref<Node>& root, Few<Tensor, 1> gradients) {
  count_gradients(root.get());
  root->gradients = std::move(gradients);
  push(root);
  while (!ready_.empty() || !put_off_.empty()) {
    if (ready_.empty() || (!put_off_.empty() && ready_.front()->region != put_off_region_)) {
      for (Ref<Node>& leaf : put_off_) push(std::move(leaf));
      put_off_.clear();
      continue;
    }
    const Ref<Node> node = take_first(ready_);
    repeat_layer(*node);
    evaluate(*node);
  }
  stretches_.leave();
}

void BackwardEngine::push(Ref<Node> node) {
  ready_.emplace_back();
  rise(ready_, ready_.size() - 1, std::move(node));
}

/// Layers that stand for several: their stretch of backward happens as often. A backward within a backward
/// belongs to the stretch it is part of.
void BackwardEngine::repeat_layer(const Node& node) {
  if (node.leaf.defined() || node.layer == layer_) return;
  layer_ = node.layer;
  stretches_.enter(layer_);
}

void BackwardEngine::evaluate(Node& node) {
  Run& active = active_run();
  Few<Tensor, 1> gradients = std::move(node.gradients);
  node.gradients.clear();
  if (node.caught != nullptr) *node.caught = gradients;
  if (node.leaf.defined()) {
    accumulate(node.leaf, std::move(gradients[0]));
    return;
  }
  Few<Tensor, 3> results;
  results.resize(node.next.size());
  {
    const Set<std::uint32_t> place(active.place, node.place);
    const Set<std::int32_t> layer(active.layer, node.layer);
    const Set<Component> component(active.component, node.component);
    active.mark_place();
    if (node.before) node.before();
    Backward backward(node, gradients, results);
    node.backward(backward);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Edge& edge = node.next[i];
      if (results[i].defined() && edge.node)
        results[i] = fit_to(std::move(results[i]), edge.node->results[static_cast<std::size_t>(edge.input)]);
    }
    gradients.clear();
    if (retain_ == RetainGraph::no) node.kept.clear();
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    if (node.next[i].node) deliver(node.next[i], std::move(results[i]), node.region);
}

void BackwardEngine::deliver(const Edge& edge, Tensor gradient, std::int32_t region) {
  Node& next = *edge.node;
  next.gradients.resize(next.results.size());
  if (next.reads_all && next.gradients[0].defined())
    next.gradients.push_back(std::move(gradient));
  else if (gradient.defined())
    arrive(next.gradients[static_cast<std::size_t>(edge.input)], std::move(gradient), next.distributed);
  if (--next.waiting > 0) return;
  if (region == 0 || !next.leaf.defined()) return push(edge.node);
  put_off_.push_back(edge.node);
  put_off_region_ = region;
}

void run_backward(const Tensor& root, Tensor gradient) {
  const Set<bool> no_grad(active_run().grad_enabled, false);
  BackwardEngine engine;
  engine.run(root->grad_fn, root->output_number, std::move(gradient));
}

void run_backward(const Tensor& loss, const std::function<void()>& at_end) {
  constexpr static Rule ones{"gradient of the loss", "", "pytorch torch/autograd/__init__.py: ones_like"};
  const Tensor gradient = allocate(loss.shape(), loss.dtype(), {&ones});  // the caller of the engine holds it
  run_backward(loss, gradient);
  if (at_end) at_end();
}

}  // namespace trainmem
