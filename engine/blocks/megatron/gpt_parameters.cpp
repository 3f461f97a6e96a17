// Parameters of a stage, and the buffers that live as long as the run.
#include <algorithm>

#include "engine/blocks/megatron/float8_copies.h"
#include "engine/blocks/megatron/gpt.h"
#include "engine/parameters/parameters.h"
#include "engine/tensor/run.h"
#include "engine/text/list.h"

namespace trainmem {

Size elements_of(const std::vector<StageWeight>& weights) {
  Size sum = 0;
  for (const StageWeight& weight : weights) sum = sum + weight.elements() * weight.times;
  return sum;
}

namespace megatron {

namespace {

constexpr Rule rotary_rule{"rotary table", "angles of every position, cached for all layers",
                           "Megatron-Core models/common/embeddings/rotary_pos_embedding.py"};
constexpr Rule parameter_rule{"parameter", "", "Megatron-DeepSpeed megatron/mpu/layers.py, fused_layer_norm.py"};
constexpr Rule buffer_rule{"global memory buffer",
                           "input of linear layers, of attention scores and of experts, one for all layers",
                           "Megatron-Core utils.py: GlobalMemoryBuffer"};
constexpr Rule float8_rule{"fp8 weights", "copies for the products of linear layers, made anew in every step",
                           "Transformer Engine pytorch/module/base.py: get_weight_workspace"};
constexpr Rule transposed_rule{"transposed fp8 weights", "for the gradients of the layers' inputs",
                               "Transformer Engine pytorch/tensor/storage/float8_tensor_storage.py: _create_transpose"};
constexpr const char* blocks_source = "Transformer Engine pytorch/tensor/mxfp8_tensor.py, float8_blockwise_tensor.py";
constexpr Rule across_rule{"fp8 weights, blocks across", "for the gradients of the layers' inputs", blocks_source};
constexpr Rule scales_rule{"scales of fp8 weights", "one for each block of numbers", blocks_source};

RecomputedModules recomputed_modules(const Recipe& recipe) {
  RecomputedModules result;
  result.core_attention = recipe.recomputation == Recomputation::selective_attention;
  if (recipe.recomputation != Recomputation::selective_modules) return result;
  result.core_attention = has_item(recipe.recomputation_modules, "core_attn");
  result.mlp = has_item(recipe.recomputation_modules, "mlp");
  result.norms = has_item(recipe.recomputation_modules, "layernorm");
  return result;
}

/// A parameter of a run: gradients that autograd makes are added to the main gradients and let go.
/// distributed_data_parallel.py: _make_backward_post_hook.
void release_gradient(const Tensor& leaf) { leaf->grad.reset(); }

}  // namespace

/// Transformer Engine pytorch/utils.py: is_non_tn_fp8_gemm_supported.
Float8 float8_products(const Config& config) {
  if (config.recipe.precision != Precision::fp8) return Float8::none;
  if (config.recipe.fp8_recipe == Fp8Recipe::blockwise) return Float8::blockwise;
  if (config.recipe.fp8_recipe == Fp8Recipe::mxfp8) return Float8::mxfp8;
  return config.gpu.architecture == GpuArchitecture::blackwell ? Float8::plain : Float8::transposing;
}

Sizes rank_sizes(const Config& config) {
  const Model& model = config.model;
  const Recipe& recipe = config.recipe;
  Sizes z;
  z.t = recipe.tensor_parallel;
  z.whole_sequence = recipe.sequence_length;
  z.s = z.whole_sequence / Size(recipe.context_parallel);
  z.b = recipe.micro_batch_size;
  z.h = model.hidden_size;
  z.d = model.head_dim;
  z.a = ceil_divide(Size(model.num_attention_heads), z.t);
  z.k = ceil_divide(Size(model.num_key_value_heads), z.t);
  z.f = ceil_divide(Size(model.intermediate_size), z.t);
  z.v = ceil_divide(round_up(Size(model.vocab_size), Size(recipe.vocabulary_multiple) * z.t), z.t);
  z.qkv_width = (z.a + Size(2) * z.k) * z.d;
  if (model.experts.num_experts > 0) {
    z.expert_ranks = recipe.expert_parallel;
    z.expert_t = recipe.expert_tensor_parallel;
    z.local_experts = ceil_divide(Size(model.experts.num_experts), z.expert_ranks);
  }
  z.positions = model.positions == Positions::learned ? Size(model.learned_positions) : Size(0);
  z.layout.sequence = z.s;
  z.layout.sequence_parallel = recipe.sequence_parallel && recipe.tensor_parallel > 1;
  z.layout.local = z.layout.sequence_parallel ? ceil_divide(z.s, z.t) : z.s;
  z.layout.gather_buffer = !recipe.transformer_engine;
  return z;
}

Tensor StageModel::make_leaf(const Shape& shape, const char* name) const {
  const Set<Component> component(active_run().component, Component::weights);
  Tensor leaf = settings_.deepspeed ? allocate(shape, settings_.dtype, {&parameter_rule, name})
                                    : allocate_nothing(shape, settings_.dtype);
  leaf->requires_grad = true;
  if (!settings_.deepspeed) leaf->gradient_hook = release_gradient;
  active_run().parameters.push_back({leaf});
  return leaf;
}

Tensor StageModel::add_parameter(const Shape& shape, const char* name, Size times) {
  const bool matrix = shape.rank() == 2;
  weights_.push_back({shape[0], matrix ? shape[1] : Size(1), times, matrix});
  return make_leaf(shape, name);
}

StageModel::Norm StageModel::make_norm(Size width, const char* name, Size times) {
  Norm result;
  result.weight = add_parameter({width}, name, times);
  if (settings_.model.norm == trainmem::Norm::layernorm) result.bias = add_parameter({width}, name, times);
  return result;
}

ParallelLinear StageModel::make_linear(Size in, Size out, bool bias, const char* name, Size times) {
  ParallelLinear result;
  result.in = in;
  result.out = out;
  weights_.push_back({out, in, times, true});
  if (bias) result.bias = add_parameter({out}, name, times);
  if (!settings_.recipe.gradient_accumulation_fusion) {
    result.weight = make_leaf({out, in}, name);
  } else if (!settings_.deepspeed && settings_.buffers != nullptr) {
    result.dummies = &settings_.buffers->dummies;
    result.dummies->expect({out, in});
  }
  return result;
}

ParallelLinear StageModel::make_engine_linear(Size in, Size out, bool bias, const char* name, Size times) {
  const std::size_t weight = weights_.size();
  ParallelLinear result = make_linear(in, out, bias, name, times);
  result.float8 = settings_.float8;
  weights_[weight].float8 = result.float8 != Float8::none;
  return result;
}

StageModel::Block StageModel::make_block(std::int32_t index, Size times, bool recomputed) {
  const Sizes& z = settings_.sizes;
  const Model& model = settings_.model;
  Block block;
  block.index = index;
  block.times = times;
  block.recomputed = recomputed;
  active_run().folding.times[index] = times;
  const LatentAttention& latent = model.latent_attention;
  const Size value_width = latent.kv_lora_rank > 0 ? Size(latent.v_head_dim) : z.d;
  // attention.py: Attention makes the projection, SelfAttention after it the rest.
  block.projection =
      make_engine_linear(z.a * value_width, z.h, model.attention_output_bias, "attention projection", times);
  block.attention_norm = make_norm(z.h, "attention norm", times);
  if (latent.kv_lora_rank > 0) {
    block.latent = make_latent(times);
  } else {
    block.qkv = make_engine_linear(z.h, z.qkv_width, model.attention_bias, "query, key and value", times);
    if (model.qk_norm != QkNorm::none) {
      block.query_norm = make_norm(z.d, "query norm", times);
      block.key_norm = make_norm(z.d, "key norm", times);
    }
  }
  block.mlp_norm = make_norm(z.h, "MLP norm", times);
  const std::int64_t in_model = minimum(Size(index), model.num_hidden_layers - 1);
  block.has_experts = layer_kind(model, in_model).experts;
  if (block.has_experts) {
    block.experts = make_experts(times);
    return block;
  }
  block.fc1 =
      make_engine_linear(z.h, model.gated_mlp ? Size(2) * z.f : z.f, model.mlp_bias, "MLP input projection", times);
  block.fc2 = make_engine_linear(z.f, z.h, model.mlp_bias, "MLP output projection", times);
  return block;
}

/// transformer_block.py, _checkpointed_forward. Method block: the first layers of a chunk, each for itself; uniform:
/// all layers, in groups. Of equal units in a row the outer two touch what lies outside; folded, one of the others
/// stands for them all.
void StageModel::make_units() {
  const Recipe& recipe = settings_.recipe;
  const std::int64_t layers = settings_.stage.layers;
  const std::int64_t named = recipe.recomputation_layers;
  const bool full = recipe.recomputation == Recomputation::full;
  const bool uniform = full && recipe.recomputation_method == RecomputationMethod::uniform;
  const std::int64_t together = uniform ? std::min(std::max<std::int64_t>(named, 1), layers) : 1;
  const std::int64_t recomputed = !full ? 0 : uniform || named == 0 ? layers : std::min(named, layers);
  struct Planned {
    std::int64_t first, count;
    bool again;
  };
  std::vector<Planned> planned;
  for (std::int64_t i = 0; i < layers; i += planned.back().count)
    planned.push_back({i, std::min(together, layers - i), i < recomputed});
  const auto equal = [&](const Planned& a, const Planned& b) {
    if (a.count != b.count || a.again != b.again) return false;
    for (std::int64_t i = 0; i < a.count; ++i) {
      const std::int64_t begin = settings_.stage.first_layer + i;
      if (!(layer_kind(settings_.model, begin + a.first) == layer_kind(settings_.model, begin + b.first))) return false;
    }
    return true;
  };
  for (std::size_t first = 0; first < planned.size();) {
    std::size_t last = first;
    while (last + 1 < planned.size() && equal(planned[first], planned[last + 1])) ++last;
    const bool folds = settings_.folds && last - first >= 3;
    for (std::size_t i = first; i <= last; ++i) {
      const bool stands_for_others = folds && i == first + 1;
      const Size times = stands_for_others ? Size(static_cast<std::int64_t>(last - first) - 1) : Size(1);
      units_.push_back({blocks_.size(), static_cast<std::size_t>(planned[i].count), times});
      for (std::int64_t j = 0; j < planned[i].count; ++j) {
        const std::int64_t index = settings_.stage.first_layer + planned[i].first + j;
        blocks_.push_back(make_block(static_cast<std::int32_t>(index), times, planned[i].again));
      }
      if (stands_for_others) i = last - 1;
    }
    first = last + 1;
  }
}

StageModel::StageModel(const Settings& settings) : settings_(settings) {
  const Sizes& z = settings_.sizes;
  const Recipe& recipe = settings_.recipe;
  const PipelineChunk& stage = settings_.stage;
  const bool predicts_further = stage.last && settings_.model.num_nextn_predict_layers > 0;
  if (stage.first || predicts_further) {  // layers that predict further tokens share the embedding
    embedding_ = add_parameter({z.v, z.h}, "embedding", 1);
    weights_.back().by_muon = false;
    if (settings_.model.positions == Positions::learned) positions_ = add_parameter({z.positions, z.h}, "positions", 1);
    if (settings_.model.embedding_norm) embedding_norm_ = make_norm(z.h, "embedding norm", 1);
  }
  recomputed_ = recomputed_modules(recipe);
  make_units();
  if (stage.last) {
    final_norm_ = make_norm(z.h, "final norm", 1);
    make_head();
    make_next_tokens();
  }
}

void StageModel::make_buffers() {
  if (has_buffers_) return;
  has_buffers_ = true;
  settings_.deepspeed ? make_buffers_of_deepspeed() : make_buffers_of_megatron();
  make_float8_weights();
}

/// A tied head of the first stage is the embedding itself. DeepSpeed's TiedLayerSpec builds the whole embedding anew on
/// another stage, with the positions that it has no use for.
void StageModel::make_head() {
  const Sizes& z = settings_.sizes;
  const bool tied = settings_.model.tie_word_embeddings;
  const bool one_table = tied && settings_.stage.first;
  if (settings_.deepspeed && one_table) {
    head_.weight = embedding_;
    return;
  }
  const std::size_t weight = weights_.size();
  head_ = make_linear(z.h, z.v, settings_.model.lm_head_bias, "head", 1);
  weights_[weight].by_muon = false;
  if (one_table) weights_[weight].times = 0;
  if (settings_.deepspeed && tied && z.positions > 0) positions_ = add_parameter({z.positions, z.h}, "positions", 1);
}

/// With --fp8-param-gather, weights_dtype fp8, the parameters are the fp8 weights.
void StageModel::make_float8_weights() {
  if (settings_.float8 == Float8::none) return;
  Size weights = 0;
  Size scales = 0;
  for (const StageWeight& weight : weights_) {
    if (!weight.float8) continue;
    weights = weights + weight.elements() * weight.times;
    scales = scales + scale_bytes_of_weight(weight.rows, weight.columns, settings_.float8) * weight.times;
  }
  const Place place("fp8 weights", Component::weights);
  const auto add = [this](const Size& bytes, DType dtype, const Rule& rule) {
    buffers_.push_back(allocate({bytes}, dtype, {&rule}));
    note_kept(buffers_.back(), rule);
  };
  if (settings_.recipe.weights_dtype != DType::float8) add(weights, DType::float8, float8_rule);
  if (settings_.float8 == Float8::transposing) add(weights, DType::float8, transposed_rule);
  if (!in_blocks(settings_.float8)) return;
  add(weights, DType::float8, across_rule);
  add(scales, DType::uint8, scales_rule);
}

void StageModel::make_buffers_of_megatron() {
  const Sizes& z = settings_.sizes;
  const Recipe& recipe = settings_.recipe;
  const Place place("buffers", Component::workspace);
  // Latent attention has a table in every layer, whatever positions the model has beside it: multi_latent_attention.py.
  const bool latent = settings_.model.latent_attention.kv_lora_rank > 0;
  if (latent || settings_.model.positions == Positions::rope) {
    const Size rope = settings_.model.latent_attention.qk_rope_head_dim;
    const Size width = latent ? rope : z.d;
    const Tensor angles = allocate({z.whole_sequence, width / Size(2)}, DType::float32, {&rotary_rule});
    Tensor whole;  // of which each context-parallel GPU takes its rows
    if (recipe.context_parallel > 1) whole = allocate({z.whole_sequence, width}, DType::float32, {&rotary_rule});
    rotary_ = allocate({z.s, 1, 1, width}, DType::float32, {&rotary_rule, "rotary table"});
    note_kept(rotary_, rotary_rule);
    if (latent && settings_.stage.layers > 1) {
      const Shape others{settings_.stage.layers - 1, z.s, 1, 1, rope};
      buffers_.push_back(allocate(others, DType::float32, {&rotary_rule, "rotary tables of the other layers"}));
      note_kept(buffers_.back(), rotary_rule);
    }
  }
  const bool gathers_tokens = recipe.expert_dispatcher == ExpertDispatcher::all_gather && z.local_experts > 0;
  Size gathered = z.layout.sequence_parallel ? z.s * z.b * z.h : Size(0);
  if (gathers_tokens && z.expert_ranks * z.expert_t > 1)
    gathered = maximum(gathered, z.layout.local * z.b * z.h * z.expert_ranks * z.expert_t);
  const bool head_gathers = z.layout.sequence_parallel && settings_.stage.last;
  const bool own_layers = !recipe.transformer_engine;
  if (!settings_.buffers->global && (own_layers || head_gathers || gathers_tokens)) {
    const Size buffer = own_layers ? maximum(z.b * z.a * z.s * z.s, gathered) : gathered;
    const FirstUse moment = own_layers || gathers_tokens ? FirstUse::layer : FirstUse::head_input;
    if (buffer > 0) settings_.buffers->first_uses.expect(moment, {buffer}, settings_.dtype, buffer_rule);
    settings_.buffers->global = true;
  }
}

}  // namespace megatron

}  // namespace trainmem
