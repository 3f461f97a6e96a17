#include "engine/training/megatron_optimizer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "engine/tensor/rank_parts.h"

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
constexpr Rule newton_rule{"Newton-Schulz", "",
                           "Emerging-Optimizers orthogonalized_optimizers/muon_utils.py: newton_schulz"};
constexpr Rule update_rule{"orthogonalised update", "",
                           "Emerging-Optimizers orthogonalized_optimizers/orthogonalized_optimizer.py: step"};
constexpr Rule exchange_rule{"exchanged weights", "",
                             "Megatron-Core optimizer/layer_wise_optimizer.py: allgather_params"};
constexpr Rule square_rule{"foreach square root", "", "pytorch torch/optim/adam.py: _multi_tensor_adam"};

/// Context-parallel ranks hold the same weights: they share the states, too (parallel_state.py: dp_cp group).
std::int64_t data_parallel_ranks(const Recipe& recipe) { return recipe.data_parallel_size * recipe.context_parallel; }

/// All ranks; of many, some at equal distances with the first and the last.
std::vector<std::int64_t> recorded_ranks(const Recipe& recipe, bool one) {
  constexpr std::int64_t most = 4;
  const std::int64_t ranks = data_parallel_ranks(recipe);
  const std::int64_t count = one ? 1 : std::min(ranks, most);
  std::vector<std::int64_t> result{0};
  for (std::int64_t i = 1; i < count; ++i) result.push_back(i * (ranks - 1) / (count - 1));
  return result;
}

template <class OfGroup>
StageWeights chosen(const StageWeights& weights, OfGroup of_group) {
  StageWeights result;
  std::copy_if(weights.begin(), weights.end(), std::back_inserter(result), of_group);
  return result;
}

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

MegatronOptimizer::MegatronOptimizer(const Recipe& recipe, const std::vector<StageWeights>& chunks, bool folded)
    : recipe_(recipe),
      folded_(folded),
      distributed_(recipe.distributed_optimizer || recipe.data_parallel == DataParallel::zero1),
      ranks_(recorded_ranks(
          recipe, folded || !distributed_ || recipe.offload_optimizer || recipe.optimizer == Optimizer::muon_adamw)) {
  const DType weights = megatron_weights(recipe);
  const DType gradients = megatron_gradients(recipe);
  const bool pure = recipe.precision == Precision::bf16 || recipe.precision == Precision::fp16;
  mixed_ = is_half(weights) && (!pure || recipe.master_weights_dtype != DType::automatic);
  state_ = recipe.optimizer_state_dtype != DType::automatic ? recipe.optimizer_state_dtype
           : mixed_                                         ? DType::float32
                                                            : weights;
  const bool whole = recipe.optimizer == Optimizer::muon_adamw;
  states_ = recipe.optimizer == Optimizer::adamw || whole ? 2 : recipe.optimizer == Optimizer::sgd_momentum ? 1 : 0;
  copies_gradients_ = mixed_ && is_half(gradients);
  const std::int64_t ranks = data_parallel_ranks(recipe);
  const bool gathers_float8 = recipe.weights_dtype == DType::float8;
  for (const StageWeights& chunk : chunks) {
    if (whole) {
      add_whole_matrices(chunk, weights);
      continue;
    }
    // Parameters of each format have a buffer of their own: param_and_grad_buffer.py, param_and_grad_dtype_to_params.
    add_group(chosen(chunk, [=](const StageWeight& w) { return !w.expert && !(w.float8 && gathers_float8); }), ranks,
              weights);
    add_group(chosen(chunk, [=](const StageWeight& w) { return !w.expert && w.float8 && gathers_float8; }), ranks,
              DType::float8);
    add_group(chosen(chunk, [](const StageWeight& w) { return w.expert; }), expert_data_parallel(recipe),
              gathers_float8 ? DType::float8 : weights);
  }
  make_buffers(gradients);
  if (mixed_) make_main_weights();
}

void MegatronOptimizer::add_group(StageWeights parameters, std::int64_t ranks, DType weights) {
  if (parameters.empty()) return;
  Group group{weights, std::move(parameters), distributed_, 0, {}, states_};
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
  for (const std::int64_t rank : ranks_)
    group.shards.push_back(shards_of(group, share, rank * ranks / data_parallel_ranks(recipe_)));
  groups_.push_back(std::move(group));
}

