#include "engine/blocks/torchtune/decoder.h"

#include <optional>

#include "engine/blocks/torchtune/rope.h"
#include "engine/blocks/transformers/decoder.h"

namespace trainmem::torchtune {

namespace {

using transformers::BlockInputs;
using transformers::Linear;
using transformers::NormLayer;

constexpr Rule buffer_rule{"buffer", "a buffer of the model",
                           "torchtune modules/position_embeddings.py: RotaryPositionalEmbeddings.build_rope_cache"};

bool is_qwen2(const Model& m) { return m.model_type == "qwen2"; }

/// Tables of RoPE for every position.
class RotaryTables {
 public:
  explicit RotaryTables(const Model& m) {
    const Set<Component> component(active_run().component, Component::weights);
    const Size width = m.head_dim;
    const Size positions = m.max_position_embeddings;
    const Shape turns = is_qwen2(m) ? Shape{positions, width * 2} : Shape{positions, width / 2, 2};
    frequencies_ = allocate({width / 2}, DType::float32, {&buffer_rule, "rotary frequencies"});
    table_ = allocate(turns, DType::float32, {&buffer_rule, "rotary tables"});
    note_kept(frequencies_, buffer_rule);
    note_kept(table_, buffer_rule);
  }

  /// Of the first positions, to be broadcast over heads.
  Tensor first(const Size& positions) const {
    const Tensor table = slice(table_, 0, 0, positions);
    return unsqueeze(unsqueeze(table, 1), 0);
  }

 private:
  Tensor frequencies_;
  Tensor table_;
};

/// Builders of models with adapters give every layer tables of its own (models/llama2, llama3, mistral and qwen2,
/// _component_builders.py: lora_*_self_attention), but llama3_1 and llama3_2: Llama with more than 8,192 positions or a
/// tied head.
bool has_tables_in_layers(const Model& m) {
  const bool shared = m.model_type == "llama" && (m.max_position_embeddings > 8192 || m.tie_word_embeddings);
  return active_run().fine_tuning.rank > 0 && !shared;
}

NormLayer norm_layer(const Model& m, DType dtype) {
  return NormLayer(NormLayer::Form::torchtune, {m.hidden_size}, true, false, dtype);
}

Tensor norm_at(const char* name, const NormLayer& layer, const Tensor& x) {
  const Place place(name);
  return layer(x);
}

bool compiled() { return active_run().compiled_region != 0; }

/// modules/attention.py: MultiHeadAttention.
class SelfAttention {
 public:
  SelfAttention(const Model& m, DType dtype) : model_(m) {
    const Size h = m.hidden_size;
    const Size d = m.head_dim;
    const Size a = m.num_attention_heads;
    const Size k = m.num_key_value_heads;
    query_ = Linear(h, a * d, m.attention_bias, dtype, "query");
    key_ = Linear(h, k * d, m.attention_bias, dtype, "key");
    value_ = Linear(h, k * d, m.attention_bias, dtype, "value");
    output_ = Linear(a * d, h, false, dtype, "attention projection");
    if (has_tables_in_layers(m)) tables_.emplace(m);
  }

  Tensor operator()(const Tensor& x, const BlockInputs& inputs) const {
    const Place place("attention");
    const Size d = model_.head_dim;
    const Size a = model_.num_attention_heads;
    const Size k = model_.num_key_value_heads;
    const Size b = x.size(0);
    const Size s = x.size(1);
    const Tensor table = tables_ ? tables_->first(s) : inputs.cos;
    Tensor query = query_(x);
    query = view(query, {b, s, a, d});
    query = turn(query, table);
    query = transpose(query, 1, 2);
    Tensor key = key_(x);
    Tensor value = value_(x);
    key = view(key, {b, s, k, d});
    value = view(value, {b, s, k, d});
    key = turn(key, table);
    key = transpose(key, 1, 2);
    value = transpose(value, 1, 2);
    key = transformers::repeat_kv(key, a / k);
    value = transformers::repeat_kv(value, a / k);
    ScaledDotProduct call;
    call.dropout = model_.attention_dropout;
    call.forced_math = inputs.attention == AttentionKernel::sdpa_math;
    Tensor output = scaled_dot_product_attention(query, key, value, call);
    output = view(contiguous(transpose(output, 1, 2)), {b, s, a * d});
    return output_(output);
  }

