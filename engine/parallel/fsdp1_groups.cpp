// FSDP1's groups as they are made: flat parameters, their shards, and the parameters that the optimizer is given.
#include <algorithm>
#include <utility>

#include "engine/parallel/fsdp1.h"
#include "engine/tensor/autograd.h"
#include "engine/tensor/dispatch_mode.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* flat_param = "pytorch torch/distributed/fsdp/_flat_param.py";
constexpr const char* init = "pytorch torch/distributed/fsdp/_init_utils.py: _init_param_handle_from_module";
constexpr Rule moved_rule{"parameter to be sharded", "a group's weight while its flat parameter is made", init};
constexpr Rule broadcast_rule{"broadcast buffer", "weights of the group on their way from the first GPU",
                              "pytorch torch/csrc/distributed/c10d/reducer.cpp: BroadcastWork"};
constexpr Rule making_rule{"flat parameter", "whole flat parameter of a group while its shard is made", init};
constexpr Rule shard_rule{"flat parameter shard", "this GPU's shard of a group's flat parameter", flat_param};
constexpr Rule attribute_rule{"empty flat parameter", "",
                              "pytorch torch/distributed/fsdp/_flat_param.py: init_flat_param_attributes"};

/// Weights are broadcast together up to this size. _init_utils.py, PARAM_BROADCAST_BUCKET_SIZE.
constexpr std::int64_t broadcast_bucket = std::int64_t{250} << 20;

/// Where a weight may begin: addresses of the gathered weights are multiples of 16 bytes. _flat_param.py,
/// _get_aligned_numel.
Size aligned(Size elements, const Tensor& weight) {
  const std::int64_t bits_of_one = std::max<std::int64_t>(bits(weight.dtype()), 1);  // no weight is of no format
  return round_up(elements, Size(128 / bits_of_one));
}

}  // namespace

Fsdp1::Fsdp1(const Fsdp1Words& words, ShardedFormats formats)
    : words_(words), formats_(formats), wraps_adapters_(active_run().settings.fine_tuning.fused ? nullptr : this) {
  NewParameters& made = active_run().new_parameters;
  made.maker = [this](const Shape& shape, DType dtype, const char* name) { return make(shape, dtype, name); };
  made.buffers = formats_.parameters;  // _runtime_utils.py: _cast_buffers_to_dtype_and_device
}

Fsdp1::~Fsdp1() {
  active_run().new_parameters.maker = nullptr;
  active_run().new_parameters.buffers = DType::automatic;
}

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
  Group& group = group_of_new_parameter();
  group.stored = dtype;
  group.frozen = run.new_parameters.frozen;
  Tensor weight = declare(shape, formats_.parameters == DType::automatic ? dtype : formats_.parameters);
  weight->requires_grad = !run.new_parameters.frozen;
  group.padded = aligned(group.padded, weight) + shape.elements();
  // The first adapter's forward follows the previous block's: in backward it starts that block's gather.
  if (!group.adapter && weight.requires_grad() && run.settings.fine_tuning.rank > 0 && group.weights.empty())
    weight->gradient_hook = [this, block = open_](const Tensor&) {
      if (words_.backward_prefetch != BackwardPrefetch::none) prefetch_in_backward(block);
    };
  group.weights.push_back(weight);
  group.places.push_back(made_++);
  return weight;
}

int Fsdp1::open_adapter() {
  Group group;
  group.adapter = true;
  group.layer = active_run().layer;
  next_adapter_ = static_cast<int>(groups_.size());
  groups_.push_back(std::move(group));
  return next_adapter_;
}

Fsdp1::Group& Fsdp1::group_of_new_parameter() {
  const Run& run = active_run();
  if (next_adapter_ >= 0) return groups_[static_cast<std::size_t>(std::exchange(next_adapter_, -1))];
  const bool adapter = run.settings.fine_tuning.rank > 0 && !run.new_parameters.frozen;
  return groups_[adapter ? adapters_beside(open_) : open_];
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
  stretches.leave();
  register_parts();
}

// The weights come to the GPU, are broadcast (sync_module_states) and laid into a flat parameter; of this the shard is
// a copy. What they took stays in the allocator. Records of steps begin when it is over, with empty pools.
void Fsdp1::divide(Group& group, LayerStretches& stretches) const {
  const Layer layer(group.layer);
  stretches.enter(group.layer);
  group.padded = round_up(group.padded, words_.shards);
  const Shape shard{group.padded / words_.shards};
  const Label label{&shard_rule, "flat parameter shard"};
  std::vector<Tensor> passing;
  if (!DispatchMode::is_on()) {
    const Set<Component> component(active_run().component, Component::gathered_parameters);
    for (const Tensor& weight : group.weights) passing.push_back(allocate(weight.shape(), group.stored, {&moved_rule}));
    Size bucket = 0;
    for (const Tensor& weight : group.weights) {
      bucket += weight.elements();
      if (bucket * bits(group.stored) / 8 < broadcast_bucket && &weight != &group.weights.back()) continue;
      passing.push_back(allocate({bucket}, group.stored, {&broadcast_rule}));
      bucket = 0;
    }
    passing.push_back(allocate({group.padded}, group.stored, {&making_rule}));
    if (formats_.offloaded) passing.push_back(allocate(shard, group.stored, label));
  }
  group.shard = formats_.offloaded ? allocate_nothing(shard, group.stored) : allocate(shard, group.stored, label);
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
    if (computed != group.stored) allocate({group.padded / words_.shards}, computed, {&attribute_rule});
    if (is_whole()) continue;
    allocate({group.padded}, computed, {&attribute_rule});
    if (computed != group.stored) allocate({group.padded}, group.stored, {&attribute_rule});
  }
}

// The optimizer sees the parameters as they were, each the stretch of it that lies in this GPU's shard (the first one's
// here), or in its own shape under NO_SHARD: _flat_param.py, _use_sharded_views.
void Fsdp1::cut_parts(Group& group) const {
  const Size shard = group.padded / words_.shards;
  Size begin = 0;
  for (const Tensor& weight : group.weights) {
    begin = aligned(begin, weight);
    if (begin.value() >= shard.value()) break;
    const Size end = begin + weight.elements();
    const Size inside = end.value() < shard.value() ? weight.elements() : shard - begin;
    const Shape shape = is_whole() ? weight.shape() : Shape{inside};
    group.parts.push_back(alias(group.shard, shape, contiguous_strides(shape)));
    group.parts.back()->requires_grad = !group.frozen;
    begin = end;
  }
}

// named_parameters() goes through the modules, so that the root's last weights come after those of the blocks.
void Fsdp1::register_parts() {
  struct Registered {
    std::size_t place;
    const Tensor* part;
    std::int32_t layer;
  };
  std::vector<Registered> all;
  for (Group& group : groups_) {
    cut_parts(group);
    for (std::size_t i = 0; i < group.parts.size(); ++i) all.push_back({group.places[i], &group.parts[i], group.layer});
  }
  std::sort(all.begin(), all.end(), [](const Registered& a, const Registered& b) { return a.place < b.place; });
  for (const Registered& each : all) {
    const Layer layer(each.layer);
    register_parameter(*each.part);
  }
}

}  // namespace trainmem
