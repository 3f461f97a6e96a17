#include "engine/parallel/fsdp2.h"

#include <algorithm>

#include "engine/parallel/keeps_last_block.h"
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
constexpr Rule accumulated_rule{"accumulated gradient",
                                "whole gradient of a weight: micro-batches add to it before it is reduced",
                                "pytorch torch/distributed/fsdp/_fully_shard/_fsdp_param.py: "
                                "to_accumulated_grad_if_needed"};
constexpr Rule in_shard_order_rule{"tensor in the order of its shards", "", collectives};
constexpr Rule hook_rule{
    "post-backward hook", "",
    "pytorch torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py: RegisterPostBackwardFunction"};

}  // namespace

Fsdp2::Fsdp2(const Sharding& sharding, ShardedFormats formats, const Fsdp2Words& words)
    : shards_(sharding.shards),
      replicated_(sharding.replicated),
      expert_parallel_(sharding.expert_parallel),
      formats_(formats),
      words_(words) {
  active_run().new_parameters.maker = [this](const Shape& shape, DType dtype, const char* name) {
    return make(shape, dtype, name);
  };
}

Fsdp2::~Fsdp2() { active_run().new_parameters.maker = nullptr; }

int Fsdp2::open_group(ModulePart part) {
  Group group;
  // The root is never resharded after forward, and by default neither is the head: backward begins with it.
  // torchtitan kept the last layer, too, when embedding and head were of the root's group (83e6941
  // models/llama3/infra/parallelize.py: apply_fsdp, and what it replaced).
  const bool keeps_last = words_.reshard == Reshard::all_but_last || KeepsLastBlock::is_on();
  const bool last = part == ModulePart::last_layer && keeps_last;
  const bool head = part == ModulePart::head && words_.reshard != Reshard::always;
  group.stays_gathered = part == ModulePart::root || words_.reshard == Reshard::never || head || last;
  group.layer = active_run().layer;
  group.shards = shards_;
  open_ = groups_.size();
  groups_.push_back(std::move(group));
  return static_cast<int>(open_);
}

Fsdp2::Group& Fsdp2::group_of_new_parameter() {
  if (!active_run().new_parameters.experts || expert_parallel_ == 1) return groups_[open_];
  if (groups_[open_].experts == 0) {
    Group group;
    group.layer = groups_[open_].layer;
    group.stays_gathered = groups_[open_].stays_gathered;
    group.shards = shards_ / Size(expert_parallel_);
    group.of_experts = true;
    groups_[open_].experts = groups_.size();
    groups_.push_back(std::move(group));
  }
  return groups_[groups_[open_].experts];
}

Tensor Fsdp2::make(const Shape& shape, DType dtype, const char* name) {
  Run& run = active_run();
  Group& group = group_of_new_parameter();
  Parameter parameter;
  // torchtitan distributed/fsdp.py, apply_fsdp_to_decoder: more shards than experts divide their width.
  if (run.new_parameters.experts && group.shards > shape[0]) parameter.dimension = 1;
  Shape shard = shape;
  shard[parameter.dimension] = ceil_divide(shape[parameter.dimension], group.shards);
  {
    const Set<Component> component(run.component, Component::weights);
    parameter.shard = formats_.offloaded ? allocate_nothing(shard, dtype) : allocate(shard, dtype, {&shard_rule, name});
    note_kept(parameter.shard, shard_rule);
  }
  parameter.shard->requires_grad = !run.new_parameters.frozen;
  register_parameter(parameter.shard);
  parameter.padded = shard.elements() * group.shards;
  parameter.gathered = declare(shape, formats_.parameters == DType::automatic ? dtype : formats_.parameters);
  parameter.gathered->requires_grad = !run.new_parameters.frozen;
  group.elements = group.elements + parameter.padded;
  group.parameters.push_back(parameter);
  return parameter.gathered;
}

void Fsdp2::gather(Group& group) {
  if (group.present || group.gather.defined() || group.shards == 1) return;
  Run& run = active_run();
  group.gathering_layer = run.layer;
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
    flat = allocate({group.elements / group.shards}, dtype, {&flat_rule});
  group.gather = allocate({group.elements}, dtype, {&gather_rule});
  note_kept(group.gather, gather_rule);
  let_go(from_host);
}

void Fsdp2::copy_shards(const Group& group) {
  Tensor copy;
  for (const Parameter& parameter : group.parameters) {
    const DType dtype = parameter.gathered.dtype();
    if (formats_.offloaded) copy = allocate(parameter.shard.shape(), parameter.shard.dtype(), {&host_rule});
    if (dtype != parameter.shard.dtype()) copy = allocate(parameter.shard.shape(), dtype, {&flat_rule});
    give_memory(parameter.gathered, parameter.padded, Component::gathered_parameters,
                {&gathered_rule, "gathered weight"});
    note_kept(parameter.gathered, gathered_rule);
  }
}

