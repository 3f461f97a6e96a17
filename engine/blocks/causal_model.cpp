#include "engine/blocks/causal_model.h"

#include <utility>

#include "engine/blocks/adapter.h"
#include "engine/blocks/causal_loss.h"
#include "engine/blocks/torchtitan/loss.h"
#include "engine/blocks/transformers/balancing_loss.h"
#include "engine/parameters/indexer.h"
#include "engine/tensor/checkpoint.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

/// torchtune modules/attention_utils.py asks PyTorch for attention, also where transformers' forward stands for its
/// own.
AttentionKernel attention_of(const Recipe& recipe) {
  const bool always_asks = recipe.framework == Framework::torchtune && recipe.attention == AttentionKernel::eager;
  return always_asks ? AttentionKernel::sdpa : recipe.attention;
}

/// Whether a layer's forward runs again in backward.
bool recomputes(const Recipe& recipe, std::int64_t layer) {
  switch (recipe.recomputation) {
    case Recomputation::full:
    case Recomputation::selective_operations: return true;
    case Recomputation::every_k: return (layer + 1) % recipe.recomputation_interval == 0;
    case Recomputation::none:
    case Recomputation::selective_attention:
    case Recomputation::selective_modules: break;
  }
  return false;
}

/// Tables in fp32 that the block is given: _fsdp_state.py, _pre_forward. Complex ones, which have no sine, stay.
void cast_arguments(BlockInputs& inputs, DType format) {
  if (format == DType::automatic) return;
  if (inputs.alibi.defined()) inputs.alibi = to(inputs.alibi, format, "ALiBi");
  if (!inputs.cos.defined() || !inputs.sin.defined()) return;
  inputs.cos = to(inputs.cos, format, "rotary tables");
  inputs.sin = to(inputs.sin, format, "rotary tables");
}

}  // namespace

CausalModel::CausalModel(std::unique_ptr<Architecture> architecture, std::vector<LayerSlot> slots, const Recipe& recipe,
                         ModuleWrapper* wrapper, const PipelineChunk& part)
    : architecture_(std::move(architecture)),
      slots_(std::move(slots)),
      recipe_(recipe),
      conventions_(conventions_of(recipe, architecture_->model, active_run().settings.legacy_models)),
      wrapper_(wrapper),
      part_(part) {
  // A tied embedding belongs to one group with the head, or runs a second time as the head.
  const bool tied = architecture_->model.tie_word_embeddings;
  const bool apart = conventions_.shards_every_child || (recipe.fsdp_wrap_embeddings && !tied);
  const bool root = !apart && (part_.first || part_.last);
  if (wrapper_ != nullptr && (part_.first || root))
    embedding_group_ = wrapper_->open_group(apart ? ModulePart::embedding : ModulePart::root);
  bool& frozen = active_run().new_parameters.frozen;
  {
    const Set<bool> of_embedding(frozen, frozen || recipe.frozen_layers > 0);
    if (part_.first)
      architecture_->make_embedding();
    else
      architecture_->make_buffers();
    if (wrapper_ != nullptr && conventions_.shards_every_child && architecture_->model.positions == Positions::learned)
      position_group_ = wrapper_->open_group(ModulePart::embedding);
    architecture_->make_positions();
  }
  make_blocks();
  if (wrapper_ != nullptr && (part_.last || root)) {
    head_group_ = embedding_group_;
    if (apart)
      head_group_ = wrapper_->open_group(ModulePart::head);
    else
      wrapper_->reopen_group(embedding_group_);
  }
  {
    const Set<bool> of_head(frozen, frozen || recipe.frozen_head);
    if (part_.last) architecture_->make_head();
  }
  if (wrapper_ != nullptr)
    wrapper_->close_groups();
  else
    give_memory_to_adapters();  // peft adds them to a model that is there: get_peft_model
}

