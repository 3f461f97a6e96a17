#include "engine/parallel/zero0.h"

#include <utility>

#include "engine/tensor/run.h"

namespace trainmem {

namespace {

/// engine.py: MEMORY_OPT_ALLREDUCE_SIZE.
constexpr std::int64_t bucket_elements = 500000000;

constexpr Rule flat_rule{"flat weights", "all weights laid end to end, padded to twice the GPUs",
                         "DeepSpeed deepspeed/runtime/bf16_optimizer.py: bf16_groups_flat"};
constexpr Rule master_rule{"fp32 weights", "the copy that the optimizer steps",
                           "DeepSpeed bf16_optimizer.py: fp32_groups_flat_partition; fused_optimizer.py: "
                           "fp32_groups_flat"};
constexpr Rule gradient_rule{"fp32 gradients", "of all weights: every backward adds to them",
                             "DeepSpeed bf16_optimizer.py: fp32_groups_gradients_flat"};
constexpr Rule reduce_rule{"reduction", "", "DeepSpeed deepspeed/runtime/engine.py: allreduce_bucket"};
constexpr Rule overflow_rule{"search for infinities", "", "DeepSpeed deepspeed/runtime/utils.py: CheckOverflow"};
constexpr Rule cast_rule{"fp32 gradients", "casts of all gradients, and the same laid end to end",
                         "DeepSpeed deepspeed/runtime/fp16/fused_optimizer.py: step"};

}  // namespace

void Zero0::wrap() {
  const Place place("data parallelism", Component::weights);
  for (const RegisteredParameter& parameter : active_run().parameters)
    if (parameter.tensor.requires_grad()) weights_.push_back(parameter.tensor);
  dtype_ = weights_[0].dtype();
  Size elements = 0;
  for (const Tensor& weight : weights_) elements = elements + weight.elements();
  const std::int64_t gpus = recipe_.data_parallel_size;
  const Size padded = is_bf16() ? round_up(elements, 2 * gpus) : elements;
  partition_ = is_bf16() ? padded.value() / gpus : padded.value();
  flat_ = allocate({padded}, dtype_, {&flat_rule});
  note_kept(flat_, flat_rule);
  for (const Tensor& weight : weights_) weight->storage = flat_->storage;
  Tensor master;
  {
    const Set<Component> component(active_run().component, Component::master_weights);
    const Tensor clone = allocate({partition_}, dtype_, {&master_rule, "clone"});
    master = allocate({partition_}, DType::float32, {&master_rule});
    note_kept(master, master_rule);
  }
  master_ = std::make_unique<MasterWeights>(recipe_, std::move(master));
  if (!is_bf16()) return;
  const Set<Component> component(active_run().component, Component::gradients);
  gradients_ = allocate({padded}, DType::float32, {&gradient_rule});
  note_kept(gradients_, gradient_rule);
}

/// allreduce_no_retain: buckets of more than 500 million elements, flattened.
void Zero0::reduce_fp16() const {
  Size elements = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    elements = elements + weights_[i].elements();
    if (elements.value() <= bucket_elements && i + 1 < weights_.size()) continue;
    allocate({elements}, dtype_, {&reduce_rule});
    elements = 0;
  }
}

void Zero0::end_backward() {
  if (is_bf16()) {  // update_hp_grads: one cast after another
    const Place place("data parallelism", Component::gradients);
    for (const Tensor& weight : weights_) allocate(weight.shape(), DType::float32, {&cast_rule});
  }
}

void Zero0::reduce() {
  if (recipe_.data_parallel_size == 1) return;
  const Place place("data parallelism", Component::communication);
  if (!is_bf16()) return reduce_fp16();
  allocate(gradients_.shape(), dtype_, {&reduce_rule});  // reduced in bf16
}

void Zero0::step() {
  const Place place("optimizer", Component::optimizer_temporaries);
  if (is_bf16()) return master_->step(alias(gradients_, {partition_}, {1}));
  for (const Tensor& weight : weights_) allocate(weight.shape(), DType::float32, {&overflow_rule});
  Tensor flat;
  {
    std::vector<Tensor> casts;
    for (const Tensor& weight : weights_) casts.push_back(allocate(weight.shape(), DType::float32, {&cast_rule}));
    const Set<Component> component(active_run().component, Component::gradients);
    flat = allocate({partition_}, DType::float32, {&cast_rule});
    note_kept(flat, cast_rule);
    let_go(casts);
  }
  for (const Tensor& weight : weights_) weight->grad.reset();
  master_->step(std::move(flat));
}

}  // namespace trainmem