void Fsdp2::unshard(Group& group, Pass pass) {
  if (group.present) return;
  gather(group);
  std::vector<Tensor> in_order_of_shards;  // where another dimension than the first is divided
  if (group.shards == 1) {
    copy_shards(group);
  } else {
    for (const Parameter& parameter : group.parameters) {
      give_memory(parameter.gathered, parameter.padded, Component::gathered_parameters,
                  {&gathered_rule, "gathered weight"});
      note_kept(parameter.gathered, gathered_rule);
      if (parameter.dimension == 0) continue;
      in_order_of_shards.push_back(
          allocate(parameter.gathered.shape(), parameter.gathered.dtype(), {&in_shard_order_rule}));
    }
  }
  let_go(in_order_of_shards);
  group.present = true;
  if (pass == Pass::forward) last_gather_ = std::move(group.gather);
  group.gather.reset();
}

void Fsdp2::reshard(Group& group) {
  if (!group.present) return;
  for (const Parameter& parameter : group.parameters) take_memory(parameter.gathered);
  group.present = false;
}

void Fsdp2::prefetch(std::size_t index, Pass pass) {
  const std::size_t experts = groups_[index].experts;
  if (pass == Pass::forward) gather(groups_[index]);
  if (experts != 0) gather(groups_[experts]);
  if (pass == Pass::backward) gather(groups_[index]);
}

Tensor Fsdp2::before_forward(int index, Tensor input) {
  // _fsdp_state.py, _pre_forward: cast_forward_inputs.
  const bool floats = input.dtype() == DType::float32 || is_half(input.dtype());
  if (floats && formats_.parameters != DType::automatic) input = to(std::move(input), formats_.parameters);
  if (is_passed_over()) return input;
  const auto at = static_cast<std::size_t>(index);
  const std::size_t experts = groups_[at].experts;
  const auto hook = [this](Tensor tensor, std::size_t group) {
    return with_backward_hook(std::move(tensor), hook_rule, [this, group](const Tensor&) { after_backward(group); });
  };
  unshard(groups_[at], Pass::forward);
  Tensor hooked = hook(std::move(input), at);
  if (experts != 0) {
    unshard(groups_[experts], Pass::forward);
    hooked = hook(std::move(hooked), experts);
  }
  // set_modules_to_forward_prefetch; without it gathers are issued when their module begins.
  if (expert_parallel_ > 1) {
    std::size_t next = at + 1;
    while (next < groups_.size() && groups_[next].of_experts) ++next;
    if (next < groups_.size()) prefetch(next, Pass::forward);
  }
  return hooked;
}

/// _fsdp_state.py, _pre_forward, _post_forward: the hooks do nothing in a forward that the pre-backward hook began.
bool Fsdp2::is_passed_over() const { return active_run().recomputing.second_forward && !words_.inside_recomputation; }

Tensor Fsdp2::after_forward(int index, Tensor output) {
  if (is_passed_over()) return output;
  const auto at = static_cast<std::size_t>(index);
  for (const std::size_t each : {at, groups_[at].experts}) {
    if (each == 0 && each != at) continue;
    if (!groups_[each].stays_gathered) reshard(groups_[each]);
    groups_[each].reduced = false;
  }
  forward_order_.push_back(at);
  add_output(index, output);
  if (active_run().recomputing.second_forward)
    last_gather_.reset();  // _post_forward: it is a forward's outermost module
  return output;
}

void Fsdp2::add_output(int index, const Tensor& output) {
  if (output->grad_fn) output->grad_fn->before = [this, index] { before_backward(static_cast<std::size_t>(index)); };
}

void Fsdp2::end_forward() { last_gather_.reset(); }

void Fsdp2::before_backward(std::size_t index) {
  unshard(groups_[index], Pass::backward);
  if (groups_[index].experts != 0) unshard(groups_[groups_[index].experts], Pass::backward);
  // The module whose forward ended before this one's last: of those that ran again in backward a gradient has come.
  const auto found = std::find(forward_order_.rbegin(), forward_order_.rend(), index);
  if (found != forward_order_.rend() && found + 1 != forward_order_.rend()) prefetch(*(found + 1), Pass::backward);
}

/// _fsdp_param.py: accumulate_unsharded_grad_if_needed.
void Fsdp2::add_to_accumulated(Group& group) {
  for (Parameter& parameter : group.parameters)
    if (parameter.accumulated.defined()) parameter.gathered->grad.reset();
}

/// _fsdp_param.py: to_accumulated_grad_if_needed.
void Fsdp2::keep_accumulated(Group& group) {
  for (Parameter& parameter : group.parameters) {
    Tensor& gradient = parameter.gathered->grad;
    if (!gradient.defined() || formats_.reduction == DType::automatic || gradient.dtype() == formats_.reduction)
      continue;
    const Set<Component> component(active_run().component, Component::gradients);
    parameter.accumulated =
        allocate(parameter.gathered.shape(), formats_.reduction, {&accumulated_rule, "whole gradient"});
    note_kept(parameter.accumulated, accumulated_rule);
    gradient.reset();
  }
}

void Fsdp2::accumulate(Group& group) {
  add_to_accumulated(group);
  keep_accumulated(group);
}

void Fsdp2::finish_accumulation() {
  accumulating_ = false;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Layer layer(groups_[i].layer);
    const Repeat repeat(active_run().times_of(groups_[i].layer));
    groups_[i].reduced = false;
    after_backward(i);
  }
  end_backward();
}

