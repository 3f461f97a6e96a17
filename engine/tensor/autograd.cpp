#include "engine/tensor/autograd.h"

#include <algorithm>

#include "engine/tensor/backward_engine.h"
#include "engine/tensor/run.h"

namespace trainmem {

void Node::release() { delete this; }

bool Backward::wants(int n) const { return static_cast<bool>(node_.next[static_cast<std::size_t>(n)].node); }
Tensor Backward::kept(int n) const { return node_.kept[static_cast<std::size_t>(n)].unpack(); }

namespace {

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
  node->sequence = run.new_nodes.next_sequence++;
  node->place = run.place;
  node->layer = run.layer;
  node->region = run.compiled_region;
  node->component = run.component;
  node->distributed = run.new_nodes.distributed && run.compiled_region == 0;
  return Ref<Node>(node);
}

}  // namespace

Ref<Node> begin_node(const Rule& rule, std::initializer_list<const Tensor*> arguments) {
  const Run& run = active_run();
  if (run.recomputing.complete) return {};
  bool wanted = false;
  if (run.grad_enabled)
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
  if (!run.grad_enabled || run.recomputing.complete) return {};
  if (std::none_of(arguments.begin(), arguments.end(), [](const Tensor& t) { return t.requires_grad(); })) return {};
  Ref<Node> node = new_node(rule);
  for (const Tensor& argument : arguments) node->next.push_back(edge_to(argument));
  return node;
}

bool wants(const Ref<Node>& node, int n) { return node && node->next[static_cast<std::size_t>(n)].node; }

void keep(const Ref<Node>& node, const Tensor& tensor) {
  if (!node) return;
  Run& run = active_run();
  if (run.recomputing.complete) return;
  if (run.saved_tensor_hooks != nullptr) {
    node->kept.push_back(run.saved_tensor_hooks->pack(tensor));
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
  if (tensor.requires_grad() || active_run().recomputing.complete || !active_run().grad_enabled) return tensor;
  const Ref<Node> node = new_node(rule);
  node->kept.push_back(Kept(detach(tensor)));  // the accumulation node of a leaf holds the leaf
  node->backward = [](Backward&) {};
  Tensor result = alias(tensor, tensor.shape(), tensor->strides);
  finish_node(node, result);
  result->leaf = true;  // like a weight: autocast caches its copy
  result->is_view = false;
  return result;
}

Tensor make_parameter(const Shape& shape, DType dtype, const char* name, bool trainable) {
  constexpr static Rule weight{"weight", "a weight of the model", "pytorch torch/nn/parameter.py"};
  Run& run = active_run();
  if (run.new_parameters.maker) return run.new_parameters.maker(shape, dtype, name);
  const Set<Component> component(run.component, Component::weights);
  Tensor parameter = allocate(shape, dtype, {&weight, name});
  note_kept(parameter, weight);
  parameter->requires_grad = trainable && !run.new_parameters.frozen;
  register_parameter(parameter);
  return parameter;
}

Tensor model_buffer(const Shape& shape, DType dtype, const Rule& rule, const char* name) {
  Run& run = active_run();
  const Set<Component> component(run.component, Component::weights);
  const bool casts = run.new_parameters.buffers != DType::automatic && (is_half(dtype) || dtype == DType::float32);
  Tensor buffer = allocate(shape, casts ? run.new_parameters.buffers : dtype, {&rule, name});
  note_kept(buffer, rule);
  return buffer;
}

void register_parameter(const Tensor& parameter) {
  Run& run = active_run();
  parameter->parameter = static_cast<std::int32_t>(run.parameters.size());
  run.parameters.push_back({parameter, run.layer, run.new_parameters.group});
}

}  // namespace trainmem
