#include "engine/blocks/torchtitan/llama.h"

#include <optional>

#include "engine/blocks/torchtitan/deepseek.h"
#include "engine/blocks/torchtitan/experts.h"
#include "engine/blocks/torchtitan/grouped_attention.h"
#include "engine/blocks/torchtitan/rope.h"
#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/rotary.h"
#include "engine/parallel/context.h"
#include "engine/parameters/parameters.h"
#include "engine/tensor/float8.h"

namespace trainmem::torchtitan {

namespace {

constexpr Rule buffer_rule{"buffer", "a buffer of the model", "torchtitan models/llama3/model/model.py: freqs_cis"};

/// repeat_kv: (b, s, k, d) to (b, s, k * times, d).
Tensor repeat_heads(const Tensor& x, const Size& times) {
  if (times == 1) return x;
  const Shape& s = x.shape();
  return reshape(expand(unsqueeze(x, 3), {s[0], s[1], s[2], times, s[3]}), {s[0], s[1], s[2] * times, s[3]});
}

class TransformerBlock : public Block {
 public:
  TransformerBlock(const Model& m, DType dtype, const Form& form, std::int64_t layer)
      : model_(m), float8_(form.float8), repeats_heads_(form.release == TorchtitanRelease::before_0_2_2) {
    const Size h = m.hidden_size;
    if (form.today())
      grouped_.emplace(m, dtype, form);
    else
      make_attention(dtype, form.norm);
    if (layer_kind(m, layer).experts) {
      experts_.emplace(m, dtype);
    } else {
      gate_ = Linear(h, m.intermediate_size, false, dtype, "gate");
      down_ = Linear(m.intermediate_size, h, false, dtype, "down");
      up_ = Linear(h, m.intermediate_size, false, dtype, "up");
    }
    attention_norm_ = NormLayer(form.norm, {h}, true, false, dtype);
    mlp_norm_ = NormLayer(form.norm, {h}, true, false, dtype);
  }

  Tensor forward(Tensor x, const BlockInputs& inputs) override {
    if (experts_) experts_->note_router();
    Tensor h = attend(attention_norm_.at("norm before attention", x), inputs);
    h = add_to(x, std::move(h), false);
    Tensor fed = experts_or_mlp(mlp_norm_.at("norm before MLP", h));
    return add_to(h, std::move(fed), true);
  }

 private:
  void make_attention(DType dtype, NormLayer::Form norm) {
    const Size h = model_.hidden_size;
    const Size d = model_.head_dim;
    const Size a = model_.num_attention_heads;
    const Size k = model_.num_key_value_heads;
    query_ = Linear(h, a * d, false, dtype, "query");
    key_ = Linear(h, k * d, false, dtype, "key");
    value_ = Linear(h, k * d, false, dtype, "value");
    output_ = Linear(a * d, h, false, dtype, "attention projection");
    if (turns_halves(model_)) {
      query_norm_ = NormLayer(norm, {d}, true, false, dtype);
      key_norm_ = NormLayer(norm, {d}, true, false, dtype);
    }
  }

  static bool compiled() { return active_run().compiled_region != 0; }

  /// `last`: the sum is what the block returns.
  static Tensor add_to(const Tensor& residual, Tensor x, bool last) {
    return compiled() ? compiled_residual_sum(residual, std::move(x), 0.0, last) : residual + std::move(x);
  }

  Tensor attend(const Tensor& x, const BlockInputs& inputs) const {
    return grouped_ ? (*grouped_)(x) : attention(x, inputs);
  }

