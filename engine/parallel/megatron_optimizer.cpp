#include "engine/parallel/megatron_optimizer.h"

#include <algorithm>
#include <cmath>

#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule weights_rule{"parameter buffer", "weights of this GPU, one after another in one buffer",
                            "Megatron-Core distributed/param_and_grad_buffer.py: _ParamAndGradBuffer"};
constexpr Rule gradients_rule{"gradient buffer", "main gradients of all weights: every micro-batch adds to them",
                              "Megatron-Core distributed/param_and_grad_buffer.py: _ParamAndGradBuffer"};
constexpr Rule main_weights_rule{"main weights", "fp32 copy of the weights that the optimizer changes",
                                 "Megatron-Core optimizer/distrib_optimizer.py, optimizer.py"};
constexpr Rule state_rule{"optimizer state", "one number a weight, from step to step",
                          "Megatron-Core optimizer/__init__.py: FusedAdam, SGD"};
constexpr Rule copy_rule{"main gradients", "fp32 copy of the 16-bit gradients for the optimizer",
                         "Megatron-Core optimizer/optimizer.py: _copy_model_grads_to_main_grads"};
constexpr Rule square_rule{"foreach square root", "", "pytorch torch/optim/adam.py: _multi_tensor_adam"};

}  // namespace

DType megatron_weights(const Recipe& recipe) {
  const bool float8 = recipe.weights_dtype == DType::float8;  // --fp8-param-gather: of the layers' products alone
  if (recipe.weights_dtype != DType::automatic && !float8) return recipe.weights_dtype;
  switch (recipe.precision) {
    case Precision::fp32: return DType::float32;
    case Precision::fp16:
    case Precision::fp16_mixed:
    case Precision::fp16_autocast: return DType::float16;
    default: return DType::bfloat16;
  }
}

DType megatron_gradients(const Recipe& recipe) {
  if (recipe.gradients_dtype != DType::automatic) return recipe.gradients_dtype;
  // --accumulate-allreduce-grads-in-fp32 is set by --bf16 and not by --fp16.
  const DType weights = megatron_weights(recipe);
  return weights == DType::bfloat16 && recipe.precision != Precision::bf16 ? DType::float32 : weights;
}

std::int64_t expert_data_parallel(const Recipe& recipe) {
  const std::int64_t stage_ranks = recipe.data_parallel_size * recipe.context_parallel * recipe.tensor_parallel;
  return std::max<std::int64_t>(stage_ranks / (recipe.expert_parallel * recipe.expert_tensor_parallel), 1);
}

MegatronOptimizer::MegatronOptimizer(const Recipe& recipe, const std::vector<ChunkParameters>& chunks)
    : recipe_(recipe) {
  const DType weights = megatron_weights(recipe);
  const DType gradients = megatron_gradients(recipe);
  const bool pure = recipe.precision == Precision::bf16 || recipe.precision == Precision::fp16;
  mixed_ = is_half(weights) && (!pure || recipe.master_weights_dtype != DType::automatic);
  state_ = recipe.optimizer_state_dtype != DType::automatic ? recipe.optimizer_state_dtype
           : mixed_                                         ? DType::float32
                                                            : weights;
  states_ = recipe.optimizer == Optimizer::adamw ? 2 : recipe.optimizer == Optimizer::sgd_momentum ? 1 : 0;
  copies_gradients_ = mixed_ && is_half(gradients);
  // Context-parallel ranks hold the same weights: they share the states, too (parallel_state.py: dp_cp group).
  for (const ChunkParameters& chunk : chunks) {
    // Parameters of each format have a buffer of their own: param_and_grad_buffer.py, param_and_grad_dtype_to_params.
    const bool gathers_float8 = recipe.weights_dtype == DType::float8;
    const Size float8 = gathers_float8 ? chunk.float8 : Size(0);
    const std::int64_t ranks = recipe.data_parallel_size * recipe.context_parallel;
    add_group(chunk.dense - float8, ranks, weights);
    if (float8.value() > 0) add_group(float8, ranks, DType::float8);
    if (chunk.experts.value() > 0)
      add_group(chunk.experts, expert_data_parallel(recipe), gathers_float8 ? DType::float8 : weights);
  }
  for (const Group& group : groups_) {
    add(group.buffer, group.weights, Component::weights, weights_rule);
    add(group.buffer, gradients, Component::gradients, gradients_rule);
  }
  if (!mixed_) return;
  const DType main = recipe.master_weights_dtype != DType::automatic ? recipe.master_weights_dtype : DType::float32;
  for (const Group& group : groups_) add(group.share, main, Component::master_weights, main_weights_rule);
}

void MegatronOptimizer::add_group(Size parameters, std::int64_t ranks, DType weights) {
  const bool distributed = recipe_.distributed_optimizer || recipe_.data_parallel == DataParallel::zero1;
  Group group{parameters, parameters, weights};
  if (distributed) {
    const Size d = ranks;
    group.buffer = round_up(round_up(parameters, 128), d);  // ends at a multiple of 128 elements and of d
    group.share = group.buffer / d;
  }
  if (recipe_.offload_optimizer) {  // HybridDeviceOptimizer: the rest has main weights and states in host memory
    const auto kept = static_cast<double>(group.share.value()) * (1.0 - recipe_.offload_optimizer_fraction);
    group.share = static_cast<std::int64_t>(std::ceil(kept));
  }
  groups_.push_back(group);
}

void MegatronOptimizer::add(Size elements, DType dtype, Component component, const Rule& rule) {
  if (elements.value() == 0) return;  // in host memory
  const Place place(component == Component::gradients ? "buffer" : "optimizer", component);
  tensors_.push_back(allocate({elements}, dtype, {&rule}));
  note_kept(tensors_.back(), rule);
}

void MegatronOptimizer::step() {
  if (copies_gradients_) {
    const Place place("optimizer", Component::optimizer_temporaries);
    for (const Group& group : groups_) {
      if (group.share.value() == 0) continue;
      main_gradients_.push_back(allocate({group.share}, DType::float32, {&copy_rule}));
      note_kept(main_gradients_.back(), copy_rule);
    }
  }
  make_states();
  if (recipe_.optimizer_implementation != OptimizerImplementation::fused && states_ >= 2) {
    const Place place("optimizer", Component::optimizer_temporaries);
    std::vector<Tensor> roots;
    for (const Group& group : groups_)
      if (group.share.value() > 0) roots.push_back(allocate({group.share}, state_, {&square_rule}));
    while (!roots.empty()) roots.pop_back();
  }
}

void MegatronOptimizer::make_states() {
  if (has_states_) return;
  has_states_ = true;
  for (int i = 0; i < states_; ++i)
    for (const Group& group : groups_) add(group.share, state_, Component::optimizer_states, state_rule);
}

void MegatronOptimizer::zero_grad() { let_go(main_gradients_); }

}  // namespace trainmem