void CausalModel::make_blocks() {
  LayerStretches stretches;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const LayerSlot& slot = slots_[i];
    const Layer layer(slot.index);
    active_run().folding.times[slot.index] = slot.times;
    active_run().folding.groups[slot.index] = slot.group;
    stretches.enter(slot.index);
    if (wrapper_ != nullptr)
      groups_.push_back(wrapper_->open_group(i + 1 == slots_.size() ? ModulePart::last_layer : ModulePart::layer));
    bool& frozen = active_run().new_parameters.frozen;
    const Set<bool> of_layer(frozen, frozen || slot.index < recipe_.frozen_layers);
    blocks_.push_back(architecture_->make_block(slot.kind));
    if (wrapper_ == nullptr && conventions_.makes_adapters_with_layers) give_memory_to_adapters();
  }
  stretches.leave();
}

Tensor CausalModel::recomputed(std::size_t i, const Tensor& hidden, const Tensor& embedding, const Forward& forward) {
  if (!active_run().grad_enabled || !recomputes(recipe_, slots_[i].kind)) return forward(hidden);
  if (recipe_.recomputation_reentrant)
    return checkpoint_reentrant(forward, hidden,
                                {.beside = &block_weights_, .second = embedding, .in_place = &layer_embedding_});
  return checkpoint(forward, hidden,
                    {.selective = recipe_.recomputation == Recomputation::selective_operations,
                     .early_stop = conventions_.recomputation_stops_early});
}

Tensor CausalModel::run_layer(std::size_t i, const Tensor& hidden, const BlockInputs& inputs) {
  const Forward block = [this, i, inputs](Tensor x) {
    Run& run = active_run();
    const Set<std::int32_t> region(run.compiled_region, run.settings.compiles_blocks ? run.next_region++ : 0);
    BlockInputs given = inputs;
    if (wrapper_ != nullptr) cast_arguments(given, wrapper_->argument_format());
    if (layer_embedding_ != nullptr) given.layer_embedding = *layer_embedding_;
    Tensor result = blocks_[i]->forward(std::move(x), given);
    Tensor weights = blocks_[i]->take_weights();
    if (block_weights_ != nullptr) *block_weights_ = std::move(weights);
    return result;
  };
  const Tensor& embedding = inputs.layer_embedding;
  if (wrapper_ == nullptr) return recomputed(i, hidden, embedding, block);
  const auto sharded = [this, i](Tensor x, const Forward& inner) {
    const DType dtype = x.dtype();
    x = wrapper_->before_forward(groups_[i], std::move(x));
    const Tensor cast = x.dtype() == dtype ? Tensor() : x;  // an argument of the call
    return wrapper_->after_forward(groups_[i], inner(std::move(x)));
  };
  if (conventions_.shards_what_recomputes) {
    const Forward hooked = [this, i, block](Tensor x) {
      if (recipe_.recomputation_reentrant) x = wrapper_->before_recomputation(groups_[i], std::move(x));
      return block(std::move(x));
    };
    return sharded(hidden, [&](const Tensor& x) { return recomputed(i, x, embedding, hooked); });
  }
  return recomputed(i, hidden, embedding, [sharded, block](Tensor x) { return sharded(std::move(x), block); });
}

