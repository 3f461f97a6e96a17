#include "engine/parallel/fsdp1.h"

#include <algorithm>

#include "engine/tensor/autograd.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* flat_param = "pytorch torch/distributed/fsdp/_flat_param.py";
constexpr const char* runtime = "pytorch torch/distributed/fsdp/_runtime_utils.py";
constexpr Rule shard_rule{"flat parameter shard", "this GPU's shard of a group's flat parameter", flat_param};
constexpr Rule cast_rule{"shard in the computing format", "", flat_param};
constexpr Rule host_rule{"shard from host memory", "",
                         "pytorch torch/distributed/fsdp/_flat_param.py: pre_unshard, _use_low_precision_shard"};
constexpr Rule flat_rule{"flat parameter",
                         "whole flat parameter of a group that computes, is prefetched, or is the root", flat_param};
constexpr Rule flat_gradient_rule{"flat gradient", "", flat_param};
constexpr Rule reduced_rule{"reduced gradient shard", "", runtime};
constexpr Rule gradient_rule{"sharded gradient", "this GPU's shard of the gradients; kept until the next forward",
                             runtime};
constexpr Rule unreduced_rule{
    "unreduced gradients",
    "whole gradients of earlier micro-batches: without synchronisation they are added up unsharded",
    "pytorch torch/distributed/fsdp/fully_sharded_data_parallel.py: no_sync"};
constexpr Rule hooked_rule{
    "hooked input", "input of a frozen group, or its gradient: the hook that frees the group holds them", runtime};
constexpr Rule hook_rule{"post-backward hook", "", runtime};
constexpr Rule attribute_rule{"empty flat parameter", "",
                              "pytorch torch/distributed/fsdp/_flat_param.py: init_flat_param_attributes"};

/// Where a weight may begin: addresses of the gathered weights are multiples of 16 bytes. _flat_param.py,
/// _get_aligned_numel.
Size aligned(Size elements, const Tensor& weight) {
  const std::int64_t bits_of_one = std::max<std::int64_t>(bits(weight.dtype()), 1);  // no weight is of no format
  return round_up(elements, Size(128 / bits_of_one));
}

}  // namespace

Fsdp1::Fsdp1(Size shards, ShardedFormats formats, bool inside_recomputation, bool stays_gathered)
    : shards_(shards), formats_(formats), inside_recomputation_(inside_recomputation), stays_gathered_(stays_gathered) {
  active_run().new_parameters.maker = [this](const Shape& shape, DType dtype, const char* name) {
    return make(shape, dtype, name);
  };
}

Fsdp1::~Fsdp1() { active_run().new_parameters.maker = nullptr; }

int Fsdp1::open_group(ModulePart part) {
  Group group;
  group.root = part == ModulePart::root;
  group.layer = active_run().layer;
  open_ = groups_.size();
  groups_.push_back(std::move(group));
  return static_cast<int>(open_);
}

Tensor Fsdp1::make(const Shape& shape, DType dtype, const char* /*name*/) {
  const Run& run = active_run();
  const bool adapter = run.settings.fine_tuning.rank > 0 && !run.new_parameters.frozen;
  Group& group = groups_[adapter ? adapters_beside(open_) : open_];
  group.stored = dtype;
  group.frozen = run.new_parameters.frozen;
  Tensor weight = declare(shape, formats_.parameters == DType::automatic ? dtype : formats_.parameters);
  weight->requires_grad = !run.new_parameters.frozen;
  group.padded = aligned(group.padded, weight) + shape.elements();
  // The first adapter's forward follows the previous block's: in backward it starts that block's gather.
  if (adapter && group.weights.empty())
    weight->gradient_hook = [this, block = open_](const Tensor&) { prefetch(block); };
  group.weights.push_back(weight);
  return weight;
}

std::size_t Fsdp1::adapters_beside(std::size_t index) {
  if (groups_[index].adapters < 0) {
    Group group;
    group.layer = groups_[index].layer;
    groups_[index].adapters = static_cast<int>(groups_.size());
    groups_.push_back(std::move(group));
  }
  return static_cast<std::size_t>(groups_[index].adapters);
}

