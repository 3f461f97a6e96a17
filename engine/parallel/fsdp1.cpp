#include "engine/parallel/fsdp1.h"

#include <algorithm>

#include "engine/tensor/autograd.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* flat_param = "pytorch torch/distributed/fsdp/_flat_param.py";
constexpr const char* runtime = "pytorch torch/distributed/fsdp/_runtime_utils.py";
constexpr Rule cast_rule{"shard in the computing format", "", flat_param};
constexpr Rule host_rule{"shard from host memory", "",
                         "pytorch torch/distributed/fsdp/_flat_param.py: pre_unshard, _use_low_precision_shard"};
constexpr Rule flat_rule{"flat parameter",
                         "whole flat parameter of a group that computes, is prefetched, or is the root", flat_param,
                         false, StillUsed::by_compute};
constexpr Rule whole_cast_rule{"flat parameter in the computing format",
                               "copy on which a group that is not sharded computes", flat_param};
constexpr Rule flat_gradient_rule{"flat gradient", "", flat_param, false, StillUsed::by_reduction};
constexpr Rule reduction_rule{"flat gradient in the reduction format", "", runtime};
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
constexpr Rule placeholder_rule{"empty gradient", "",
                                "pytorch torch/distributed/fsdp/_flat_param.py: _use_unsharded_grad_views"};

}  // namespace

void Fsdp1::gather(Group& group) {
  Run& run = active_run();
  const DType dtype = group.weights[0].dtype();
  const bool casts = dtype != group.stored;
  const Set<Component> component(run.component, Component::gathered_parameters);
  if (formats_.offloaded && !casts && !is_whole() && !group.shard_here.defined()) {
    const Set<Stream> stream(run.stream, Stream::all_gather_copy_in);
    group.shard_here = allocate({group.padded / words_.shards}, dtype, {&host_rule});
  }
  if (group.flat.defined()) return;
  if (is_whole()) {
    if (!casts) return;
    const Set<Stream> stream(run.stream, Stream::all_gather_copy_in);
    group.flat = allocate({group.padded}, dtype, {&whole_cast_rule});
    return note_kept(group.flat, whole_cast_rule);
  }
  Tensor cast_shard;
  if (casts) {
    const Set<Stream> stream(run.stream, Stream::all_gather_copy_in);
    cast_shard = allocate({group.padded / words_.shards}, dtype, {&cast_rule});
    if (formats_.offloaded) allocate({group.padded / words_.shards}, group.stored, {&host_rule});
  }
  const Set<Stream> stream(run.stream, Stream::all_gather);
  group.flat = allocate({group.padded}, dtype, {&flat_rule});
  note_kept(group.flat, flat_rule);
}

void Fsdp1::free_gathered(Group& group) {
  group.flat.reset();
  group.shard_here.reset();
}

void Fsdp1::gather_all(std::size_t index) {
  gather(groups_[index]);
  if (groups_[index].adapters >= 0) gather(groups_[static_cast<std::size_t>(groups_[index].adapters)]);
}

bool Fsdp1::runs_again(std::size_t group) const { return words_.inside_recomputation || groups_[group].adapter; }

Tensor Fsdp1::before_forward(int index, Tensor input) {
  const auto at = static_cast<std::size_t>(index);
  const bool again = active_run().recomputing.second_forward;
  if (again && !runs_again(at)) return input;
  if (!initialised_) initialise_lazily();
  if (index == 0 && !again) {  // a new forward: the gradients of the last step go
    LayerStretches stretches;
    for (Group& each : groups_) {
      stretches.enter(each.layer);
      if (!each.has_gradient()) each.held_gradient.reset();
    }
  }
  gather_all(at);
  if (!again) prefetch_in_forward(at);
  groups_[at].early = words_.forward_prefetch && !is_first_step_ && !groups_[at].root && !groups_[at].frozen && !again;
  if (groups_[at].frozen && !again && input->grad_fn) {
    free_at_gradient(at, *input->grad_fn);
    return input;
  }
  const auto hold = [this, at, again](const Tensor& tensor) {
    Group& group = groups_[at];
    if (!again || !group.frozen) return;
    group.hooked.push_back(alias(tensor, tensor.shape(), tensor->strides));
    note_kept(group.hooked.back(), hooked_rule);
  };
  Tensor hooked = with_backward_hook(input, hook_rule, [this, at, hold](const Tensor& gradient) {
    after_backward(at);
    hold(gradient);
  });
  if (hooked.get() != input.get()) hold(input);
  if (hooked.get() == input.get() && !again) reduce_at_gradient(at);
  return hooked;
}