/// Elements of each tensor, in the model's order; folded, one stands for all.
std::vector<Size> MegatronOptimizer::tensors_of(const Group& group) const {
  if (folded_) return {elements_of(group.parameters)};
  std::vector<Size> tensors;
  for (const StageWeight& weight : group.parameters)
    for (Size i = 0; i < weight.times; i = i + Size(1)) tensors.push_back(weight.elements());
  return tensors;
}

/// `share` elements of the buffer, in which the last parameter is the first: param_and_grad_buffer.py,
/// _ParamAndGradBuffer; the first rank has the first ones. Undivided, the model's order: optimizer.py,
/// Float16OptimizerWithFloat16Params.
std::vector<Size> MegatronOptimizer::shards_of(const Group& group, const Size& share, std::int64_t rank) const {
  if (folded_ || recipe_.offload_optimizer) return {share};
  std::vector<Size> tensors = tensors_of(group);
  if (!distributed_) return tensors;
  std::reverse(tensors.begin(), tensors.end());
  Size before = share * rank;
  Size left = share;
  std::vector<Size> shards;
  for (const Size& tensor : tensors) {
    const Size passed = minimum(tensor, before);
    const Size shard = minimum(tensor - passed, left);
    before = before - passed;
    left = left - shard;
    shards.push_back(shard);
  }
  return shards;
}

/// Every weight has memory of its own until its buffer takes it; without a distributed optimizer it keeps that.
void MegatronOptimizer::make_buffers(DType gradients) {
  std::vector<std::vector<Tensor>> own;  // of each group
  for (const Group& group : groups_) {
    const Place place("optimizer", Component::weights);
    own.emplace_back();
    for (const Size& tensor : tensors_of(group)) {
      if (tensor == Size(0)) continue;
      own.back().push_back(allocate({tensor}, group.weights, {&own_rule}));
      note_kept(own.back().back(), own_rule);
    }
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (group.moves) add(group.buffer, group.weights, Component::weights, weights_rule);
    add(group.buffer, gradients, Component::gradients, gradients_rule);
    if (!group.moves) tensors_.insert(tensors_.end(), own[i].begin(), own[i].end());
    let_go(own[i]);
  }
}

/// A shard is copied, then made fp32: distrib_optimizer.py, _build_model_and_main_param_groups.
void MegatronOptimizer::make_main_weights() {
  const DType main = recipe_.master_weights_dtype != DType::automatic ? recipe_.master_weights_dtype : DType::float32;
  record_ranks(ranks_.size(), [&](std::size_t rank) {
    for_each_shard(rank, [&](const Size& shard, const Group& group) {
      Tensor copy;
      if (!folded_) {
        const Place place("optimizer", Component::master_weights);
        copy = allocate({shard}, group.weights, {&main_weights_rule});
      }
      add(shard, main, Component::master_weights, main_weights_rule);
    });
  });
}

void MegatronOptimizer::add_share(const OptimizerShare& share) {
  if (share.by_muon > 0) groups_.push_back({.shards = {{share.by_muon}}, .states = 1});
  if (share.by_adam > 0) groups_.push_back({.shards = {{share.by_adam}}, .states = states_});
}

