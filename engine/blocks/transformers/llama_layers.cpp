#include "engine/blocks/transformers/llama_layers.h"

#include <utility>

#include "engine/blocks/fused_lora.h"
#include "engine/blocks/transformers/deepseek_moe.h"
#include "engine/blocks/transformers/experts.h"
#include "engine/blocks/transformers/gated_delta_net.h"
#include "engine/blocks/transformers/granite_moe.h"
#include "engine/blocks/transformers/jetmoe.h"
#include "engine/blocks/transformers/latent_attention.h"
#include "engine/blocks/transformers/llama4.h"
#include "engine/blocks/transformers/mamba.h"
#include "engine/blocks/transformers/short_convolution.h"
#include "engine/parameters/parameters.h"
#include "engine/text/list.h"

namespace trainmem::transformers {

bool slides(const Model& m, std::int64_t index) { return layer_type(m, index) == LayerType::sliding_attention; }

SelfAttention::SelfAttention(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer)
    : model_(m),
      form_(form),
      slides_(slides(m, layer)),
      turns_(m.positions == Positions::rope && (m.nope_every <= 0 || (layer + 1) % m.nope_every != 0) &&
             (slides_ || !form.turns_where_sliding || (form.turns_where_dense && !layer_kind(m, layer).experts))),
      heads_(heads_of(m, layer_type(m, layer))),
      key_value_heads_(key_value_heads_of(m, layer_type(m, layer))),
      value_width_(value_head_dim_of(m, layer_type(m, layer))) {
  const Size h = m.hidden_size;
  const Size d = m.head_dim;
  const Size a = heads_;
  const Size k = key_value_heads_;
  const Size width = a * value_width_;
  if (form.differential) differential_ = std::make_unique<DifferentialAttention>(d, dtype);
  if (has_sinks(m, layer_type(m, layer))) sinks_ = make_parameter({a}, dtype, "attention sinks");
  const auto make_output = [&] { output_ = Linear(width, h, m.attention_output_bias, dtype, "attention projection"); };
  if (form.fused_attention) {
    make_output();
    together_ = Linear(h, (a + Size(2) * k) * d, m.attention_bias, dtype, "query, key and value");
    return;
  }
  query_ = Linear(h, a * d * Size(form.gated_attention ? 2 : 1), m.attention_bias, dtype, "query");
  key_ = Linear(h, k * d, m.attention_bias, dtype, "key");
  value_ = Linear(h, k * value_width_, m.attention_bias, dtype, "value");
  make_output();
  if (form.sub_norms) output_norm_ = NormLayer(form.norm, {width}, true, false, dtype);
  for (Linear* each : {&query_, &key_, &value_, &output_}) each->rounds = m.bit_linear;
  if (m.qk_norm == QkNorm::none) return;
  // Of norms of heads Liger-Kernel patches those of Gemma 3 and EXAONE 4, which are not in place.
  const bool patched = active_run().settings.fused.norm && fused_norm(m) == FusedNorm::liger;
  if (m.model_type == "stablelm") {
    for (std::int64_t i = 0; i < a.value(); ++i)
      query_head_norms_.emplace_back(form.norm, Shape{d}, true, false, dtype);
    for (std::int64_t i = 0; i < k.value(); ++i) key_head_norms_.emplace_back(form.norm, Shape{d}, true, false, dtype);
    return;
  }
  const auto norm = [&](const Size& heads) {
    if (form.bare_head_norms) return NormLayer(NormLayer::Form::gemma4, {d}, false, false, dtype);
    if (m.qk_norm == QkNorm::per_head)
      return NormLayer(patched ? NormLayer::Form::liger : form.norm, {d}, m.norm_weight, false, dtype);
    if (form.norm == NormLayer::Form::cohere) return NormLayer(form.norm, {heads, d}, true, false, dtype);
    return NormLayer(form.norm, {heads * d}, true, false, dtype);
  };
  query_norm_ = norm(a);
  key_norm_ = norm(k);
  const bool gates_heads =
      form.output_gate == LlamaForm::OutputGate::heads || form.output_gate == LlamaForm::OutputGate::heads_first;
  if (form.output_gate != LlamaForm::OutputGate::none)
    gate_ = Linear(h, gates_heads ? a : a * d, false, dtype, "output gate");
}

namespace {

/// (b, s, heads * d) seen as (b, s, heads, d).
Tensor heads_apart(Tensor x, Size heads, Size d) {
  const Shape shape{x.size(0), x.size(1), heads, d};
  return view(std::move(x), shape);
}

/// Each head (b, 1, s, d) by a norm of its own.
Tensor norms_of_heads(Tensor x, const std::vector<NormLayer>& norms) {
  const std::vector<Tensor> heads = split(std::move(x), std::vector<Size>(norms.size(), Size(1)), 1);
  std::vector<Tensor> normed;
  for (std::size_t i = 0; i < norms.size(); ++i) normed.push_back(norms[i](heads[i]));
  return concatenate(normed, 1);
}

}  // namespace

// models/olmo/modeling_olmo.py: OlmoAttention, and models/olmoe.
void SelfAttention::clip(Tensor& query, Tensor& key, Tensor& value) const {
  if (model_.clip_qkv <= 0) return;
  for (Tensor* each : {&query, &key, &value}) *each = clamp_in_place(std::move(*each));
}

SelfAttention::QueryKeyValue SelfAttention::project(const Tensor& hidden) const {
  const Size d = model_.head_dim;
  const Size a = heads_;
  const Size k = key_value_heads_;
  QueryKeyValue result;
  Projections from(hidden, query_, key_, value_);
  if (model_.qk_norm == QkNorm::full && form_.norm != NormLayer::Form::cohere) {
    // models/olmo2/modeling_olmo2.py: all heads of a token are normalised together.
    Tensor query = query_norm_(from.query());
    Tensor key = key_norm_(from.key());
    Tensor value = from.value();
    clip(query, key, value);
    result.q = split_heads(std::move(query), a, d);
    result.k = split_heads(std::move(key), k, d);
    result.v = split_heads(std::move(value), k, d);
    return result;
  }
  if (form_.heads == LlamaForm::Heads::after_projections) {
    Tensor query = from.query();
    Tensor key = from.key();
    Tensor value = from.value();
    clip(query, key, value);
    result.q = split_heads(std::move(query), a, d);
    result.k = split_heads(std::move(key), k, d);
    result.v = split_heads(std::move(value), k, d);
    if (!query_head_norms_.empty()) {  // models/stablelm/modeling_stablelm.py: StableLmLayerNormPerHead
      result.q = norms_of_heads(std::move(result.q), query_head_norms_);
      result.k = norms_of_heads(std::move(result.k), key_head_norms_);
    }
    return result;
  }
  using At = LlamaForm::QueryKeyNorm;
  if (model_.qk_norm == QkNorm::none || form_.query_key_norm != At::heads_last) {
    result.q = split_heads(from.query(), a, d);
    result.k = split_heads(from.key(), k, d);
    if (form_.scaled_keys) result.k = multiply_number(result.k);
    result.v = split_heads(from.value(), k, value_width_);
    if (form_.scaled_values) result.v = multiply_number(result.v);
    if (model_.qk_norm == QkNorm::none || form_.query_key_norm == At::turned) return result;
    result.q = query_norm_(result.q);
    if (form_.bare_head_norms) result.q = multiply_number(result.q);
    result.k = key_norm_(result.k);
    return result;
  }
  if (form_.heads == LlamaForm::Heads::transposed_last) {
    Tensor query = heads_apart(from.query(), a, d);
    Tensor key = heads_apart(from.key(), k, d);
    Tensor value = heads_apart(from.value(), k, d);
    if (form_.output_gate == LlamaForm::OutputGate::channels)
      result.gate = gate_(hidden);  // models/afmoe/modeling_afmoe.py: AfmoeAttention
    query = query_norm_(query);
    key = key_norm_(key);
    result.q = transpose(std::move(query), 1, 2);
    result.k = transpose(std::move(key), 1, 2);
    result.v = transpose(std::move(value), 1, 2);
    return result;
  }
  if (form_.gated_attention) {  // models/qwen3_next/modeling_qwen3_next.py: Qwen3NextAttention
    const std::vector<Tensor> halves = split(heads_apart(from.query(), a, Size(2) * d), {d, d}, 3);
    result.gate = reshape(halves[1], {hidden.size(0), hidden.size(1), a * d});
    result.q = transpose(query_norm_(halves[0]), 1, 2);
  } else {
    result.q = transpose(query_norm_(heads_apart(from.query(), a, d)), 1, 2);
  }
  result.k = transpose(key_norm_(heads_apart(from.key(), k, d)), 1, 2);
  result.v = split_heads(from.value(), k, d);
  if (form_.output_gate == LlamaForm::OutputGate::heads_first) result.gate = gate_(hidden);
  return result;
}

SelfAttention::QueryKeyValue SelfAttention::project_together(const Tensor& hidden) const {
  const Size d = model_.head_dim;
  const Size a = heads_;
  const Size k = key_value_heads_;
  QueryKeyValue result;
  result.together = together_(hidden);
  const Size key_at = a * d;
  const Size value_at = key_at + k * d;
  Tensor query = slice(result.together, -1, 0, key_at);
  Tensor key = slice(result.together, -1, key_at, value_at);
  Tensor value = slice(result.together, -1, value_at, value_at + k * d);
  result.q = split_heads(std::move(query), a, d);
  result.k = split_heads(std::move(key), k, d);
  result.v = split_heads(std::move(value), k, d);
  return result;
}

void SelfAttention::turn(Tensor& q, Tensor& k, const Tensor& cos, const Tensor& sin, Locals& locals) const {
  const Run& run = active_run();
  if (run.compiled_region != 0) {
    q = compiled_rotary(std::move(q));
    k = compiled_rotary(std::move(k));
    return;
  }
  if (run.settings.fused.rope) return;  // in place: Liger-Kernel src/liger_kernel/ops/rope.py
  switch (form_.turning) {
    case LlamaForm::Turning::whole:
    case LlamaForm::Turning::interleaved_positions: return apply_rotary(q, k, cos, sin);
    case LlamaForm::Turning::three_positions: {
      const Tensor own_cos = channels_of_positions(cos, 3);
      const Tensor own_sin = channels_of_positions(sin, 3);
      return apply_rotary(q, k, own_cos, own_sin);
    }
    case LlamaForm::Turning::four_positions: {
      const Tensor own_cos = to(channels_of_positions(cos, 4), DType::float32);
      const Tensor own_sin = to(channels_of_positions(sin, 4), DType::float32);
      return apply_rotary_interleaved(q, k, own_cos, own_sin);
    }
    case LlamaForm::Turning::fp32_tables: return apply_rotary_fp32(q, k, cos, sin);
    case LlamaForm::Turning::cohere: return apply_rotary_interleaved(q, k, cos, sin);
    case LlamaForm::Turning::stablelm: locals = apply_partial_rotary_kept(q, k, cos, sin); return;
    case LlamaForm::Turning::phi3: return apply_partial_rotary_in_turn(q, k, cos, sin);
    case LlamaForm::Turning::interleaved_partial:
    case LlamaForm::Turning::nemotron: return apply_partial_rotary_together(q, k, cos, sin);
    case LlamaForm::Turning::halves: return apply_rotary_halves(q, k, cos, sin);
    case LlamaForm::Turning::helium:
    case LlamaForm::Turning::glm_positions:
    case LlamaForm::Turning::glm: {
      const Tensor own_cos = neighbours_table(cos);
      const Tensor own_sin = neighbours_table(sin);
      if (form_.turning == LlamaForm::Turning::helium) return apply_rotary(q, k, own_cos, own_sin);
      return apply_partial_rotary(q, k, own_cos, own_sin);
    }
    case LlamaForm::Turning::ernie: return apply_rotary_ernie(q, k, neighbours_table(cos), neighbours_table(sin));
    case LlamaForm::Turning::complex:
    case LlamaForm::Turning::even_and_odd: return;  // of latent attention
  }
}

namespace {

constexpr Rule scale_rule{"attention scale", "a number of each position, which the queries are multiplied with",
                          "transformers models/ministral3/modeling_ministral3.py: _get_llama_4_attn_scale"};

}  // namespace

Tensor scaled_by_position(Tensor query) {
  const Shape positions{query.size(2), 1};
  Tensor scale = allocate(positions, DType::float32, {&scale_rule, "attention scale"});
  scale = to(std::move(scale), query.dtype());
  return multiply(std::move(query), std::move(scale));
}

// models/laguna/modeling_laguna.py: LagunaAttention.
Tensor SelfAttention::gated_heads(Tensor argument, const Tensor& hidden) const {
  const Tensor out = std::move(argument);
  const Tensor gate = to(softplus(to(gate_(hidden), DType::float32)), out.dtype());
  const Tensor apart = view(out, {out.size(0), out.size(1), heads_, value_width_});
  return view(apart * unsqueeze(gate, 3), out.shape());
}

Tensor SelfAttention::operator()(const Tensor& given, const BlockInputs& inputs, Tensor& weights) const {
  const Place place("attention");
  const Tensor hidden = gather_sequence(given);
  QueryKeyValue heads = form_.fused_attention ? project_together(hidden) : project(hidden);
  Locals locals;
  if (turns_) turn(heads.q, heads.k, inputs.cos, inputs.sin, locals);
  if (form_.scaled_queries) heads.q = scaled_by_position(std::move(heads.q));
  if (model_.qk_norm != QkNorm::none && form_.query_key_norm == LlamaForm::QueryKeyNorm::turned) {
    heads.q = query_norm_(heads.q);
    heads.k = key_norm_(heads.k);
  }
  const Shape joined{hidden.size(0), hidden.size(1), heads_ * value_width_};
  AttentionOptions options;
  options.dropout = model_.attention_dropout;
  options.softcapping = model_.attn_logit_softcapping;
  // models/mistral/modeling_mistral.py before 4.46: MistralFlashAttention2.forward.
  options.repeated_heads =
      inputs.repeated_heads || (active_run().settings.legacy_models && inputs.attention == AttentionKernel::flash &&
                                (model_.model_type == "mistral" || model_.model_type == "mixtral"));
  options.window = slides_ ? model_.sliding_window : 0;
  const Tensor& mask = inputs.mask;
  Tensor out = model_.attention_sinks
                   ? sink_attention(heads.q, heads.k, heads.v, mask, sinks_, options.dropout, form_.sinks, weights)
               : differential_ ? (*differential_)(heads.q, heads.k, heads.v, mask, inputs.attention, options, weights)
                               : attention(heads.q, heads.k, heads.v, mask, inputs.attention, options, weights);
  out = reshape(std::move(out), joined);
  if (form_.output_gate == LlamaForm::OutputGate::heads_first) {  // models/step3p7: Step3p7Attention
    const Tensor apart = view(std::move(out), {joined[0], joined[1], heads_, value_width_});
    out = view(multiply(apart, sigmoid(unsqueeze(heads.gate, 3))), joined);
  } else if (heads.gate.defined()) {
    out = multiply(std::move(out), sigmoid(heads.gate));
  }
  if (form_.output_gate == LlamaForm::OutputGate::channels_after)
    out = multiply(std::move(out), sigmoid(gate_(hidden)));
  if (form_.output_gate == LlamaForm::OutputGate::heads) out = gated_heads(std::move(out), hidden);
  if (form_.sub_norms) out = output_norm_.at("norm of attention's output", std::move(out));
  out = has_fused_adapter(output_) ? fused_lora(out, output_) : output_(std::move(out));
  return form_.inner_dropout ? dropout(std::move(out), model_.hidden_dropout) : out;
}

FeedForward::FeedForward(const Model& m, const LlamaForm& form, DType dtype, Size width)
    : model_(m),
      fused_(form.fused_mlp),
      inner_dropout_(form.inner_dropout),
      clamps_(form.clamps),
      width_(width.value() > 0 ? width : Size(m.intermediate_size)) {
  const Size h = m.hidden_size;
  const Size i = width_;
  if (fused_) {
    gate_up_ = Linear(h, Size(2) * i, m.mlp_bias, dtype, "gate and up");
  } else {
    if (m.gated_mlp) gate_ = Linear(h, i, m.mlp_bias, dtype, "gate");
    up_ = Linear(h, i, m.mlp_bias, dtype, "up");
  }
  down_ = Linear(i, h, m.mlp_bias, dtype, "down");
  if (form.sub_norms) down_norm_ = NormLayer(form.norm, {i}, true, false, dtype);
  for (Linear* each : {&gate_, &up_, &down_}) each->rounds = m.bit_linear;
  if (m.hidden_act == Activation::xielu) xielu_.emplace(dtype);
}

Tensor FeedForward::products(const Tensor& given) const {
  const Tensor x = gather_sequence(given);
  if (fused_) {
    const Tensor together = gate_up_(x);
    const std::vector<Tensor> parts = split(together, {width_, width_}, -1);
    return down_(parts[1] * activate(parts[0], model_.hidden_act));
  }
  if (clamps_) {  // models/step3p7/modeling_step3p7.py: Step3p7MLP
    const Tensor gate = clamp(activate(gate_(x), model_.hidden_act), 1);
    const Tensor up = clamp(up_(x));
    return down_(gate * up);
  }
  const Run& run = active_run();
  if (model_.gated_mlp && (run.compiled_region != 0 || run.settings.fused.mlp)) {
    Tensor gate = gate_(x);
    Tensor up = up_(x);
    return down_(run.compiled_region != 0 ? compiled_gated_product(std::move(gate), std::move(up))
                                          : in_place_gated_product(std::move(gate), std::move(up)));
  }
  if (model_.gated_mlp) {
    Tensor gate = activate(gate_(x), model_.hidden_act);  // before up: C++ leaves the order of operands open
    Tensor product = std::move(gate) * up_(x);
    if (down_norm_.weight.defined()) product = down_norm_.at("norm of the product", std::move(product));
    return down_(std::move(product));
  }
  Tensor activated = xielu_ ? (*xielu_)(up_(x))
                            : activate(up_(x), model_.hidden_act);  // what is activated goes before the next layer runs
  return down_(std::move(activated));
}

Tensor FeedForward::operator()(const Tensor& x) const {
  const Place place("mlp");
  Tensor result = products(x);
  return inner_dropout_ ? dropout(std::move(result), model_.hidden_dropout) : result;
}

std::unique_ptr<AttentionPart> make_attention(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) {
  if (layer_type(m, layer) == LayerType::conv) return make_short_convolution(m, dtype);
  if (layer_type(m, layer) == LayerType::mamba) return make_mamba(m, dtype);
  if (m.latent_attention.kv_lora_rank > 0) return std::make_unique<LatentSelfAttention>(m, form, dtype);
  if (has_gated_delta_net(m) && layer_type(m, layer) == LayerType::linear_attention)
    return std::make_unique<GatedDeltaNet>(m, dtype);
  if (m.model_type == "llama4_text") return make_llama4_attention(m, form, dtype, layer);
  if (m.model_type == "jetmoe") return make_jetmoe_attention(m, dtype);
  return std::make_unique<SelfAttention>(m, form, dtype, layer);
}

std::unique_ptr<FeedForwardPart> make_feed_forward(const Model& m, const LlamaForm& form, DType dtype,
                                                   std::int64_t layer) {
  const bool experts = layer_kind(m, layer).experts;
  if (experts && m.model_type == "llama4_text") return make_llama4_experts(m, form, dtype);
  if (experts && m.model_type.rfind("granitemoe", 0) == 0) return make_granite_moe(m, form, dtype);
  if (experts && m.model_type == "deepseek") return make_deepseek_moe(m, form, dtype);
  if (experts && m.model_type == "jetmoe") return make_jetmoe_experts(m, dtype);
  if (experts) return std::make_unique<SparseFeedForward>(m, form, dtype);
  return std::make_unique<FeedForward>(m, form, dtype);
}

bool has_experts_forward(const Model& m, const LlamaForm& form) {
  return m.model_type == "llama4_text" || m.model_type.rfind("granitemoe", 0) == 0 ||
         has_item("deepseek,jetmoe", m.model_type) || form.block == LlamaForm::BlockForm::dbrx ||
         form.block == LlamaForm::BlockForm::gemma4 || has_router(m);
}

namespace {

/// The one kernel of a norm, or the form as it is.
NormLayer::Form fused_form(const Model& m, NormLayer::Form form) {
  switch (fused_norm(m)) {
    case FusedNorm::none:
    case FusedNorm::layer_norm: return form;
    case FusedNorm::liger_in_place: return NormLayer::Form::liger_in_place;
    case FusedNorm::liger: return NormLayer::Form::liger;
  }
  return form;
}

}  // namespace

NormLayer llama_norm_layer(const Model& m, const LlamaForm& form, DType dtype) {
  NormLayer::Form kind = form.norm;
  if (kind == NormLayer::Form::llama && m.norm == Norm::layernorm) kind = NormLayer::Form::layer_norm;
  if (active_run().settings.fused.norm) kind = fused_form(m, kind);
  return NormLayer(kind, {m.hidden_size}, m.norm_weight, m.norm_bias, dtype);
}

Tensor norm_at(const char* name, const NormLayer& norm, Tensor x) {
  const Place place(name);
  return norm(std::move(x));
}

}  // namespace trainmem::transformers