void Fsdp1::close_groups() {
  Run& run = active_run();
  const Set<Component> component(run.component, Component::weights);
  LayerStretches stretches;
  for (Group& group : groups_)
    if (!group.root) divide(group, stretches);
  for (Group& group : groups_)
    if (group.root) divide(group, stretches);
  for (Group& group : groups_) {
    const Layer layer(group.layer);
    stretches.enter(group.layer);
    register_parts(group);
  }
}

void Fsdp1::divide(Group& group, LayerStretches& stretches) const {
  const Layer layer(group.layer);
  stretches.enter(group.layer);
  group.padded = round_up(group.padded, shards_);
  const Shape shard{group.padded / shards_};
  group.shard = formats_.offloaded ? allocate_nothing(shard, group.stored)
                                   : allocate(shard, group.stored, {&shard_rule, "flat parameter shard"});
  note_kept(group.shard, shard_rule);
}

void Fsdp1::initialise_lazily() {
  initialised_ = true;
  Run& run = active_run();
  const Set<Component> component(run.component, Component::gathered_parameters);
  LayerStretches stretches;
  for (const Group& group : groups_) {
    stretches.enter(group.layer);
    const DType computed = group.weights[0].dtype();
    if (computed != group.stored) allocate({group.padded / shards_}, computed, {&attribute_rule});
    allocate({group.padded}, computed, {&attribute_rule});
    if (computed != group.stored) allocate({group.padded}, group.stored, {&attribute_rule});
  }
}

// The optimizer sees the parameters as they were, each the stretch of it that lies in this GPU's shard (the first one's
// here): _flat_param.py, _use_sharded_views.
void Fsdp1::register_parts(Group& group) const {
  const Size shard = group.padded / shards_;
  Size begin = 0;
  for (const Tensor& weight : group.weights) {
    begin = aligned(begin, weight);
    if (begin.value() >= shard.value()) break;
    const Size end = begin + weight.elements();
    const Size inside = end.value() < shard.value() ? weight.elements() : shard - begin;
    group.parts.push_back(alias(group.shard, {inside}, contiguous_strides({inside})));
    group.parts.back()->requires_grad = !group.frozen;
    register_parameter(group.parts.back());
    begin = end;
  }
}

void Fsdp1::gather(Group& group) {
  if (group.flat.defined()) return;
  Run& run = active_run();
  const DType dtype = group.weights[0].dtype();
  const Set<Component> component(run.component, Component::gathered_parameters);
  Tensor shard;  // copied, cast, or both
  if (dtype != group.stored || formats_.offloaded) {
    const Set<Stream> stream(run.stream, Stream::all_gather_copy_in);
    const bool casts = dtype != group.stored;
    shard = allocate({group.padded / shards_}, dtype, {casts ? &cast_rule : &host_rule});
    if (casts && formats_.offloaded) allocate({group.padded / shards_}, group.stored, {&host_rule});
  }
  const Set<Stream> stream(run.stream, Stream::all_gather);
  group.flat = allocate({group.padded}, dtype, {&flat_rule});
  note_kept(group.flat, flat_rule);
}

void Fsdp1::gather_all(std::size_t index) {
  gather(groups_[index]);
  if (groups_[index].adapters >= 0) gather(groups_[static_cast<std::size_t>(groups_[index].adapters)]);
}

Tensor Fsdp1::before_forward(int index, Tensor input) {
  const bool again = active_run().recomputing;
  if (again && !inside_recomputation_) return input;
  if (!initialised_) initialise_lazily();
  if (index == 0 && !again) {  // a new forward: the gradients of the last step go
    LayerStretches stretches;
    for (Group& each : groups_) {
      stretches.enter(each.layer);
      if (!each.has_gradient()) each.held_gradient.reset();
    }
  }
  gather_all(static_cast<std::size_t>(index));
  const Ref<Node> node = begin_node(hook_rule, {&input});
  if (!node) return input;
  Tensor result = alias(input, input.shape(), input->strides);
  const auto held = [this, index, again](const Tensor& tensor) {
    Group& group = groups_[static_cast<std::size_t>(index)];
    if (!again || !group.frozen) return;
    group.hooked.push_back(alias(tensor, tensor.shape(), tensor->strides));
    note_kept(group.hooked.back(), hooked_rule);
  };
  held(input);
  node->backward = [this, index, held](Backward& b) {
    after_backward(static_cast<std::size_t>(index));
    held(b.gradient());
    b.give(0, b.take_gradient());
  };
  finish_node(node, result);
  return result;
}