void Fsdp2::after_backward(std::size_t index) {
  Group& group = groups_[index];
  if (accumulating_) return accumulate(group);
  if (group.reduced) return;
  group.reduced = true;
  add_to_accumulated(group);
  if (reduces_) cut_down_gradients(group);
  reshard(group);
  if (reduces_) return reduce_gradients(group);
  keep_accumulated(group);
}

void Fsdp2::reduce_gradients(Group& group) {
  std::vector<Parameter*> with_gradient;  // frozen weights have none
  for (Parameter& parameter : group.parameters)
    if (parameter.gathered->grad.defined() || parameter.accumulated.defined()) with_gradient.push_back(&parameter);
  if (with_gradient.empty()) return;
  if (group.experts == 0) let_go(reduce_scatter_inputs_);  // a module's experts are reduced before the rest of it
  reduce(group, with_gradient);
}

/// _fsdp_state.py, _force_complete_incomplete_states (pytorch 180428) ends the group's forward without its last module;
/// torchtitan components/loss.py, ChunkedLossWrapper, gathers it again, for all of its parts.
void Fsdp2::begin_parts(int group) {
  Group& parted = groups_[static_cast<std::size_t>(group)];
  reshard(parted);
  unshard(parted, Pass::backward);
}

Tensor Fsdp2::before_part(int group, Tensor input, bool last) {
  const Ref<Node> node = begin_node(hook_rule, {&input});
  if (!node) return input;
  Tensor result = alias(input, input.shape(), input->strides);
  node->backward = [this, group, last](Backward& b) {
    Group& parted = groups_[static_cast<std::size_t>(group)];
    accumulate(parted);
    if (last) reduce_gradients(parted);
    b.give(0, b.take_gradient());
  };
  finish_node(node, result);
  return result;
}

/// _fsdp_param.py, unsharded_grad_data: a gradient of more than the parameter (DTensor's of a divided embedding).
void Fsdp2::cut_down_gradients(Group& group) {
  for (Parameter& parameter : group.parameters) {
    Tensor& gradient = parameter.gathered->grad;
    if (!gradient.defined()) continue;
    const Size bytes = gradient.elements() * Size(element_bytes(gradient.dtype()));
    if (gradient->storage->bytes > bytes) gradient = clone_contiguous(gradient);
  }
}

/// _fsdp_collectives.py: foreach_reduce.
void Fsdp2::reduce(Group& group, const std::vector<Parameter*>& parameters) {
  const DType reduction =
      formats_.reduction == DType::automatic ? parameters.front()->gathered.dtype() : formats_.reduction;
  Size elements = 0;
  Tensor last;  // a loop variable of foreach_reduce holds the last gradient until it returns
  for (Parameter* parameter : parameters) {
    elements = elements + parameter->padded;
    Tensor& gradient = parameter->accumulated.defined() ? parameter->accumulated : parameter->gathered->grad;
    last = gradient;
    if (parameter->dimension > 0) gradient = allocate(gradient.shape(), gradient.dtype(), {&in_shard_order_rule});
  }
  {
    const Set<Component> component(active_run().component, Component::communication);
    reduce_scatter_inputs_.push_back(allocate({elements}, reduction, {&reduce_input_rule}));
    note_kept(reduce_scatter_inputs_.back(), reduce_input_rule);
  }
  for (Parameter& parameter : group.parameters) {
    parameter.gathered->grad.reset();
    parameter.accumulated.reset();
  }
  const Tensor output = reduce_scatter(group, elements / group.shards, reduction, parameters.front()->shard.dtype());
  if (formats_.offloaded) return;  // copied to host memory
  for (const Parameter* parameter : parameters)
    if (!parameter->shard->grad.defined())
      parameter->shard->grad = alias(output, parameter->shard.shape(), parameter->shard->strides);
}

Tensor Fsdp2::reduce_scatter(Group& group, const Size& elements, DType reduction, DType sharded) {
  const Set<Stream> stream(active_run().stream, Stream::reduce_scatter);
  const Set<Component> component(active_run().component, Component::gradients);
  Tensor output = allocate({elements}, reduction, {&reduce_output_rule});
  note_kept(output, reduce_output_rule);
  if (replicated_) group.all_reduce_input = output;  // _fsdp_param_group.py: AllReduceState
  if (reduction != sharded) {
    output = allocate({elements}, sharded, {&reduce_output_rule});
    note_kept(output, reduce_output_rule);
  }
  return output;
}

void Fsdp2::end_backward() {
  if (accumulating_) return;
  for (std::size_t i = 0; i < groups_.size(); ++i) after_backward(i);
  LayerStretches stretches;
  for (Group& group : groups_) {  // gathered ahead and not waited for: finalize_backward
    if (group.gather.defined()) stretches.enter(group.gathering_layer);
    group.gather.reset();
  }
  if (replicated_) {
    for (Group& group : groups_) {
      stretches.enter(group.layer);
      group.all_reduce_input.reset();
    }
  }
  let_go(reduce_scatter_inputs_);
  forward_order_.clear();
}

}  // namespace trainmem