 private:
  Tensor turn(const Tensor& x, const Tensor& table) const {
    if (compiled()) return compiled_rotary(x);
    return is_qwen2(model_) ? turn_halves(x, table) : turn_pairs(x, table);
  }

  const Model& model_;
  Linear query_, key_, value_, output_;
  std::optional<RotaryTables> tables_;
};

/// modules/feed_forward.py: FeedForward.
class FeedForward {
 public:
  FeedForward(const Model& m, DType dtype)
      : gate_(m.hidden_size, m.intermediate_size, false, dtype, "gate"),
        down_(m.intermediate_size, m.hidden_size, false, dtype, "down"),
        up_(m.hidden_size, m.intermediate_size, false, dtype, "up") {}

  Tensor operator()(const Tensor& x) const {
    const Place place("mlp");
    if (compiled()) {
      Tensor gate = gate_(x);
      Tensor up = up_(x);
      return down_(compiled_gated_product(std::move(gate), std::move(up)));
    }
    Tensor h = silu(gate_(x));
    h = h * up_(x);
    return down_(h);
  }

 private:
  Linear gate_, down_, up_;
};

/// modules/transformer.py: TransformerSelfAttentionLayer.
class Layer : public transformers::Block {
 public:
  Layer(const Model& m, DType dtype)
      : attention_(m, dtype),
        feed_forward_(m, dtype),
        attention_norm_(norm_layer(m, dtype)),
        mlp_norm_(norm_layer(m, dtype)) {}

  Tensor forward(Tensor x, const BlockInputs& inputs) override {
    Tensor h = norm_at("norm before attention", attention_norm_, x);
    Tensor attended = attention_(h, inputs);
    if (compiled()) {
      h = add_in_place(std::move(attended), x);
      return add_in_place(feed_forward_(norm_at("norm before MLP", mlp_norm_, h)), h);
    }
    h = attended + x;
    Tensor fed = feed_forward_(norm_at("norm before MLP", mlp_norm_, h));
    return h + fed;
  }

 private:
  SelfAttention attention_;
  FeedForward feed_forward_;
  NormLayer attention_norm_, mlp_norm_;
};

/// modules/transformer.py: TransformerDecoder.
class Decoder : public transformers::Decoder {
 public:
  using transformers::Decoder::Decoder;

  void make_buffers() override {
    const Place place("embedding");
    if (!has_tables_in_layers(model)) tables_.emplace(model);
  }

  void make_embedding() override {
    transformers::Decoder::make_embedding();
    make_buffers();
  }

  std::unique_ptr<transformers::Block> make_block(std::int64_t) override {
    return std::make_unique<Layer>(model, weights);
  }

  void make_head() override {
    {
      const Place place("final norm");
      norm_ = norm_layer(model, weights);
    }
    make_language_head();
  }

  transformers::ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    const Place place("embedding");
    return resume(embed(embedding_, ids), attention);
  }

  transformers::ForwardState resume(Tensor hidden, AttentionKernel attention) override {
    transformers::ForwardState state;
    if (tables_) state.inputs.cos = tables_->first(hidden.size(1));
    state.inputs.attention = attention;
    state.hidden = std::move(hidden);
    return state;
  }

  bool loss_is_outside() const override { return true; }

  /// recipes/full_finetune_single_device.py: _loss_step. Shifted labels take the place of the labels.
  Tensor loss(Tensor logits, const Tensor& labels) override {
    return cross_entropy(view(logits, {labels.elements(), logits.size(-1)}), labels);
  }

 private:
  std::optional<RotaryTables> tables_;
};

}  // namespace

bool describes(const Model& m) {
  const bool known = m.model_type == "llama" || m.model_type == "mistral" || m.model_type == "qwen2";
  return known && m.norm == Norm::rmsnorm && m.norm_placement == NormPlacement::pre && m.gated_mlp &&
         m.hidden_act == Activation::silu && m.positions == Positions::rope && m.partial_rotary_factor == 1.0 &&
         m.attention_bias == is_qwen2(m) && !m.attention_output_bias && !m.mlp_bias && !m.lm_head_bias &&
         m.qk_norm == QkNorm::none && m.experts.num_experts == 0 && m.latent_attention.kv_lora_rank == 0 &&
         m.nope_every == 0 && m.hidden_dropout == 0;
}

std::unique_ptr<transformers::Architecture> make_decoder(const Model& model, DType weights) {
  return std::make_unique<Decoder>(model, weights);
}

}  // namespace trainmem::torchtune