void MegatronOptimizer::add_whole_matrices(const StageWeights& chunk, DType weights) {
  const std::int64_t ranks = data_parallel_ranks(recipe_);
  const std::int64_t expert_ranks = expert_data_parallel(recipe_);
  for (const StageWeight& weight : chunk)
    if (weight.by_muon && weight.elements() > largest_.elements()) largest_ = weight;
  const StageWeights experts = chosen(chunk, [](const StageWeight& w) { return w.expert; });
  const bool dealt = recipe_.data_parallel == DataParallel::zero1;
  if (recipe_.distributed_optimizer && !dealt) {
    const auto pack = [&](StageWeights matrices, const OptimizerShare& share) {
      if (share.buffer > 0) groups_.push_back({weights, std::move(matrices), true, share.buffer, {{share.by_muon}}, 1});
    };
    pack(chosen(chunk, [](const StageWeight& w) { return !w.expert && w.by_muon; }), packed_share(chunk, false, ranks));
    pack(experts, packed_share(chunk, true, expert_ranks));
    return add_group(chosen(chunk, [](const StageWeight& w) { return !w.expert && !w.by_muon; }), ranks, weights);
  }
  const auto keep = [&](StageWeights all, bool of_experts, std::int64_t over) {
    if (all.empty()) return;
    const Size elements = elements_of(all);
    groups_.push_back({.weights = weights, .parameters = std::move(all), .buffer = elements, .shards = {{}}});
    add_share(dealt_share(chunk, of_experts, dealt ? over : 1));
    if (dealt && over > 1) exchanged_ = maximum(exchanged_, elements);
  };
  keep(chosen(chunk, [](const StageWeight& w) { return !w.expert; }), false, ranks);
  keep(experts, true, expert_ranks);
}

void MegatronOptimizer::add(Size elements, DType dtype, Component component, const Rule& rule) {
  if (elements.value() == 0) return;  // in host memory
  const Place place(component == Component::gradients ? "buffer" : "optimizer", component);
  tensors_.push_back(allocate({elements}, dtype, {&rule}));
  note_kept(tensors_.back(), rule);
}

void MegatronOptimizer::step() {
  copy_gradients();
  make_states();
  run_newton_schulz();
  if (recipe_.optimizer_implementation != OptimizerImplementation::fused && states_ >= 2) {
    const Place place("optimizer", Component::optimizer_temporaries);
    record_ranks(ranks_.size(), [this](std::size_t rank) {
      std::vector<Tensor> roots;
      for_each_shard(rank, [&](const Size& shard, const Group& group) {
        if (group.states >= 2) roots.push_back(allocate({shard}, state_, {&square_rule}));
      });
      while (!roots.empty()) roots.pop_back();
    });
  }
}

void MegatronOptimizer::copy_gradients() {
  if (!copies_gradients_) return;
  const Place place("optimizer", Component::optimizer_temporaries);
  main_gradients_.resize(ranks_.size());
  record_ranks(ranks_.size(), [this](std::size_t rank) {
    for_each_shard(rank, [&](const Size& shard, const Group&) {
      main_gradients_[rank].push_back(allocate({shard}, DType::float32, {&copy_rule}));
      note_kept(main_gradients_[rank].back(), copy_rule);
    });
  });
}

void MegatronOptimizer::make_states() {
  if (has_states_) return;
  has_states_ = true;
  record_ranks(ranks_.size(), [this](std::size_t rank) {
    for_each_shard(rank, [this](const Size& shard, const Group& group) {
      for (int i = 0; i < group.states; ++i) add(shard, state_, Component::optimizer_states, state_rule);
    });
  });
}

void MegatronOptimizer::run_newton_schulz() const {
  const Place place("optimizer", Component::optimizer_temporaries);
  const Size elements = largest_.elements();
  if (elements == Size(0)) return;
  const auto make = [](const Size& count, DType dtype, const Rule& rule) { return allocate({count}, dtype, {&rule}); };
  const Size shorter = minimum(largest_.rows, largest_.columns);
  {
    const Tensor gradient = make(elements, DType::float32, update_rule);  // Nesterov's
    Tensor normal = make(elements, DType::float32, newton_rule);
    Tensor low = make(elements, DType::bfloat16, newton_rule);
    normal.reset();
    {
      const Tensor square = make(shorter * shorter, DType::bfloat16, newton_rule);
      const Tensor polynomial = make(shorter * shorter, DType::bfloat16, newton_rule);
      make(elements, DType::bfloat16, newton_rule);
    }
    const Tensor orthogonal = make(elements, DType::float32, newton_rule);
    low.reset();
    const Tensor scaled = make(elements, DType::float32, update_rule);
    make(elements, DType::float32, update_rule);
  }
  if (exchanged_.value() > 0) make(exchanged_, megatron_weights(recipe_), exchange_rule);
}

void MegatronOptimizer::zero_grad() {
  if (copies_gradients_) record_ranks(ranks_.size(), [this](std::size_t rank) { let_go(main_gradients_[rank]); });
}

}  // namespace trainmem
