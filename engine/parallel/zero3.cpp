#include "engine/parallel/zero3.h"

#include <algorithm>

#include "engine/tensor/autograd.h"

namespace trainmem {

namespace {

/// stage3.py: _constant_buffered_norm2 takes norms of at most as many elements at a time.
constexpr std::int64_t norm_elements = 250000000;

constexpr Rule part_rule{"weight parts", "this GPU's parts of all weights, end to end",
                         "DeepSpeed deepspeed/runtime/zero/stage3.py: lp_param_buffer"};
constexpr Rule master_rule{"fp32 weight parts", "the copy that the optimizer steps",
                           "DeepSpeed deepspeed/runtime/zero/stage3.py: _create_fp32_partitions"};
constexpr Rule first_gradient_rule{"zero gradient", "", "DeepSpeed stage3.py: initialize_optimizer_states"};
constexpr Rule bucket_rule{"reduction bucket", "what gradients are copied into to be reduced",
                           "DeepSpeed stage3.py: _setup_for_real_optimizer; config.py: reduce_bucket_size"};
constexpr Rule gradients_rule{"gradient parts", "this GPU's parts of all gradients, there from the start",
                              "DeepSpeed stage3.py: grad_partitions_flat_buffer"};
constexpr Rule gathered_rule{"gathered weight",
                             "whole weight: small, in use, gathered ahead, or used again within 1e9 elements",
                             "DeepSpeed partitioned_param_coordinator.py: fetch_sub_module, release_sub_module"};
constexpr Rule buffer_rule{"all-gather buffer", "several weights gathered together, until the last of them is used",
                           "DeepSpeed partition_parameters.py: AllGatherCoalescedHandle"};
constexpr Rule reduce_rule{"reduce-scatter input", "",
                           "DeepSpeed runtime/comm/coalesced_collectives.py: reduce_scatter_coalesced"};
constexpr Rule host_rule{"weight part from host memory", "",
                         "DeepSpeed partition_parameters.py: all_gather_coalesced (ds_tensor.to)"};
constexpr Rule host_gradient_rule{"gradient part from host memory", "", "DeepSpeed stage3.py: partition_grads"};
constexpr Rule overflow_rule{"search for infinities", "", "DeepSpeed stage3.py: has_overflow"};
constexpr Rule flat_gradient_rule{"flat gradient", "", "DeepSpeed stage3.py: _prepare_fp32_grad_for_sub_group"};
constexpr Rule gradient_rule{"fp32 gradient", "of one sub group of at most about 1e9 elements, while it is stepped",
                             "DeepSpeed stage3.py: _prepare_fp32_grad_for_sub_group"};

}  // namespace

Zero3::Zero3(const Recipe& recipe) : recipe_(recipe) {
  active_run().new_parameters.maker = [this](const Shape& shape, DType dtype, const char* name) {
    return make(shape, dtype, name);
  };
  active_run().operation_hooks = this;
}

Zero3::~Zero3() {
  active_run().new_parameters.maker = nullptr;
  active_run().operation_hooks = nullptr;
  for (const Weight& weight : weights_) weight.tensor->gradient_hook = nullptr;
}

Tensor Zero3::make(const Shape& shape, DType dtype, const char* name) {
  Weight weight;
  weight.tensor = declare(shape, dtype);
  weight.frozen = active_run().new_parameters.frozen;
  weight.tensor->requires_grad = !weight.frozen;
  register_parameter(weight.tensor);
  weight.layer = active_run().layer;
  weight.elements = shape.elements().value();
  weight.part = ceil_divide(shape.elements(), recipe_.data_parallel_size).value();
  weight.persistent = weight.elements <= recipe_.zero_param_persistence_threshold;
  weight.tensor->gradient_hook = [this, index = weights_.size()](const Tensor&) { receive(index); };
  const Set<Component> component(active_run().component, Component::weights);
  parts_.push_back(allocate({weight.part}, dtype, {&part_rule, name}));
  weights_.push_back(weight);
  return weight.tensor;
}

void Zero3::wrap() {
  const Place place("data parallelism", Component::weights);
  dtype_ = weights_[0].tensor.dtype();
  std::int64_t elements = 0;
  std::vector<std::int64_t> groups{0};
  for (const Weight& weight : weights_) {
    if (weight.frozen) continue;
    if (groups.back() >= recipe_.zero_sub_group_size) groups.push_back(0);
    groups.back() += weight.part;
    elements += weight.part;
  }
  for (std::size_t i = 0; i < weights_.size(); ++i)  // laid end to end outside the GPU; frozen ones stay where they are
    if (!weights_[i].frozen || recipe_.offload_parameters) parts_[i].reset();
  if (!recipe_.offload_parameters) {
    flat_ = allocate({elements}, dtype_, {&part_rule});
    note_kept(flat_, part_rule);
  }
  give_persistent();
  Run& run = active_run();
  const Set<Component> communication(run.component, Component::communication);
  const auto make_bucket = [&] {
    bucket_ = allocate({recipe_.zero_reduce_bucket_size}, dtype_, {&bucket_rule});
    note_kept(bucket_, bucket_rule);
  };
  if (recipe_.offload_optimizer) return make_bucket();
  const Set<Component> masters(run.component, Component::master_weights);
  for (const std::int64_t group : groups) {
    // fp32 weights are copied too: a device is compared with its name, which are never equal.
    Tensor converted;
    if (dtype_ != DType::float32 || recipe_.offload_parameters)
      converted = allocate({group}, DType::float32, {&master_rule, "conversion"});
    const Tensor master = allocate({group}, DType::float32, {&master_rule});
    note_kept(master, master_rule);
    converted.reset();
    groups_.emplace_back(group, std::make_unique<MasterWeights>(recipe_, master));
  }
  allocate({*std::max_element(groups.begin(), groups.end())}, DType::float32, {&first_gradient_rule});
  {
    const Set<Component> component(run.component, Component::communication);
    make_bucket();
  }
  const Set<Component> component(run.component, Component::gradients);
  gradients_ = allocate({elements}, dtype_, {&gradients_rule});
  note_kept(gradients_, gradients_rule);
}

void Zero3::before_operation(std::initializer_list<const Tensor*> arguments, Node* node) {
  running_.clear();
  for (const Tensor* argument : arguments)
    if (argument != nullptr && argument->defined() && (*argument)->parameter >= 0)
      running_.push_back(static_cast<std::size_t>((*argument)->parameter));
  if (running_.empty()) return;
  use(running_);
  if (node == nullptr) {
    const bool first = at_ == 1;
    if (first && active_run().settings.inputs_want_gradient) embedding_ = running_;
    return;
  }
  node->before = [this, module = running_] {
    end_backward_of_module();
    use(module);
    in_backward_ = module;
  };
}

void Zero3::after_operation() {
  release(running_);
  running_.clear();
}

/// Modules without weights of their own gather ahead as they begin, too: the model with its head and the one within, a
/// layer, its attention and its MLP, and the activation after the MLP's first product.
int Zero3::begun_without_weights() {
  Run& run = active_run();
  int begun = at_ == 0 ? 2 : 0;
  const std::uint32_t mlp = run.place_named("mlp");
  const bool in_layer = run.layer >= 0;
  const bool enters = run.layer != last_layer_ || run.place != last_place_;
  products_ = enters ? 1 : products_ + 1;
  if (in_layer && run.layer != last_layer_) ++begun;
  if (in_layer && enters && (run.place == mlp || run.place == run.place_named("attention"))) ++begun;
  if (in_layer && run.place == mlp && products_ == 2) ++begun;
  last_layer_ = run.layer;
  last_place_ = run.place;
  return begun;
}

void Zero3::use(const Module& module) {
  const Set<Stream> stream(active_run().stream, Stream::all_gather);
  const int begun = begun_without_weights();
  for (int i = 0; recorded_ && i < begun; ++i) prefetch({});
  gather(module);
  for (const std::size_t index : module) wait(index);
  if (recorded_) {
    prefetch(module);
  } else {
    trace_.push_back(module);
    for (const std::size_t index : module) order_.push_back({index, at_});
  }
  ++at_;
}

void Zero3::give(std::size_t index) {
  Weight& weight = weights_[index];
  // On one GPU the part is the whole: nothing is gathered.
  if (recipe_.data_parallel_size > 1) {
    Run& run = active_run();
    const Set<std::uint32_t> place(run.place, run.place_named("data parallelism"));
    const Set<std::int32_t> layer(run.layer, weight.layer);
    give_memory(weight.tensor, weight.elements, Component::gathered_parameters, {&gathered_rule, "gathered weight"});
    note_kept(weight.tensor, gathered_rule);
  }
  weight.available = true;
}

void Zero3::take(Weight& weight) {
  take_memory(weight.tensor);
  weight.available = false;
}

void Zero3::gather(const Module& module) {
  const auto pending = std::make_shared<Gather>();
  std::int64_t parts = 0;
  for (const std::size_t index : module) {
    Weight& weight = weights_[index];
    if (weight.available || weight.gather) continue;
    weight.gather = pending;
    pending->weights.push_back(index);
    parts += weight.part;
    live_ += weight.elements;
  }
  if (pending->weights.size() == 1) {
    give(pending->weights[0]);  // gathered into its own memory
    if (recipe_.offload_parameters) allocate({parts}, dtype_, {&host_rule});
  } else if (pending->weights.size() > 1 && recipe_.data_parallel_size > 1) {
    Run& run = active_run();
    const Set<Component> component(run.component, Component::gathered_parameters);
    const Set<std::uint32_t> place(run.place, run.place_named("data parallelism"));
    pending->buffer = allocate({parts * recipe_.data_parallel_size}, dtype_, {&buffer_rule});
    note_kept(pending->buffer, buffer_rule);
  }
}

void Zero3::wait(std::size_t index) {
  std::shared_ptr<Gather> pending = std::move(weights_[index].gather);
  if (!pending) return;
  const Module weights = std::move(pending->weights);
  pending->weights.clear();  // copied out once; the buffer stays until its last weight is used
  for (const std::size_t each : weights)
    if (!weights_[each].available) give(each);
}

void Zero3::prefetch(const Module& module) {
  auto skip = std::count_if(module.begin(), module.end(), [&](std::size_t i) { return weights_[i].fetched_for < at_; });
  for (; skip > 0 && next_ < order_.size(); --skip, ++next_)
    weights_[order_[next_].weight].fetched_for = order_[next_].at;
  const std::int64_t most = std::min(recipe_.zero_max_live_parameters - live_, recipe_.zero_prefetch_bucket_size);
  Module ahead;
  for (std::int64_t elements = 0; next_ < order_.size() && elements < most; ++next_) {
    const std::size_t index = order_[next_].weight;
    Weight& weight = weights_[index];
    weight.fetched_for = std::max(weight.fetched_for, order_[next_].at);
    if (weight.available || weight.gather || std::find(ahead.begin(), ahead.end(), index) != ahead.end()) continue;
    ahead.push_back(index);
    elements += weight.elements;
  }
  gather(ahead);
}

bool Zero3::comes_again(std::size_t index) const {
  std::int64_t elements = 0;
  for (auto i = static_cast<std::size_t>(at_); i < trace_.size() && elements < recipe_.zero_max_reuse_distance; ++i) {
    for (const std::size_t each : trace_[i]) {
      if (each == index) return true;
      elements += weights_[each].elements;
    }
  }
  return false;
}

void Zero3::release(const Module& module) {
  for (const std::size_t index : module) {
    Weight& weight = weights_[index];
    if (!weight.available || weight.persistent) continue;
    if (std::find(in_backward_.begin(), in_backward_.end(), index) != in_backward_.end()) continue;
    if (recorded_ && (weight.fetched_for > at_ || comes_again(index))) continue;
    take(weight);
    live_ -= weight.elements;
  }
}

void Zero3::end_backward_of_module() {
  const Module module = std::move(in_backward_);
  in_backward_.clear();
  release(module);
}

void Zero3::receive(std::size_t index) {
  Weight& weight = weights_[index];
  if (bucket_elements_ + weight.elements > recipe_.zero_reduce_bucket_size && bucket_elements_ > 0) reduce_bucket();
  // One that is larger than the bucket stays where it is.
  if (bucket_elements_ + weight.elements <= recipe_.zero_reduce_bucket_size)
    weight.tensor->grad = alias(bucket_, weight.tensor.shape(), weight.tensor->strides);
  bucket_elements_ += weight.elements;
  in_bucket_.push_back(index);
  if (std::find(in_backward_.begin(), in_backward_.end(), index) != in_backward_.end()) end_backward_of_module();
}

/// partition_grads: the sum in host memory comes back; after the last backward its norm is taken, and it goes as fp32.
void Zero3::send_to_host(std::int64_t elements) const {
  const Tensor sum = allocate({elements}, dtype_, {&host_gradient_rule});
  if (!last_backward_) return;
  { const Tensor norm = zero_norm(std::min(elements, norm_elements)); }
  if (is_half(dtype_)) allocate({elements}, DType::float32, {&gradient_rule, "fp32 gradient part for the host"});
}

void Zero3::reduce_bucket() {
  if (in_bucket_.empty()) return;
  const Place place("data parallelism", Component::communication);
  const Set<Stream> stream(active_run().stream, Stream::reduce_scatter);
  std::int64_t parts = 0;
  for (const std::size_t index : in_bucket_) parts += weights_[index].part;
  // One gradient that divides evenly is reduced where it is; others are laid out by GPUs.
  Tensor input;
  if (in_bucket_.size() > 1 || parts * recipe_.data_parallel_size != weights_[in_bucket_[0]].elements)
    input = allocate({parts * recipe_.data_parallel_size}, dtype_, {&reduce_rule});
  for (const std::size_t index : in_bucket_) {
    if (recipe_.offload_optimizer) send_to_host(weights_[index].part);
    weights_[index].tensor->grad.reset();
  }
  in_bucket_.clear();
  bucket_elements_ = 0;
}

void Zero3::end_backward() {
  if (!embedding_.empty()) {
    end_backward_of_module();
    use(embedding_);
    embedding_.clear();
  }
  reduce_bucket();
  end_backward_of_module();
  start_over();
}

void Zero3::start_over() {
  for (Weight& weight : weights_) {
    weight.gather.reset();
    weight.fetched_for = -1;
    if (!weight.available || weight.persistent) continue;
    take(weight);
  }
  recorded_ = true;
  next_ = 0;
  at_ = 0;
  live_ = 0;
}

/// What stays gathered is of the old weights: it goes before the step and is gathered anew after it.
void Zero3::step() {
  const Place place("optimizer", Component::optimizer_temporaries);
  for (Weight& weight : weights_)
    if (weight.persistent) take(weight);
  if (!recipe_.offload_optimizer) step_groups();
  give_persistent();
}

void Zero3::give_persistent() {
  for (std::size_t i = 0; i < weights_.size(); ++i)
    if (weights_[i].persistent) give(i);
}

// DeepSpeed engine.py, _configure_zero_optimizer without an optimizer: parameter_offload.py, DeepSpeedZeRoOffload.
void Zero3::wrap_untrained() {
  const Place place("data parallelism", Component::weights);
  dtype_ = weights_[0].tensor.dtype();
  give_persistent();
}

// parameter_offload.py, _start_of_forward_hook: what has been recorded is the forward alone.
void Zero3::end_forward() { start_over(); }

void Zero3::step_groups() {
  if (dtype_ == DType::float16) {
    const Set<Stream> stream(active_run().stream, Stream::reduce_scatter);
    const Tensor absolute = allocate(gradients_.shape(), dtype_, {&overflow_rule});
    const Tensor infinite = allocate(gradients_.shape(), DType::boolean, {&overflow_rule});
  }
  {
    std::vector<Tensor> norms;
    for (const Weight& weight : weights_)
      if (!weight.frozen) norms.push_back(zero_norm(weight.part));
  }
  const Set<Component> component(active_run().component, Component::gradients);
  for (const auto& [elements, master] : groups_) {
    Tensor gradient = allocate({elements}, dtype_, {&flat_gradient_rule});
    if (dtype_ != DType::float32) gradient = allocate({elements}, DType::float32, {&gradient_rule});
    note_kept(gradient, gradient_rule);
    master->step(std::move(gradient));
  }
}

}  // namespace trainmem