  Tensor attention(const Tensor& given, const BlockInputs& inputs) const {
    const Place place("attention");
    const Tensor x = gather_sequence(given);
    const Size d = model_.head_dim;
    const Size a = model_.num_attention_heads;
    const Size k = model_.num_key_value_heads;
    const Size b = x.size(0);
    const Size s = x.size(1);
    Tensor q = product(query_, x);
    Tensor key = product(key_, x);
    Tensor value = product(value_, x);
    q = view(q, {b, s, a, d});
    key = view(key, {b, s, k, d});
    value = view(value, {b, s, k, d});
    if (turns_halves(model_)) {
      q = query_norm_(q);
      key = key_norm_(key);
    }
    if (turns_halves(model_) && !compiled()) {
      turn_halves(q, key, inputs.cos, inputs.sin);
    } else {
      Tensor turned = compiled() ? compiled_rotary(q) : turn(q, inputs.cos);
      key = compiled() ? compiled_rotary(key) : turn(key, inputs.cos);
      q = std::move(turned);
    }
    const Size times = repeats_heads_ ? a / k : Size(1);
    const Tensor keys = repeat_heads(key, times);
    const Tensor values = repeat_heads(value, times);
    q = transpose(q, 1, 2);
    key = transpose(keys, 1, 2);
    value = transpose(values, 1, 2);
    const ContextParallel& context = active_run().settings.context_parallel;
    ScaledDotProduct options;
    options.grouped = !repeats_heads_ && a != k;
    Tensor out = context.size > 1 ? ring_attention(q, key, value, context.size, context.method)
                                  : scaled_dot_product_attention(q, key, value, options);
    out = contiguous(transpose(out, 1, 2));
    out = view(out, {b, s, a * d});
    return product(output_, out);
  }

  Tensor experts_or_mlp(const Tensor& x) const { return experts_ ? (*experts_)(x) : feed_forward(x); }

  Tensor feed_forward(const Tensor& given) const {
    const Place place("mlp");
    const Tensor x = gather_sequence(given);
    if (compiled()) {
      Tensor gate = product(gate_, x);
      Tensor up = product(up_, x);
      return product(down_, compiled_gated_product(std::move(gate), std::move(up)));
    }
    Tensor gate = silu(gate_(x));
    return down_(std::move(gate) * up_(x));
  }

  /// Linear layers of the blocks multiply in fp8, the head does not (torchtitan components/quantization/float8.py).
  /// Beside tensor parallelism they scale by row, and what is gathered has 16 bits (parallelize.py: apply_tp).
  Tensor product(const Linear& layer, Tensor x) const {
    if (!float8_) return layer(std::move(x));
    if (layer.split == WeightSplit::columns) x = column_input(std::move(x));
    Tensor result = float8_linear(std::move(x), layer.weight, layer.role);
    return layer.split == WeightSplit::rows ? reduce_rows(std::move(result)) : result;
  }

  const Model& model_;
  bool float8_;
  bool repeats_heads_;
  std::optional<GroupedAttention> grouped_;  ///< today's
  Linear query_, key_, value_, output_, gate_, down_, up_;
  NormLayer query_norm_, key_norm_, attention_norm_, mlp_norm_;
  std::optional<Experts> experts_;
};

class Llama : public Architecture {
 public:
  Llama(const Model& description, DType dtype, const Form& form) : Architecture(description, dtype), form_(form) {}

  void make_buffers() override {
    if (form_.today()) return;  // every layer has its own
    // Complex numbers of fp32 for every position: as many bytes as fp32 of the head's width; or cos and sin of it.
    const Place place("embedding", Component::weights);
    const Size width = transformers::turning_width(model);
    const Shape table{model.max_position_embeddings, turns_halves(model) ? 2 * width : width};
    frequencies_ = allocate(table, DType::float32, {&buffer_rule, "rotary frequencies"});
    note_kept(frequencies_, buffer_rule);
  }

  void make_embedding() override {
    const Place place("embedding");
    make_buffers();
    embedding_ = make_parameter({model.vocab_size, model.hidden_size}, weights, "token embedding");
  }

  std::unique_ptr<Block> make_block(std::int64_t layer) override {
    if (model.latent_attention.kv_lora_rank > 0) return make_deepseek_block(model, weights, form_, layer);
    return std::make_unique<TransformerBlock>(model, weights, form_, layer);
  }

