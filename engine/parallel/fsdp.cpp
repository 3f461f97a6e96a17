#include "engine/parallel/fsdp.h"

#include <algorithm>

#include "engine/tensor/autograd.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* collectives = "pytorch torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py";
constexpr Rule shard_rule{"shard", "this GPU's shard of a weight",
                          "pytorch torch/distributed/fsdp/_fully_shard/_fsdp_param.py"};
constexpr Rule flat_rule{"all-gather input", "shards of a group, cast and laid end to end", collectives};
constexpr Rule host_rule{"shard from host memory", "",
                         "pytorch torch/distributed/fsdp/_fully_shard/_fsdp_param.py: all_gather_inputs"};
constexpr Rule gather_rule{"all-gather output", "gathered shards of a group, until the next gather has been copied out",
                           collectives};
constexpr Rule gathered_rule{"gathered weight", "whole weight of a module that computes, or stays gathered",
                             "pytorch torch/distributed/fsdp/_fully_shard/_fsdp_param.py: alloc_all_gather_outputs"};
constexpr Rule reduce_input_rule{"reduce-scatter input",
                                 "gradients of a group laid end to end, until the next group's reduction", collectives};
constexpr Rule reduce_output_rule{"sharded gradient", "this GPU's shard of the reduced gradients", collectives};
constexpr Rule accumulated_rule{
    "accumulated gradient", "whole gradient of a weight: micro-batches of a pipeline add to it before it is reduced",
    "pytorch torch/distributed/fsdp/_fully_shard/_fsdp_param.py: "
    "to_accumulated_grad_if_needed"};
constexpr Rule hook_rule{
    "post-backward hook", "",
    "pytorch torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py: RegisterPostBackwardFunction"};

}  // namespace

Fsdp::Fsdp(Size shards, ShardedFormats formats, Reshard policy, bool keeps_last_layer)
    : shards_(shards), formats_(formats), reshard_(policy), keeps_last_layer_(keeps_last_layer) {
  active_run().parameter_maker = [this](const Shape& shape, DType dtype, const char* name) {
    return make(shape, dtype, name);
  };
}

Fsdp::~Fsdp() { active_run().parameter_maker = nullptr; }

int Fsdp::open_group(ModulePart part) {
  Group group;
  // The root is never resharded after forward, and by default neither is the head: backward begins with it.
  const bool last = part == ModulePart::head || (part == ModulePart::last_layer && keeps_last_layer_);
  group.stays_gathered =
      part == ModulePart::root || reshard_ == Reshard::never || (reshard_ == Reshard::automatic && last);
  group.layer = active_run().layer;
  open_ = groups_.size();
  groups_.push_back(std::move(group));
  return static_cast<int>(open_);
}

Tensor Fsdp::make(const Shape& shape, DType dtype, const char* name) {
  Run& run = active_run();
  Parameter parameter;
  Shape shard = shape;
  shard[0] = ceil_divide(shape[0], shards_);
  {
    const Set<Component> component(run.component, Component::weights);
    parameter.shard = formats_.offloaded ? allocate_nothing(shard, dtype) : allocate(shard, dtype, {&shard_rule, name});
    note_kept(parameter.shard, shard_rule);
  }
  register_parameter(parameter.shard);
  parameter.padded = shard.elements() * shards_;
  parameter.gathered = declare(shape, formats_.parameters == DType::automatic ? dtype : formats_.parameters);
  parameter.gathered->requires_grad = !run.frozen;
  Group& group = groups_[open_];
  group.elements = group.elements + parameter.padded;
  group.parameters.push_back(parameter);
  return parameter.gathered;
}

void Fsdp::gather(Group& group) {
  if (group.present || group.gather.defined()) return;
  Run& run = active_run();
  const Set<Stream> stream(run.stream, Stream::all_gather);
  const Set<Component> component(run.component, Component::gathered_parameters);
  const DType dtype = group.parameters[0].gathered.dtype();
  const bool one_format = std::all_of(group.parameters.begin(), group.parameters.end(),
                                      [&](const Parameter& each) { return each.gathered.dtype() == dtype; });
  if (!one_format && !formats_.offloaded) {
    // Shards of several formats are gathered as bytes, without a copy: _get_param_all_gather_inputs.
    Size bytes = 0;
    for (const Parameter& parameter : group.parameters)
      bytes = bytes + parameter.padded * Size(element_bytes(parameter.gathered.dtype()));
    group.gather = allocate({bytes}, DType::uint8, {&gather_rule});
    note_kept(group.gather, gather_rule);
    return;
  }
  Tensor flat;
  std::vector<Tensor> from_host;
  if (formats_.offloaded) {
    // all_gather_inputs: each shard is copied to the GPU, cast, and kept until the gather has begun.
    for (const Parameter& parameter : group.parameters) {
      Tensor copy = allocate(parameter.shard.shape(), parameter.shard.dtype(), {&host_rule});
      if (dtype != parameter.shard.dtype()) copy = allocate(parameter.shard.shape(), dtype, {&host_rule});
      from_host.push_back(std::move(copy));
    }
  } else if (dtype != group.parameters[0].shard.dtype())
    flat = allocate({group.elements / shards_}, dtype, {&flat_rule});
  group.gather = allocate({group.elements}, dtype, {&gather_rule});
  note_kept(group.gather, gather_rule);
  let_go(from_host);
}

void Fsdp::unshard(Group& group, bool forward) {
  if (group.present) return;
  gather(group);
  for (const Parameter& parameter : group.parameters) {
    give_memory(parameter.gathered, parameter.padded, Component::gathered_parameters,
                {&gathered_rule, "gathered weight"});
    note_kept(parameter.gathered, gathered_rule);
  }
  group.present = true;
  if (forward) {
    last_gather_ = std::move(group.gather);
    group.gather.reset();
  } else {
    group.gather.reset();
  }
}

