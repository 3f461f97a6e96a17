#include "engine/parallel/megatron_optimizer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule own_rule{"parameter", "a weight by itself: where buffers hold all of them, until its buffer does",
                        "Megatron-Core distributed/param_and_grad_buffer.py: _ParamAndGradBuffer"};
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

MegatronOptimizer::MegatronOptimizer(const Recipe& recipe, const std::vector<ChunkParameters>& chunks, bool folded)
    : recipe_(recipe),
      folded_(folded),
      distributed_(recipe.distributed_optimizer || recipe.data_parallel == DataParallel::zero1) {
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
  const std::int64_t ranks = recipe.data_parallel_size * recipe.context_parallel;
  const bool gathers_float8 = recipe.weights_dtype == DType::float8;
  for (const ChunkParameters& chunk : chunks) {
    // Parameters of each format have a buffer of their own: param_and_grad_buffer.py, param_and_grad_dtype_to_params.
    const auto chosen = [&chunk](auto of_group) {
      ChunkParameters result;
      std::copy_if(chunk.begin(), chunk.end(), std::back_inserter(result), of_group);
      return result;
    };
    using megatron::ParameterTensor;
    add_group(chosen([=](const ParameterTensor& p) { return !p.expert && !(p.float8 && gathers_float8); }), ranks,
              weights);
    add_group(chosen([=](const ParameterTensor& p) { return !p.expert && p.float8 && gathers_float8; }), ranks,
              DType::float8);
    add_group(chosen([](const ParameterTensor& p) { return p.expert; }), expert_data_parallel(recipe),
              gathers_float8 ? DType::float8 : weights);
  }
  make_buffers(gradients);
  if (mixed_) make_main_weights();
}

void MegatronOptimizer::add_group(ChunkParameters parameters, std::int64_t ranks, DType weights) {
  if (parameters.empty()) return;
  Group group{weights, distributed_ ? ranks : 1, std::move(parameters), 0, {}};
  const Size all = elements_of(group.parameters);
  group.buffer = all;
  Size share = all;
  if (distributed_) {
    const Size d = ranks;
    group.buffer = round_up(round_up(all, 128), d);  // ends at a multiple of 128 elements and of d
    share = minimum(group.buffer / d, all);
  }
  if (recipe_.offload_optimizer) {  // HybridDeviceOptimizer: the rest has main weights and states in host memory
    const auto kept = static_cast<double>(share.value()) * (1.0 - recipe_.offload_optimizer_fraction);
    share = static_cast<std::int64_t>(std::ceil(kept));
  }
  group.shards = shards_of(group, share);
  groups_.push_back(std::move(group));
}

/// Elements of each tensor, in the model's order; folded, one stands for all.
std::vector<Size> MegatronOptimizer::tensors_of(const Group& group) const {
  if (folded_) return {elements_of(group.parameters)};
  std::vector<Size> tensors;
  for (const megatron::ParameterTensor& tensor : group.parameters)
    for (Size i = 0; i < tensor.times; i = i + Size(1)) tensors.push_back(tensor.elements);
  return tensors;
}

/// The first `share` elements of the buffer, in which the last parameter is the first: param_and_grad_buffer.py,
/// _ParamAndGradBuffer. Undivided, the model's order: optimizer.py, Float16OptimizerWithFloat16Params.
std::vector<Size> MegatronOptimizer::shards_of(const Group& group, const Size& share) const {
  if (folded_ || recipe_.offload_optimizer) return {share};
  std::vector<Size> shards = tensors_of(group);
  if (!distributed_) return shards;
  std::reverse(shards.begin(), shards.end());
  Size left = share;
  std::size_t count = 0;
  for (; count < shards.size() && left > 0; ++count) {
    shards[count] = minimum(shards[count], left);
    left = left - shards[count];
  }
  shards.resize(count);
  return shards;
}

/// Every weight has memory of its own until its buffer takes it; without a distributed optimizer it keeps that.
void MegatronOptimizer::make_buffers(DType gradients) {
  std::vector<std::vector<Tensor>> own;  // of each group
  for (const Group& group : groups_) {
    const Place place("optimizer", Component::weights);
    own.emplace_back();
    for (const Size& tensor : tensors_of(group)) {
      own.back().push_back(allocate({tensor}, group.weights, {&own_rule}));
      note_kept(own.back().back(), own_rule);
    }
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (distributed_) add(group.buffer, group.weights, Component::weights, weights_rule);
    add(group.buffer, gradients, Component::gradients, gradients_rule);
    if (!distributed_) tensors_.insert(tensors_.end(), own[i].begin(), own[i].end());
    let_go(own[i]);
  }
}

/// A shard is copied, then made fp32: distrib_optimizer.py, _build_model_and_main_param_groups.
void MegatronOptimizer::make_main_weights() {
  const DType main = recipe_.master_weights_dtype != DType::automatic ? recipe_.master_weights_dtype : DType::float32;
  for (const Group& group : groups_)
    for (const Size& shard : group.shards) {
      Tensor copy;
      if (!folded_) {
        const Place place("optimizer", Component::master_weights);
        copy = allocate({shard}, group.weights, {&main_weights_rule});
      }
      add(shard, main, Component::master_weights, main_weights_rule);
    }
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
    for_each_shard([this](const Size& shard) {
      main_gradients_.push_back(allocate({shard}, DType::float32, {&copy_rule}));
      note_kept(main_gradients_.back(), copy_rule);
    });
  }
  make_states();
  if (recipe_.optimizer_implementation != OptimizerImplementation::fused && states_ >= 2) {
    const Place place("optimizer", Component::optimizer_temporaries);
    std::vector<Tensor> roots;
    for_each_shard([&](const Size& shard) { roots.push_back(allocate({shard}, state_, {&square_rule})); });
    while (!roots.empty()) roots.pop_back();
  }
}

void MegatronOptimizer::make_states() {
  if (has_states_) return;
  has_states_ = true;
  for_each_shard([this](const Size& shard) {
    for (int i = 0; i < states_; ++i) add(shard, state_, Component::optimizer_states, state_rule);
  });
}

void MegatronOptimizer::zero_grad() { let_go(main_gradients_); }

}  // namespace trainmem