  void make_head() override {
    {
      const Place place("final norm");
      norm_ = NormLayer(form_.norm, {model.hidden_size}, true, false, weights);
    }
    const Place place("head");
    output_ = Linear(model.hidden_size, model.vocab_size, false, weights, "logits");
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    const Place place("embedding");
    // distributed batches are folded since August 2026 (73aed7f6c): all sequences of a micro-batch are one.
    const Tensor tokens = form_.today() ? view(ids, {1, ids.elements()}) : ids;
    state.hidden = embed(embedding_, tokens);
    set_inputs(state, tokens.size(1), attention);
    return state;
  }

  ForwardState resume(Tensor hidden, AttentionKernel attention) override {
    ForwardState state;
    const TensorParallel& tensor = active_run().settings.tensor_parallel;
    const Size whole = tensor.sequence ? hidden.size(1) * Size(tensor.size) : hidden.size(1);
    set_inputs(state, whole, attention);
    if (form_.today()) hidden = view(hidden, {1, hidden.elements() / hidden.size(-1), hidden.size(-1)});
    state.hidden = std::move(hidden);
    return state;
  }

  Tensor end(Tensor hidden) override { return norm_.at("final norm", std::move(hidden)); }

  Tensor head(Tensor hidden) override { return language_head(output_, std::move(hidden)); }
  Tensor head_weight() const override { return output_.weight; }

  bool loss_is_outside() const override { return true; }

  // torchtitan/components/loss.py: cross_entropy_loss. The labels come shifted from the data loader.
  Tensor loss(Tensor logits, const Tensor& labels) override { return loop_loss(logits, labels); }

 private:
  void set_inputs(ForwardState& state, Size s, AttentionKernel attention) const {
    state.inputs.attention = attention;
    if (form_.today()) return;
    const Size width = transformers::turning_width(model);
    Tensor table = slice(frequencies_, 0, 0, s);
    if (turns_halves(model)) {
      table = unsqueeze(unsqueeze(std::move(table), 1), 0);
      state.inputs.cos = slice(table, -1, 0, width);
      state.inputs.sin = slice(table, -1, width, 2 * width);
    } else {
      state.inputs.cos = view(std::move(table), {1, s, 1, width});
    }
  }

  Form form_;
  Tensor frequencies_;
  Tensor embedding_;
  NormLayer norm_;
  Linear output_;
};

}  // namespace

namespace {

/// models/qwen3/model.py. Of its experts there are no shared ones.
bool is_qwen3(const Model& m) {
  return (m.model_type == "qwen3" || m.model_type == "qwen3_moe") && m.qk_norm == QkNorm::per_head &&
         m.latent_attention.kv_lora_rank == 0 && m.sliding_window == 0;
}

/// Llama 3, and DeepSeek V3 with or without experts.
bool has_plain_heads(const Model& m) {
  return m.qk_norm == QkNorm::none && (m.latent_attention.kv_lora_rank > 0 || m.experts.num_experts == 0);
}

}  // namespace

bool describes(const Model& m) {
  return m.norm == Norm::rmsnorm && m.norm_placement == NormPlacement::pre && m.gated_mlp &&
         m.hidden_act == Activation::silu && m.positions == Positions::rope && m.partial_rotary_factor == 1.0 &&
         !m.attention_bias && !m.attention_output_bias && !m.mlp_bias && !m.lm_head_bias && !m.parallel_attention_mlp &&
         !m.tie_word_embeddings && (is_qwen3(m) || has_plain_heads(m));
}

std::unique_ptr<Architecture> make_llama(const Model& model, DType weights, const Recipe& recipe) {
  Form form;
  form.norm = recipe.fused_norm ? NormLayer::Form::fused : NormLayer::Form::torchtitan;
  form.float8 = recipe.precision == Precision::fp8;
  form.release = recipe.torchtitan_release;
  form.documents = recipe.micro_batch_size;
  form.positions = recipe.sequence_length;  // models/common/decoder.py: Decoder.Config.update_from_config
  return std::make_unique<Llama>(model, weights, form);
}

}  // namespace trainmem::torchtitan
