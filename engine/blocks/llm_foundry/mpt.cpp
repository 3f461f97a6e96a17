#include "engine/blocks/llm_foundry/mpt.h"

#include <utility>

#include "engine/blocks/llm_foundry/loop.h"
#include "engine/blocks/transformers/parts.h"
#include "engine/tensor/run.h"

namespace trainmem::llm_foundry {

namespace {

constexpr const char* model_file = "llm-foundry llmfoundry/models/mpt/modeling_mpt.py";
constexpr Rule position_rule{"positions", "positions of the tokens: the position table's gradient is put there",
                             model_file};
constexpr Rule mask_rule{"attention mask", "which tokens are none of padding", model_file};
constexpr Rule padding_rule{"places of the tokens",
                            "where the tokens lie that are no padding: every block's attention takes and puts them",
                            "llm-foundry llmfoundry/models/mpt/modeling_mpt.py: gen_flash_attn_padding_info"};
constexpr Rule slopes_rule{"ALiBi", "slope of every head, for flash attention",
                           "llm-foundry llmfoundry/models/layers/attention.py: gen_slopes"};

/// layers/norm.py: LPLayerNorm. Under autocast its input, weight and bias are cast down, and it runs outside of it.
class LowPrecisionNorm {
 public:
  LowPrecisionNorm() = default;
  LowPrecisionNorm(const Model& m, DType dtype)
      : layer_(NormLayer::Form::layer_norm, {m.hidden_size}, true, m.norm_bias, dtype) {}

  Tensor operator()(const Tensor& x, const char* name) const {
    const Place place(name);
    Autocast& autocast = active_run().autocast;
    if (!autocast.enabled) return layer_(x);
    const Tensor low = to(x, autocast.dtype);
    const Tensor weight = to(layer_.weight, autocast.dtype);
    const Tensor bias = layer_.bias.defined() ? to(layer_.bias, autocast.dtype) : Tensor();
    const Set<Autocast> off(autocast, Autocast{});
    return layer_norm(low, weight, bias);
  }

 private:
  NormLayer layer_;
};

/// layers/attention.py: GroupedQueryAttention with flash_attn_fn.
class Attention {
 public:
  Attention(const Model& m, DType dtype)
      : model_(m),
        query_key_value_(m.hidden_size,
                         (Size(m.num_attention_heads) + Size(2) * Size(m.num_key_value_heads)) * Size(m.head_dim),
                         m.attention_bias, dtype, "query, key and value"),
        output_(Size(m.num_attention_heads) * Size(m.head_dim), m.hidden_size, m.attention_output_bias, dtype,
                "attention projection") {}

  Tensor operator()(const Tensor& x, const BlockInputs& inputs) const {
    const Place place("attention");
    const Size d = model_.head_dim;
    const Size of_query = Size(model_.num_attention_heads) * d;
    const Size of_key = Size(model_.num_key_value_heads) * d;
    const std::vector<Tensor> parts = split(query_key_value_(x), {of_query, of_key, of_key}, 2);
    const Tensor context = attend(parts, inputs.positions);
    return output_(context);
  }

 private:
  /// The tokens that are no padding, of all sequences end to end, go through the kernel: flash_attn/bert_padding.py.
  Tensor attend(const std::vector<Tensor>& parts, const Tensor& places) const {
    const Size b = parts[0].size(0);
    const Size s = parts[0].size(1);
    const Size d = model_.head_dim;
    const auto unpadded = [&](std::size_t part, const char* role) {
      const Size width = parts[part].size(2);
      Tensor rows = index_rows(view(parts[part], {b * s, width}), select(places, 0, Size(std::int64_t(part))), role);
      return transpose(view(std::move(rows), {b, s, width / d, d}), 1, 2);
    };
    const Tensor query = unpadded(0, "query");
    const Tensor key = unpadded(1, "key");
    const Tensor value = unpadded(2, "value");
    ScaledDotProduct call;
    call.grouped = true;
    call.packed = true;
    call.dropout = model_.attention_dropout;
    const Tensor attended = transpose(scaled_dot_product_attention(query, key, value, call), 1, 2);
    const Shape rows{b * s, parts[0].size(2)};
    Tensor padded = put_rows(view(attended, rows), select(places, 0, 0), "attention output among padding");
    return view(std::move(padded), {b, s, rows[1]});
  }

