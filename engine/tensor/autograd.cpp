#include "engine/tensor/autograd.h"

#include <algorithm>
#include <memory>

#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/work.h"

namespace trainmem {

void Node::release() { delete this; }

bool Backward::wants(int n) const { return static_cast<bool>(node_.next[static_cast<std::size_t>(n)].node); }
Tensor Backward::kept(int n) const { return node_.kept[static_cast<std::size_t>(n)].unpack(); }

namespace {

constexpr Rule accumulate_rule{"gradient", "gradient of a weight, until the optimizer has used it",
                               "pytorch torch/csrc/autograd/functions/accumulate_grad.h"};

Edge edge_to(const Tensor& argument) {
  if (!argument.defined() || !argument.requires_grad()) return {};
  TensorBody* body = argument.get();
  if (!body->grad_fn) {
    auto* node = new Node;
    node->rule = &accumulate_rule;
    node->sequence = ~std::uint64_t{0};
    node->leaf = argument;
    node->results.push_back({argument.shape(), argument.dtype()});
    body->grad_fn = Ref<Node>(node);
  }
  return {body->grad_fn, body->output_number};
}

Ref<Node> new_node(const Rule& rule) {
  Run& run = active_run();
  auto* node = new Node;
  node->rule = &rule;
  node->sequence = run.next_sequence++;
  node->place = run.place;
  node->layer = run.layer;
  node->region = run.compiled_region;
  node->component = run.component;
  node->distributed = run.distributed;
  return Ref<Node>(node);
}

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

/// Adds a gradient that arrives where another one waits: torch/csrc/autograd/input_buffer.cpp, accumulate().
void arrive(Tensor& waiting, Tensor gradient, bool distributed) {
  if (!waiting.defined()) {
    waiting = std::move(gradient);
    return;
  }
  if (!distributed && waiting.sole_owner()) return;  // added in place
  waiting = sum_of_gradients(std::move(waiting), std::move(gradient));
}

Tensor fit_to(Tensor gradient, const Node::Result& wanted) {
  if (!(gradient.shape() == wanted.shape)) gradient = reduce_to(std::move(gradient), wanted.shape);
  if (gradient.dtype() != wanted.dtype) gradient = cast_gradient(std::move(gradient), wanted.dtype);
  return gradient;
}

class Engine {
 public:
  /// `retains`: nodes keep what they keep after they have run.
  explicit Engine(bool retains = false) : retains_(retains) {}

  void run(const Ref<Node>& root, std::int32_t input, Tensor gradient) {
    Few<Tensor, 1> gradients;
    gradients.resize(root->results.size());
    gradients[static_cast<std::size_t>(input)] = std::move(gradient);
    run(root, std::move(gradients));
  }

  void run(const Ref<Node>& root, Few<Tensor, 1> gradients) {
    count(root.get());
    root->gradients = std::move(gradients);
    push(root);
    while (!ready_.empty() || !put_off_.empty()) {
      if (ready_.empty() || (!put_off_.empty() && ready_.front()->region != put_off_region_)) {
        for (Ref<Node>& leaf : put_off_) push(std::move(leaf));
        put_off_.clear();
        continue;
      }
      std::pop_heap(ready_.begin(), ready_.end(), later);
      const Ref<Node> node = std::move(ready_.back());
      ready_.pop_back();
      repeat_layer(*node);
      evaluate(*node);
    }
    stretches_.leave();
  }

 private:
  static bool later(const Ref<Node>& a, const Ref<Node>& b) { return a->sequence < b->sequence; }

  void push(Ref<Node> node) {
    ready_.push_back(std::move(node));
    std::push_heap(ready_.begin(), ready_.end(), later);
  }

  /// Counts for every node how many gradients will arrive.
  static void count(Node* root) {
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

  /// Layers that stand for several: their stretch of backward happens as often. A backward within a backward
  /// belongs to the stretch it is part of.
  void repeat_layer(const Node& node) {
    if (node.leaf.defined() || node.layer == layer_) return;
    layer_ = node.layer;
    stretches_.enter(layer_);
  }

  void evaluate(Node& node) {
    Run& active = active_run();
    Few<Tensor, 1> gradients = std::move(node.gradients);
    node.gradients.clear();
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (gradients[i].defined()) gradients[i] = fit_to(std::move(gradients[i]), node.results[i]);
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
      if (!retains_) node.kept.clear();
    }
    for (std::size_t i = 0; i < results.size(); ++i)
      if (node.next[i].node) deliver(node.next[i], std::move(results[i]), node.region);
  }