Tensor CausalModel::hidden_states(const Tensor& ids) {
  const bool balances = architecture_->model.experts.router_auxiliary_loss != RouterAuxiliaryLoss::none;
  const bool collects = balances && active_run().grad_enabled;
  const Set<std::vector<Tensor>*> collector(active_run().router_logits, collects ? &returned_ : nullptr);
  if (wrapper_ != nullptr && embedding_group_ >= 0) wrapper_->before_forward(embedding_group_, ids);
  bool embedding_returned = wrapper_ == nullptr || embedding_group_ < 0 || embedding_group_ == head_group_;
  if (!embedding_returned)
    architecture_->after_embedding = [&](Tensor embedded) {
      embedding_returned = true;
      return wrapper_->after_forward(embedding_group_, std::move(embedded));
    };
  if (position_group_ >= 0)
    architecture_->around_positions = [this](const Tensor& positions, const Forward& table) {
      return wrapper_->after_forward(position_group_, table(wrapper_->before_forward(position_group_, positions)));
    };
  ForwardState state = part_.first ? architecture_->begin(ids, attention_of(recipe_))
                                   : architecture_->resume(ids, attention_of(recipe_));
  state.inputs.repeated_heads = state.sliding_inputs.repeated_heads = conventions_.repeats_heads;
  architecture_->after_embedding = nullptr;
  Tensor hidden = std::move(state.hidden);
  // Learned positions belong to the group of the token embedding, which stays until both are read.
  if (!embedding_returned) hidden = wrapper_->after_forward(embedding_group_, std::move(hidden));
  // outputs = block(...): a block's attention weights live until the next one has returned.
  Tensor block_weights;
  const Set<Tensor*> returned(block_weights_, &block_weights);
  LayerStretches stretches;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Layer layer(slots_[i].index);
    stretches.enter(slots_[i].index);
    BlockInputs inputs = architecture_->inputs_of(state, slots_[i].kind);
    if (indexer_of(architecture_->model.model_type).returns_choice) inputs.of_last_block = block_weights;
    hidden = run_layer(i, hidden, inputs);
  }
  stretches.leave();
  if (!part_.last) return hidden;
  if (wrapper_ != nullptr && embedding_group_ != head_group_)
    hidden = wrapper_->before_forward(head_group_, std::move(hidden));
  hidden = architecture_->end(std::move(hidden));
  if (wrapper_ == nullptr || !conventions_.shards_every_child) return hidden;
  hidden = wrapper_->after_forward(head_group_, std::move(hidden));
  wrapper_->before_forward(embedding_group_, ids);  // its second forward: the head
  return hidden;
}

Tensor CausalModel::forward_part(const Tensor& input) {
  if (part_.last) return forward(input);
  Tensor hidden = hidden_states(input);
  if (wrapper_ != nullptr) {
    if (embedding_group_ >= 0 && embedding_group_ == head_group_) wrapper_->after_forward(embedding_group_, hidden);
    wrapper_->end_forward();
  }
  return hidden;
}

Tensor CausalModel::forward(const Tensor& ids, const Size& positions) {
  hidden_ = hidden_states(ids);
  const Place place("head", Component::logits_and_loss);
  if (recipe_.loss == Loss::fused_linear) return {};
  if (recipe_.loss == Loss::chunked && conventions_.differentiates_chunks) {
    if (wrapper_ != nullptr) {
      hidden_ = wrapper_->after_forward(head_group_, std::move(hidden_));
      wrapper_->end_forward();
    }
    return {};
  }
  if (recipe_.loss == Loss::chunked && conventions_.makes_logits_in_chunks) {
    make_chunks();
    return {};
  }
  const Size length = hidden_.size(1);
  Tensor logits = architecture_->head(positions == 0 ? hidden_ : slice(hidden_, 1, length - positions, length));
  if (conventions_.returns_fp32_logits) logits = to(std::move(logits), DType::float32, "fp32 logits");
  const int of_logits = conventions_.shards_every_child ? embedding_group_ : head_group_;
  if (wrapper_ != nullptr) logits = wrapper_->after_forward(of_logits, std::move(logits));
  if (architecture_->loss_is_outside()) {
    hidden_.reset();
    if (wrapper_ != nullptr) wrapper_->end_forward();
  }
  return logits;
}

Tensor CausalModel::logits(const Tensor& ids, const Size& positions, const Tensor& mask) {
  Tensor result = forward(ids, positions);
  if (!returned_.empty()) {
    const Place place("balancing loss", Component::logits_and_loss);
    auxiliary_loss_ = transformers::balancing_loss(returned_, architecture_->model.experts, mask);
  }
  hidden_.reset();
  architecture_->return_loss();
  if (wrapper_ != nullptr) wrapper_->end_forward();
  return result;
}

void CausalModel::make_chunks() {
  const Size sequence = hidden_.size(1);
  const Size part = ceil_divide(sequence, 8);
  std::vector<Size> sizes;
  for (Size begin = 0; begin < sequence; begin = begin + part)
    sizes.push_back(begin + part < sequence ? part : sequence - begin);
  for (const Tensor& rows : split(hidden_, sizes, 1)) {
    chunks_.push_back(architecture_->head(rows));
    if (wrapper_ != nullptr && chunks_.size() < sizes.size()) wrapper_->add_output(head_group_, chunks_.back());
  }
  if (wrapper_ != nullptr) chunks_.back() = wrapper_->after_forward(head_group_, chunks_.back());
  if (architecture_->loss_is_outside()) hidden_.reset();
}