// Hooks of a tensor run as they were registered: the module that made a frozen group's input is gathered first.
void Fsdp1::free_at_gradient(std::size_t index, Node& maker) {
  maker.before = [this, index, gather_of_maker = std::move(maker.before)] {
    if (gather_of_maker) gather_of_maker();
    after_backward(index);
  };
}

// Nothing tells that an embedding's backward is done but its weight's gradient: it is reduced there.
void Fsdp1::reduce_at_gradient(std::size_t index) {
  const Group& group = groups_[index];
  if (group.root || group.frozen || group.weights.size() != 1) return;
  group.weights[0]->gradient_hook = [this, index](const Tensor&) { after_backward(index); };
}

// The inner backward ends with the views', however old they are.
Tensor Fsdp1::before_recomputation(int index, Tensor input) {
  const auto at = static_cast<std::size_t>(index);
  if (groups_[at].frozen) return input;
  return with_backward_hook(std::move(input), hook_rule, [this, at](const Tensor&) {
    reduce_waiting();
    reduce_all(at);
  });
}

Tensor Fsdp1::after_forward(int index, Tensor output) {
  const bool again = active_run().recomputing.second_forward;
  const auto at = static_cast<std::size_t>(index);
  if (again && !runs_again(at)) return output;
  free_after_forward(groups_[at]);
  groups_[at].reduced = false;
  if (groups_[at].adapters >= 0) {
    Group& adapters = groups_[static_cast<std::size_t>(groups_[at].adapters)];
    free_after_forward(adapters);
    adapters.reduced = false;
  }
  if (!again) note_forward(at);
  add_output(index, output);
  return output;
}

// Each forward has views of its own of the flat parameter: what a second one's backward gives is laid flat at once
// (_flat_param.py, _get_unflat_views: torch.split), and added to the others' there.
void Fsdp1::note_forward(std::size_t index) {
  Group& group = groups_[index];
  const bool ran = std::find(forward_order_.begin(), forward_order_.end(), index) != forward_order_.end();
  forward_order_.push_back(index);
  if (!ran || is_whole()) return;
  group.ran_twice = true;
  for (const Tensor& weight : group.weights)
    weight->gradient_hook = [padded = group.padded](const Tensor& leaf) {
      allocate({padded}, leaf.dtype(), {&flat_gradient_rule});
    };
}

void Fsdp1::add_output(int index, const Tensor& output) {
  if (!output->grad_fn) return;
  const auto at = static_cast<std::size_t>(index);
  groups_[at].awaits_backward = true;
  output->grad_fn->before = [this, at] { before_backward(at); };
}

void Fsdp1::before_backward(std::size_t index) {
  gather_all(index);
  groups_[index].awaits_backward = false;
  if (words_.backward_prefetch == BackwardPrefetch::backward_pre && groups_[index].adapters < 0)
    prefetch_in_backward(index);
}

void Fsdp1::prefetch_in_forward(std::size_t index) {
  if (!words_.forward_prefetch) return;
  if (is_first_step_) return pre_forward_order_.push_back(index);
  const auto found = std::find(pre_forward_order_.begin(), pre_forward_order_.end(), index);
  if (found != pre_forward_order_.end() && found + 1 != pre_forward_order_.end()) gather_all(*(found + 1));
}

void Fsdp1::prefetch_in_backward(std::size_t index) {
  if (words_.inside_recomputation) return;
  const auto found = std::find(forward_order_.begin(), forward_order_.end(), index);
  if (found == forward_order_.begin() || found == forward_order_.end()) return;
  if (groups_[*(found - 1)].awaits_backward) gather_all(*(found - 1));
}

/// The views of a group that was gathered early are older, for autograd, than the forward that began after its gather:
/// their backward, which the reduction follows, waits until that forward's is done.
void Fsdp1::after_backward(std::size_t index) {
  reduce_waiting();
  if (groups_[index].early && !groups_[index].reduced)
    waiting_ = static_cast<int>(index);
  else
    reduce_all(index);
}

void Fsdp1::reduce_waiting() {
  if (waiting_ >= 0) reduce_all(static_cast<std::size_t>(waiting_));
  waiting_ = -1;
}

void Fsdp1::reduce_all(std::size_t index) {
  Group& group = groups_[index];
  if (group.reduced) return;
  if (group.adapters >= 0) reduce(static_cast<std::size_t>(group.adapters));
  reduce(index);
}

/// _runtime_utils.py: _post_forward_reshard; the copy of NO_SHARD goes, too (_flat_param.py, post_reshard).
void Fsdp1::free_after_forward(Group& group) const {
  if (!group.root && (is_whole() || !words_.stays_gathered)) free_gathered(group);
}