  void deliver(const Edge& edge, Tensor gradient, std::int32_t region) {
    Node& next = *edge.node;
    next.gradients.resize(next.results.size());
    if (gradient.defined())
      arrive(next.gradients[static_cast<std::size_t>(edge.input)], std::move(gradient), next.distributed);
    if (--next.waiting > 0) return;
    if (region == 0 || !next.leaf.defined()) return push(edge.node);
    put_off_.push_back(edge.node);
    put_off_region_ = region;
  }

  const bool retains_;
  std::vector<Ref<Node>> ready_;
  std::vector<Ref<Node>> put_off_;  ///< leaves whose gradients a compiled graph returns at its end
  std::int32_t put_off_region_ = 0;
  LayerStretches stretches_{true};
  std::int32_t layer_ = active_run().layer;
};

}  // namespace

Ref<Node> begin_node(const Rule& rule, std::initializer_list<const Tensor*> arguments) {
  const Run& run = active_run();
  if (!run.grad_enabled || run.stopped) return {};
  bool wanted = false;
  for (const Tensor* argument : arguments) wanted = wanted || (argument != nullptr && argument->requires_grad());
  Ref<Node> node;
  if (wanted) {
    node = new_node(rule);
    for (const Tensor* argument : arguments) node->next.push_back(argument == nullptr ? Edge{} : edge_to(*argument));
  }
  if (run.operation_hooks != nullptr) run.operation_hooks->before_operation(arguments, node.get());
  return node;
}

Ref<Node> begin_node(const Rule& rule, const std::vector<Tensor>& arguments) {
  const Run& run = active_run();
  if (!run.grad_enabled || run.stopped) return {};
  if (std::none_of(arguments.begin(), arguments.end(), [](const Tensor& t) { return t.requires_grad(); })) return {};
  Ref<Node> node = new_node(rule);
  for (const Tensor& argument : arguments) node->next.push_back(edge_to(argument));
  return node;
}

bool wants(const Ref<Node>& node, int n) { return node && node->next[static_cast<std::size_t>(n)].node; }

void keep(const Ref<Node>& node, const Tensor& tensor) {
  if (!node) return;
  Run& run = active_run();
  if (run.stopped) return;
  if (run.hooks != nullptr) {
    node->kept.push_back(run.hooks->pack(tensor));
    return;
  }
  note_kept(tensor, *node->rule);
  node->kept.push_back(Kept(detach(tensor)));
}

void finish_node(const Ref<Node>& node, const Tensor& result) {
  OperationHooks* hooks = active_run().operation_hooks;
  if (!node) {
    if (hooks != nullptr) hooks->after_operation();
    return;
  }
  TensorBody* body = result.get();
  body->output_number = static_cast<std::int32_t>(node->results.size());
  node->results.push_back({result.shape(), result.dtype()});
  body->grad_fn = node;
  body->leaf = false;
  body->requires_grad = true;
  if (hooks != nullptr) hooks->after_operation();
}

Tensor require_gradient(Tensor tensor) {
  constexpr static Rule rule{"requires_grad_", "", "transformers modeling_utils.py: enable_input_require_grads"};
  if (tensor.requires_grad() || active_run().stopped || !active_run().grad_enabled) return tensor;
  const Ref<Node> node = new_node(rule);
  node->kept.push_back(Kept(detach(tensor)));  // the accumulation node of a leaf holds the leaf
  node->backward = [](Backward&) {};
  Tensor result = alias(tensor, tensor.shape(), tensor->strides);
  finish_node(node, result);
  return result;
}

void run_backward(const Tensor& root, Tensor gradient) {
  const Set<bool> no_grad(active_run().grad_enabled, false);
  Engine engine;
  engine.run(root->grad_fn, root->output_number, std::move(gradient));
}

void run_backward(const Tensor& loss, const std::function<void()>& at_end) {
  constexpr static Rule ones{"gradient of the loss", "", "pytorch torch/autograd/__init__.py: ones_like"};
  const Tensor gradient = allocate(loss.shape(), loss.dtype(), {&ones});  // the caller of the engine holds it
  run_backward(loss, gradient);
  if (at_end) at_end();
}

namespace {

/// The nodes below `root`, each after those that its edges lead to.
std::vector<Ref<Node>> nodes_from_below(const Ref<Node>& root) {
  struct Open {
    Ref<Node> node;
    std::size_t next = 0;
  };
  std::vector<Ref<Node>> order;
  std::vector<Node*> seen;
  std::vector<Open> stack{{root, 0}};
  root->waiting = -1;  // seen
  while (!stack.empty()) {
    Open& top = stack.back();
    if (top.next == top.node->next.size()) {
      order.push_back(top.node);
      stack.pop_back();
      continue;
    }
    const Ref<Node> below = top.node->next[top.next++].node;
    if (!below || below->waiting == -1) continue;
    below->waiting = -1;
    stack.push_back({below, 0});
  }
  for (const Ref<Node>& node : order) node->waiting = 0;
  return order;
}

}  // namespace

void SplitBackward::run_input(const Tensor& root, Tensor gradient, const Tensor& input) {
  const Node* goal = input->grad_fn.get();
  nodes_ = nodes_from_below(root->grad_fn);
  for (const Ref<Node>& node : nodes_) {
    node->reaches_input = node.get() == goal;
    Left left;
    Few<Edge, 3> to_input;
    bool cut = false;
    for (std::size_t i = 0; i < node->next.size(); ++i) {
      const Edge& edge = node->next[i];
      const bool reaches = edge.node && edge.node->reaches_input;
      node->reaches_input = node->reaches_input || reaches;
      cut = cut || (edge.node && !reaches);
      to_input.push_back(reaches ? edge : Edge{});
      left.weights.push_back(reaches ? Edge{} : edge);
      left.whole.push_back(edge);
    }
    if (!cut || !node->reaches_input) continue;
    left.node = node;
    node->next = std::move(to_input);
    left_.push_back(std::move(left));
  }
  for (Left& left : left_) left.node->caught = &left.gradients;
  const Set<bool> no_grad(active_run().grad_enabled, false);
  Engine engine(true);
  engine.run(root->grad_fn, root->output_number, std::move(gradient));
  for (Left& left : left_) {
    left.node->caught = nullptr;
    left.node->next = left.whole;
  }
  std::sort(left_.begin(), left_.end(),
            [](const Left& a, const Left& b) { return a.node->sequence < b.node->sequence; });
  // What comes after the last of them in the forward is needed no more (the outputs are detached).
  nodes_.erase(std::remove_if(nodes_.begin(), nodes_.end(), [](const Ref<Node>& node) { return node->leaf.defined(); }),
               nodes_.end());
  std::sort(nodes_.begin(), nodes_.end(),
            [](const Ref<Node>& a, const Ref<Node>& b) { return a->sequence > b->sequence; });
  std::size_t later = 0;
  while (later < nodes_.size() && (left_.empty() || nodes_[later]->sequence > left_.back().node->sequence)) ++later;
  release(later);
}

/// Lets go of what the first `end` nodes keep: as often as the layers stand for.
void SplitBackward::release(std::size_t end) {
  const Run& run = active_run();
  for (std::size_t i = 0; i < end;) {
    const std::int32_t layer = nodes_[i]->layer;
    const Repeat repeat(run.times_of(layer));
    for (; i < end && nodes_[i]->layer == layer; ++i) {
      nodes_[i]->kept.clear();
      for (Left& left : left_)
        if (left.node.get() == nodes_[i].get()) left.gradients.clear();
    }
  }
  nodes_.erase(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(end));
}

void SplitBackward::run_weights() {
  const Set<bool> no_grad(active_run().grad_enabled, false);
  for (Left& left : left_) {
    left.node->next = left.weights;
    Engine engine;
    engine.run(left.node, left.gradients);
    left.node->next = left.whole;
  }
  release(nodes_.size());
  left_.clear();
}

Tensor make_parameter(const Shape& shape, DType dtype, const char* name, bool trainable) {
  constexpr static Rule weight{"weight", "a weight of the model", "pytorch torch/nn/parameter.py"};
  Run& run = active_run();
  if (run.parameter_maker) return run.parameter_maker(shape, dtype, name);
  const Set<Component> component(run.component, Component::weights);
  Tensor parameter = allocate(shape, dtype, {&weight, name});
  note_kept(parameter, weight);
  parameter->requires_grad = trainable && !run.frozen;
  register_parameter(parameter);
  return parameter;
}

void register_parameter(const Tensor& parameter) {
  Run& run = active_run();
  parameter->parameter = static_cast<std::int32_t>(run.parameters.size());
  run.parameters.push_back(parameter);
  run.parameter_layers.push_back(run.layer);
  run.parameter_groups.push_back(run.parameter_group);
}

}  // namespace trainmem