Tensor CausalModel::loss_of_logits(Tensor& logits, const Tensor& labels) {
  if (conventions_.has_its_own_loss) return architecture_->loss(logits, labels);
  switch (recipe_.loss) {
    case Loss::legacy: {  // the caller holds the 16-bit logits beside
      Tensor output = logits;
      return legacy_loss(output, labels, false);
    }
    case Loss::fused: return fused_loss(logits, labels);
    case Loss::fused_linear: return fused_linear_loss();
    case Loss::chunked:
      return conventions_.makes_logits_in_chunks ? chunked_loss(chunks_, recipe_.compile_loss)
                                                 : architecture_->loss(logits, labels);
    case Loss::compiled: return compiled_loss(logits, labels);
    default: return plain_loss(logits, labels);
  }
}

Tensor CausalModel::loss(Tensor& logits, const Tensor& labels, const Tensor& mask) {
  const Place place("loss", Component::logits_and_loss);
  if (recipe_.loss == Loss::chunked && conventions_.differentiates_chunks) return loss_of_parts();
  Tensor result = loss_of_logits(logits, labels);
  if (!returned_.empty()) {
    const Place balance("balancing loss");
    Tensor auxiliary = transformers::balancing_loss(returned_, architecture_->model.experts, mask);
    result = add_in_place(std::move(result), multiply_number(auxiliary));
    returned_.push_back(std::move(auxiliary));
  }
  architecture_->return_loss();
  hidden_.reset();
  if (wrapper_ != nullptr) {
    // transformers' models return the loss, too.
    if (embedding_group_ == head_group_ && !architecture_->loss_is_outside()) wrapper_->add_output(head_group_, result);
    wrapper_->end_forward();
  }
  return result;
}

Tensor CausalModel::loss_of_parts() {
  const torchtitan::HeadOfPart head = [this](Tensor part, bool last) {
    if (wrapper_ != nullptr) part = wrapper_->before_part(head_group_, std::move(part), last);
    return architecture_->head(std::move(part));
  };
  if (wrapper_ != nullptr) wrapper_->begin_parts(head_group_);
  Tensor hidden = std::move(hidden_);
  return torchtitan::loss_of_parts(hidden, head, recipe_.compile_loss, [this] {
    if (wrapper_ != nullptr) wrapper_->end_parts(head_group_);
  });
}

Tensor CausalModel::fused_loss(Tensor& logits, const Tensor& labels) {
  if (recipe_.transformers_release == TransformersRelease::before_4_46) return legacy_loss(logits, labels, true);
  Tensor upcast = to(logits, DType::float32, "fp32 logits");
  const Shape rows{upcast.elements() / upcast.size(-1), upcast.size(-1)};
  return fused_cross_entropy(view(std::move(upcast), rows));
}

Tensor CausalModel::fused_linear_loss() {
  // Liger-Kernel 0.4, transformers/model/llama.py: lce_forward.
  const bool shifts = recipe_.transformers_release == TransformersRelease::before_4_46;
  Tensor hidden = shifts ? without_last(hidden_, "shifted hidden states") : hidden_;
  const Shape rows{hidden.elements() / hidden.size(-1), hidden.size(-1)};
  Tensor result = fused_linear_cross_entropy(reshape(std::move(hidden), rows), architecture_->head_weight());
  return wrapper_ == nullptr ? result : wrapper_->after_forward(head_group_, std::move(result));
}

Tensor CausalModel::plain_loss(Tensor& logits, const Tensor& labels) {
  if (conventions_.compiles_loss) return compiled_loss(logits, labels);
  if (recipe_.transformers_release == TransformersRelease::before_4_46) return legacy_loss(logits, labels, false);
  return architecture_->loss(logits, labels);
}

}  // namespace trainmem