  const Model& model_;
  Linear query_key_value_, output_;
};

/// layers/blocks.py: MPTBlock; layers/ffn.py: MPTMLP.
class Layer : public Block {
 public:
  Layer(const Model& m, DType dtype)
      : model_(m),
        norm_1_(m, dtype),
        attention_(m, dtype),
        norm_2_(m, dtype),
        up_(m.hidden_size, m.intermediate_size, m.mlp_bias, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, m.mlp_bias, dtype, "down") {}

  Tensor forward(Tensor x, const BlockInputs& inputs) override {
    const Tensor normed = norm_1_(x, "norm before attention");
    const Tensor attended = attention_(normed, inputs);
    x = x + dropout(attended, model_.hidden_dropout);
    const Tensor fed = norm_2_(x, "norm before MLP");
    const Tensor n = mlp(fed);
    x = x + dropout(n, model_.hidden_dropout);
    return x;
  }

 private:
  Tensor mlp(const Tensor& x) const {
    const Place place("mlp");
    return down_(transformers::activate(up_(x), model_.hidden_act));
  }

  const Model& model_;
  LowPrecisionNorm norm_1_;
  Attention attention_;
  LowPrecisionNorm norm_2_;
  Linear up_, down_;
};

/// modeling_mpt.py: MPTModel, MPTForCausalLM, whose head is the embedding.
class Mpt : public Architecture {
 public:
  using Architecture::Architecture;

  void make_embedding() override {
    const Place place("embedding");
    embedding_ = make_parameter({model.vocab_size, model.hidden_size}, weights, "token embedding");
  }

  void make_positions() override {
    if (model.positions != Positions::learned) return;
    const Place place("embedding");
    positions_ = make_parameter({model.learned_positions, model.hidden_size}, weights, "position embedding");
  }

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<Layer>(model, weights); }

  void make_head() override {
    const Place place("final norm");
    norm_ = LowPrecisionNorm(model, weights);
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    const Place place("embedding");
    ForwardState state;
    state.inputs.attention = attention;
    state.inputs.mask = allocate(ids.shape(), DType::boolean, {&mask_rule});
    Tensor x = embed(embedding_, ids);
    Tensor places;
    if (positions_.defined()) {
      places = allocate(ids.shape(), DType::int64, {&position_rule});
      const Forward table = [this](const Tensor& at) { return embedding(positions_, at); };
      const Tensor learned = around_positions ? around_positions(places, table) : table(places);
      x = x + learned;
    }
    x = dropout(x, model.embedding_dropout);
    if (model.positions == Positions::alibi)
      state.inputs.alibi = allocate({model.num_attention_heads}, DType::float32, {&slopes_rule});
    state.inputs.positions = allocate({3, ids.elements()}, DType::int64, {&padding_rule});
    note_kept(state.inputs.positions, padding_rule);
    state.hidden = std::move(x);
    state.held = {places};
    return state;
  }

  Tensor end(Tensor hidden) override { return norm_(hidden, "final norm"); }
  Tensor head(Tensor hidden) override { return linear(std::move(hidden), embedding_, {}, "logits"); }
  Tensor head_weight() const override { return embedding_; }
  bool loss_is_outside() const override { return true; }
  Tensor loss(Tensor logits, const Tensor& labels) override { return fused_loss(logits, labels); }

 private:
  Tensor embedding_, positions_;
  LowPrecisionNorm norm_;
};

}  // namespace

bool describes(const Model& m) { return m.model_type == "mpt"; }

std::unique_ptr<Architecture> make_mpt(const Model& model, DType weights) {
  return std::make_unique<Mpt>(model, weights);
}

}  // namespace trainmem::llm_foundry