Tensor Fsdp1::before_recomputation(int index, Tensor input) {
  const auto at = static_cast<std::size_t>(index);
  const Ref<Node> node = groups_[at].frozen ? Ref<Node>() : begin_node(hook_rule, {&input});
  if (!node) return input;
  Tensor result = alias(input, input.shape(), input->strides);
  node->backward = [this, at](Backward& b) {
    after_backward(at);
    b.give(0, b.take_gradient());
  };
  finish_node(node, result);
  return result;
}

Tensor Fsdp1::after_forward(int index, Tensor output) {
  const bool again = active_run().recomputing;
  if (again && !inside_recomputation_) return output;
  const auto at = static_cast<std::size_t>(index);
  free_after_forward(groups_[at]);
  groups_[at].reduced = false;
  if (groups_[at].adapters >= 0) {
    Group& adapters = groups_[static_cast<std::size_t>(groups_[at].adapters)];
    free_after_forward(adapters);
    adapters.reduced = false;
  }
  if (!again) forward_order_.push_back(at);
  add_output(index, output);
  return output;
}

void Fsdp1::add_output(int index, const Tensor& output) {
  if (output->grad_fn) output->grad_fn->before = [this, index] { before_backward(static_cast<std::size_t>(index)); };
}

void Fsdp1::before_backward(std::size_t index) {
  gather_all(index);
  if (groups_[index].adapters < 0) prefetch(index);
}

void Fsdp1::prefetch(std::size_t index) {
  if (inside_recomputation_) return;
  const auto found = std::find(forward_order_.begin(), forward_order_.end(), index);
  if (found != forward_order_.begin() && found != forward_order_.end()) gather_all(*(found - 1));
}

void Fsdp1::after_backward(std::size_t index) {
  Group& group = groups_[index];
  if (group.reduced) return;
  if (group.adapters >= 0) reduce(groups_[static_cast<std::size_t>(group.adapters)]);
  reduce(group);
}

/// _runtime_utils.py: _post_forward_reshard.
void Fsdp1::free_after_forward(Group& group) const {
  if (!group.root && !stays_gathered_) group.flat.reset();
}

/// _runtime_utils.py: _should_free_in_backward.
void Fsdp1::free_after_backward(Group& group) const {
  if (reduces_ || !stays_gathered_) group.flat.reset();
}

void Fsdp1::reduce(Group& group) {
  group.reduced = true;
  if (group.frozen) return free_after_backward(group);  // _runtime_utils.py: _post_backward_reshard_only_hook
  Run& run = active_run();
  const DType computed = group.weights[0].dtype();
  const Set<Component> component(run.component, Component::communication);
  // The views' backward lays the gradients into one, with zeros for the padding: the reduction copies nothing.
  Tensor flat_gradient = allocate({group.padded}, computed, {&flat_gradient_rule});
  for (const Tensor& weight : group.weights) weight->grad.reset();
  free_after_backward(group);
  if (group.unreduced.defined())
    flat_gradient = group.unreduced;  // added in place
  else if (!reduces_)
    group.unreduced = flat_gradient;
  if (!reduces_) {
    set_component(group.unreduced, Component::gradients);
    note_kept(group.unreduced, unreduced_rule);
    return;
  }
  group.unreduced.reset();
  const Set<Stream> stream(run.stream, Stream::reduce_scatter);
  Tensor reduced = allocate({group.padded / shards_}, computed, {&reduced_rule});
  if (computed != group.stored) reduced = allocate({group.padded / shards_}, group.stored, {&reduced_rule});
  if (group.has_gradient()) return;
  set_component(reduced, Component::gradients);
  note_kept(reduced, gradient_rule);
  group.held_gradient = reduced;
  if (formats_.offloaded) return;  // copied to host memory
  for (const Tensor& part : group.parts) part->grad = alias(reduced, part.shape(), part->strides);
}

void Fsdp1::end_backward() {
  for (std::size_t i = 0; i < groups_.size(); ++i) after_backward(i);
  LayerStretches stretches;
  for (Group& group : groups_) {
    stretches.enter(group.layer);
    free_after_backward(group);
    let_go(group.hooked);
    group.hooked.clear();
    if (formats_.offloaded) group.held_gradient.reset();  // _flat_param.py: prepare_gradient_for_optim
  }
  forward_order_.clear();
}

}  // namespace trainmem