/// The root's forward ends with the loss, where the model computes it. One without autograd, before others, leaves no
/// views that have a backward.
void Fsdp1::end_forward() {
  const auto awaits = [](const Group& group) { return group.awaits_backward; };
  if (!active_run().grad_enabled && std::none_of(groups_.begin(), groups_.end(), awaits)) forward_order_.clear();
  for (Group& group : groups_) {
    if (!group.root) continue;
    if (is_whole()) group.flat.reset();
    if (!words_.stays_gathered) group.shard_here.reset();  // _flat_param.py: _use_sharded_flat_param
  }
}

/// _runtime_utils.py: _should_free_in_backward.
void Fsdp1::free_after_backward(Group& group) const {
  group.shard_here.reset();
  if (is_whole() || reduces_ || !words_.stays_gathered) free_gathered(group);
}

/// _runtime_utils.py: _post_backward_reshard.
void Fsdp1::reshard_after_backward(std::size_t index) {
  free_after_backward(groups_[index]);
  if (words_.backward_prefetch == BackwardPrefetch::backward_post) prefetch_in_backward(index);
}

/// A parameter's gradient of another shape or format than the parameter's is put into one that is made for it.
void Fsdp1::lay_aside(const Group& group) const {
  for (std::size_t i = 0; i < group.parts.size(); ++i) {
    const Tensor& weight = group.weights[i];
    const bool shaped = is_whole() || group.parts[i].shape() == weight.shape();
    const bool alike = shaped && group.stored == weight.dtype();
    if (!alike) allocate(group.parts[i].shape(), group.stored, {&placeholder_rule});
  }
}

void Fsdp1::reduce(std::size_t index) {
  Group& group = groups_[index];
  group.reduced = true;
  if (group.frozen) return reshard_after_backward(index);  // _runtime_utils.py: _post_backward_reshard_only_hook
  const Set<Component> component(active_run().component, Component::communication);
  // The views' backward lays the gradients into one, with zeros for the padding: the reduction copies nothing.
  // Autograd holds it until this hook has returned, also where it was added to an earlier micro-batch's.
  const Tensor flat_gradient = allocate({group.padded}, group.weights[0].dtype(), {&flat_gradient_rule});
  std::vector<Tensor> first;  // of a module that ran twice: laid flat, too, and the second one is added to it
  for (const Tensor& weight : group.weights) {
    if (group.ran_twice) first.push_back(weight->grad);
    weight->grad.reset();
  }
  if (group.ran_twice) allocate({group.padded}, group.weights[0].dtype(), {&flat_gradient_rule});
  reshard_after_backward(index);
  if (!reduces_) {
    if (group.unreduced.defined()) return;  // added in place
    group.unreduced = flat_gradient;
    set_component(group.unreduced, Component::gradients);
    note_kept(group.unreduced, unreduced_rule);
    return lay_aside(group);
  }
  const Tensor sum = group.unreduced.defined() ? group.unreduced : flat_gradient;
  group.unreduced.reset();
  const Tensor reduced = reduce_across(group, sum);
  if (group.has_gradient()) return;
  set_component(reduced, Component::gradients);
  note_kept(reduced, gradient_rule);
  group.held_gradient = reduced;
  if (formats_.offloaded) return;  // copied to host memory
  for (const Tensor& part : group.parts) part->grad = alias(reduced, part.shape(), part->strides);
}

/// _runtime_utils.py: _post_backward_hook casts to the reduction format; _reduce_grad, and _reduce_grad_no_shard, which
/// reduces in place.
Tensor Fsdp1::reduce_across(const Group& group, const Tensor& flat_gradient) const {
  Run& run = active_run();
  const DType reduction = formats_.reduction == DType::automatic ? flat_gradient.dtype() : formats_.reduction;
  const Shape shard{group.padded / words_.shards};
  const Set<Stream> stream(run.stream, Stream::reduce_scatter);
  const bool casts = reduction != flat_gradient.dtype();
  const Tensor whole = casts ? allocate({group.padded}, reduction, {&reduction_rule}) : flat_gradient;
  Tensor reduced = is_whole() ? whole : allocate(shard, reduction, {&reduced_rule});
  if (reduction == group.stored) return reduced;
  const Set<Stream> of_groups(run.stream, words_.replicated ? Stream::communication : Stream::reduce_scatter);
  return allocate(shard, group.stored, {&reduced_rule});
}

void Fsdp1::end_backward() {
  reduce_waiting();
  for (std::size_t i = 0; i < groups_.size(); ++i) reduce_all(i);
  LayerStretches stretches;
  for (Group& group : groups_) {
    stretches.enter(group.layer);
    free_after_backward(group);
    let_go(group.hooked);
    group.hooked.clear();
    if (formats_.offloaded) group.held_gradient.reset();  // _flat_param.py: prepare_gradient_for_optim
  }
  forward_order_.clear();
  is_first_step_ = false;
}

}  // namespace trainmem