void Fsdp::reshard(Group& group) {
  if (!group.present) return;
  for (const Parameter& parameter : group.parameters) take_memory(parameter.gathered);
  group.present = false;
}

Tensor Fsdp::before_forward(int index, Tensor input) {
  if (active_run().recomputing) return input;
  Group& group = groups_[static_cast<std::size_t>(index)];
  unshard(group, true);
  const Ref<Node> node = begin_node(hook_rule, {&input});
  if (!node) return input;
  Tensor result = alias(input, input.shape(), input->strides);
  node->backward = [this, index](Backward& b) {
    after_backward(static_cast<std::size_t>(index));
    b.give(0, b.take_gradient());
  };
  finish_node(node, result);
  return result;
}

Tensor Fsdp::after_forward(int index, Tensor output) {
  if (active_run().recomputing) return output;
  const auto at = static_cast<std::size_t>(index);
  if (!groups_[at].stays_gathered) reshard(groups_[at]);
  groups_[at].reduced = false;
  forward_order_.push_back(at);
  add_output(index, output);
  return output;
}

void Fsdp::add_output(int index, const Tensor& output) {
  if (output->grad_fn) output->grad_fn->before = [this, index] { before_backward(static_cast<std::size_t>(index)); };
}

void Fsdp::end_forward() { last_gather_.reset(); }

void Fsdp::before_backward(std::size_t index) {
  unshard(groups_[index], false);
  const auto found = std::find(forward_order_.begin(), forward_order_.end(), index);
  if (found != forward_order_.begin() && found != forward_order_.end()) gather(groups_[*(found - 1)]);
}

/// _fsdp_param.py: accumulate_unsharded_grad_if_needed, to_accumulated_grad_if_needed.
void Fsdp::accumulate(Group& group) {
  for (Parameter& parameter : group.parameters) {
    Tensor& gradient = parameter.gathered->grad;
    if (!gradient.defined() || formats_.reduction == DType::automatic || gradient.dtype() == formats_.reduction)
      continue;
    if (!parameter.accumulated.defined()) {
      const Set<Component> component(active_run().component, Component::gradients);
      parameter.accumulated =
          allocate(parameter.gathered.shape(), formats_.reduction, {&accumulated_rule, "whole gradient"});
      note_kept(parameter.accumulated, accumulated_rule);
    }
    gradient.reset();
  }
}

void Fsdp::finish_accumulation() {
  accumulating_ = false;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Layer layer(groups_[i].layer);
    const Repeat repeat(active_run().times_of(groups_[i].layer));
    groups_[i].reduced = false;
    after_backward(i);
  }
  end_backward();
}

void Fsdp::after_backward(std::size_t index) {
  Group& group = groups_[index];
  if (accumulating_) return accumulate(group);
  if (group.reduced) return;
  group.reduced = true;
  // A gradient of more than the parameter (DTensor's of a divided embedding) is cut down: _fsdp_param.py,
  // unsharded_grad_data.
  for (Parameter& parameter : group.parameters) {
    Tensor& gradient = parameter.gathered->grad;
    if (!gradient.defined()) continue;
    const Size bytes = gradient.elements() * Size(element_bytes(gradient.dtype()));
    if (gradient->storage->bytes > bytes) gradient = clone_contiguous(gradient);
  }
  reshard(group);
  reduce_scatter_input_.reset();
  std::vector<Parameter*> reduced;  // frozen weights have no gradient
  Size elements = 0;
  for (Parameter& parameter : group.parameters) {
    if (!parameter.gathered->grad.defined() && !parameter.accumulated.defined()) continue;
    reduced.push_back(&parameter);
    elements = elements + parameter.padded;
  }
  if (reduced.empty()) return;
  Run& run = active_run();
  const DType sharded = reduced.front()->shard.dtype();
  const DType reduction =
      formats_.reduction == DType::automatic ? reduced.front()->gathered.dtype() : formats_.reduction;
  {
    const Set<Component> component(run.component, Component::communication);
    reduce_scatter_input_ = allocate({elements}, reduction, {&reduce_input_rule});
    note_kept(reduce_scatter_input_, reduce_input_rule);
  }
  // A loop variable of foreach_reduce holds the last gradient until it returns.
  const Tensor last = reduced.back()->gathered->grad;
  for (Parameter& parameter : group.parameters) {
    parameter.gathered->grad.reset();
    parameter.accumulated.reset();
  }
  const Set<Stream> stream(run.stream, Stream::reduce_scatter);
  const Set<Component> component(run.component, Component::gradients);
  Tensor output = allocate({elements / shards_}, reduction, {&reduce_output_rule});
  note_kept(output, reduce_output_rule);
  if (reduction != sharded) {
    output = allocate({elements / shards_}, sharded, {&reduce_output_rule});
    note_kept(output, reduce_output_rule);
  }
  if (formats_.offloaded) return;  // copied to host memory
  for (const Parameter* parameter : reduced)
    if (!parameter->shard->grad.defined())
      parameter->shard->grad = alias(output, parameter->shard.shape(), parameter->shard->strides);
}

void Fsdp::end_backward() {
  if (accumulating_) return;
  for (std::size_t i = 0; i < groups_.size(); ++i) after_backward(i);
  for (Group& group : groups_) group.gather.reset();
  reduce_scatter_input_.reset();
  forward_order_.clear();
}

}  // namespace trainmem
