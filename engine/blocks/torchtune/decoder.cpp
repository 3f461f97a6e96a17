#include "engine/blocks/torchtune/decoder.h"

#include <optional>

#include "engine/blocks/torchtune/attention.h"
#include "engine/blocks/transformers/decoder.h"

namespace trainmem::torchtune {

namespace {

bool is_gemma(const Model& m) { return m.model_type == "gemma" || m.model_type == "gemma2"; }

NormLayer norm_layer(const Model& m, DType dtype) {
  const auto form = is_gemma(m) ? NormLayer::Form::gemma : NormLayer::Form::torchtune;
  return NormLayer(form, {m.hidden_size}, true, false, dtype);
}

Tensor norm_at(const char* name, const NormLayer& layer, const Tensor& x) {
  const Place place(name);
  return layer(x);
}

bool compiled() { return active_run().compiled_region != 0; }

/// modules/feed_forward.py: FeedForward.
class FeedForward {
 public:
  FeedForward(const Model& m, DType dtype)
      : gate_(m.hidden_size, m.intermediate_size, false, dtype, "gate"),
        down_(m.intermediate_size, m.hidden_size, false, dtype, "down"),
        up_(m.hidden_size, m.intermediate_size, false, dtype, "up"),
        gelu_(is_gemma(m)) {}

  Tensor operator()(const Tensor& x) const {
    const Place place("mlp");
    if (compiled()) {
      Tensor gate = gate_(x);
      Tensor up = up_(x);
      return down_(compiled_gated_product(std::move(gate), std::move(up)));
    }
    Tensor h = gelu_ ? gelu(gate_(x)) : silu(gate_(x));
    h = h * up_(x);
    return down_(h);
  }

 private:
  Linear gate_, down_, up_;
  bool gelu_;
};

/// modules/transformer.py: TransformerSelfAttentionLayer.
class Layer : public Block {
 public:
  Layer(const Model& m, DType dtype, std::int64_t layer)
      : attention_(m, dtype, layer),
        feed_forward_(m, dtype),
        attention_norm_(norm_layer(m, dtype)),
        mlp_norm_(norm_layer(m, dtype)) {
    if (m.norm_placement != NormPlacement::pre_and_post) return;
    attention_scale_ = norm_layer(m, dtype);
    mlp_scale_ = norm_layer(m, dtype);
  }

  Tensor forward(Tensor x, const BlockInputs& inputs) override {
    Tensor h = norm_at("norm before attention", attention_norm_, x);
    Tensor attended = attention_(h, inputs);
    if (compiled()) {
      h = add_in_place(std::move(attended), x);
      return add_in_place(feed_forward_(norm_at("norm before MLP", mlp_norm_, h)), h);
    }
    h = scaled("norm after attention", attention_scale_, attended) + x;
    Tensor fed = feed_forward_(norm_at("norm before MLP", mlp_norm_, h));
    return h + scaled("norm after MLP", mlp_scale_, fed);
  }

 private:
  static Tensor scaled(const char* name, const std::optional<NormLayer>& layer, const Tensor& x) {
    return layer ? norm_at(name, *layer, x) : x;
  }

  SelfAttention attention_;
  FeedForward feed_forward_;
  NormLayer attention_norm_, mlp_norm_;
  std::optional<NormLayer> attention_scale_, mlp_scale_;
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

  std::unique_ptr<Block> make_block(std::int64_t layer) override {
    return std::make_unique<Layer>(model, weights, layer);
  }

  void make_head() override {
    {
      const Place place("final norm");
      norm_ = norm_layer(model, weights);
    }
    make_language_head();
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    const Place place("embedding");
    Tensor embedded = embed(embedding_, ids);
    if (is_gemma(model)) embedded = multiply_number(std::move(embedded));  // gemma_norm_embedding.py
    return resume(std::move(embedded), attention);
  }

  ForwardState resume(Tensor hidden, AttentionKernel attention) override {
    ForwardState state;
    if (tables_) state.inputs.cos = tables_->first(hidden.size(1));
    state.inputs.attention = attention;
    state.hidden = std::move(hidden);
    return state;
  }

  Tensor end(Tensor hidden) override {
    Tensor normed = transformers::Decoder::end(std::move(hidden));
    if (model.model_type != "gemma2") return normed;
    // models/gemma2/_component_builders.py: Gemma2FinalNorm caps what the head is given, not the logits.
    const Place place("final norm");
    Tensor capped = multiply_number(normed);
    capped = tanh(capped);
    capped = multiply_number(capped);
    return capped;
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
  const bool gemma = is_gemma(m);
  const bool known = m.model_type == "llama" || m.model_type == "mistral" || m.model_type == "qwen2" ||
                     m.model_type == "phi3" || gemma;
  const NormPlacement placement = m.model_type == "gemma2" ? NormPlacement::pre_and_post : NormPlacement::pre;
  return known && m.norm == Norm::rmsnorm && m.norm_placement == placement && m.gated_mlp &&
         m.hidden_act == (gemma ? Activation::gelu_pytorch_tanh : Activation::silu) && m.positions == Positions::rope &&
         m.partial_rotary_factor == 1.0 && m.attention_bias == (m.model_type == "qwen2") && !m.attention_output_bias &&
         !m.mlp_bias && !m.lm_head_bias && m.qk_norm == QkNorm::none && m.experts.num_experts == 0 &&
         m.latent_attention.kv_lora_rank == 0 && m.nope_every == 0 && m.hidden_dropout == 0;
}

std::unique_ptr<Architecture> make_decoder(const Model& model, DType weights) {
  return std::make_unique<Decoder>(model, weights);
}

}  // namespace trainmem::torchtune
