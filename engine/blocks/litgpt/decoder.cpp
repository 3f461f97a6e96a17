#include "engine/blocks/litgpt/decoder.h"

#include <optional>

#include "engine/blocks/litgpt/lora.h"
#include "engine/blocks/litgpt/loss.h"
#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/rotary.h"

namespace trainmem::litgpt {

namespace {

constexpr Rule buffer_rule{"buffer", "a buffer of the model", "litgpt/model.py: build_rope_cache"};

bool is_gemma(const Model& m) { return m.model_type == "gemma"; }

/// Phi-2 and Falcon 7B: attention and MLP take the same normed input (shared_attention_norm).
bool shares_norm(const Model& m) {
  return m.parallel_attention_mlp && m.model_type != "gpt_neox" && m.norms_per_layer == 1;
}

/// Layer norm in one kernel, or RMSNorm, which model.py writes out in fp32.
class NormModule {
 public:
  NormModule() = default;
  NormModule(const Model& m, DType dtype)
      : layer_(NormLayer::Form::layer_norm, {m.hidden_size}, true, m.norm_bias, dtype),
        rms_(m.norm == Norm::rmsnorm),
        unit_offset_(is_gemma(m)) {}

  Tensor operator()(const Tensor& x, const char* name) const {
    const Place place(name);
    if (!rms_) return layer_(x);
    const Tensor hidden = to(x, DType::float32);
    const Tensor variance = mean_last(hidden * hidden);
    const Tensor normed = hidden * rsqrt(add_number(variance));
    const Tensor weight = unit_offset_ ? add_number(layer_.weight) : layer_.weight;
    return to(normed * to(weight, DType::float32), x.dtype());
  }

 private:
  NormLayer layer_;
  bool rms_ = false;
  bool unit_offset_ = false;
};

/// model.py: apply_rope. x (b, heads, s, n), tables (1, 1, s, n).
Tensor apply_rope(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const Tensor rotated = transformers::rotate_half(x);
  Tensor straight = x * cos;
  Tensor across = rotated * sin;
  const Tensor roped = std::move(straight) + std::move(across);
  return to(roped, x.dtype());
}

/// x.repeat_interleave(times, dim=1), always a copy: aten/src/ATen/native/Repeat.cpp, repeat_interleave_symint.
Tensor repeat_interleave(const Tensor& x, const Size& times) {
  if (times == 1) return x;
  const Shape& s = x.shape();
  Tensor repeated = contiguous(expand(unsqueeze(x, 2), {s[0], s[1], times, s[2], s[3]}));
  return view(std::move(repeated), {s[0], s[1] * times, s[2], s[3]});
}

/// model.py: CausalSelfAttention.
class SelfAttention {
 public:
  SelfAttention(const Model& m, DType dtype)
      : model_(m),
        qkv_(m, dtype),
        projection_(Size(m.num_attention_heads) * Size(m.head_dim), m.hidden_size, m.attention_output_bias, dtype,
                    "attention projection") {}

  Tensor operator()(const Tensor& x, const BlockInputs& inputs) const {
    const Place place("attention");
    const Size d = model_.head_dim;
    const Size a = model_.num_attention_heads;
    const Size k = model_.num_key_value_heads;
    const Size b = x.size(0);
    const Size s = x.size(1);
    const Size n = inputs.cos.size(-1);
    const Tensor together = qkv_(x);
    Tensor query;
    Tensor key;
    Tensor value;
    {
      const std::vector<Tensor> parts = split(together, {a * d, k * d, k * d}, -1);
      query = transpose(view(parts[0], {b, s, a, d}), 1, 2);
      key = transpose(view(parts[1], {b, s, k, d}), 1, 2);
      value = transpose(view(parts[2], {b, s, k, d}), 1, 2);
    }
    const Tensor query_roped = apply_rope(slice(query, -1, 0, n), inputs.cos, inputs.sin);
    const Tensor key_roped = apply_rope(slice(key, -1, 0, n), inputs.cos, inputs.sin);
    query = concatenate({query_roped, slice(query, -1, n, d)}, -1, "query");
    key = concatenate({key_roped, slice(key, -1, n, d)}, -1, "key");
    key = repeat_interleave(key, a / k);
    value = repeat_interleave(value, a / k);
    ScaledDotProduct call;
    call.forced_math = inputs.attention == AttentionKernel::sdpa_math;
    Tensor output = transpose(scaled_dot_product_attention(query, key, value, call), 1, 2);
    output = reshape(std::move(output), {b, s, a * d});
    return projection_(output);
  }

 private:
  const Model& model_;
  QueryKeyValue qkv_;
  Linear projection_;
};

/// model.py: GptNeoxMLP, LLaMAMLP and GemmaMLP.
class Mlp {
 public:
  Mlp(const Model& m, DType dtype) : gated_(m.gated_mlp), silu_(m.hidden_act == Activation::silu) {
    if (gated_) gate_ = Linear(m.hidden_size, m.intermediate_size, m.mlp_bias, dtype, "gate");
    up_ = Linear(m.hidden_size, m.intermediate_size, m.mlp_bias, dtype, "up");
    down_ = Linear(m.intermediate_size, m.hidden_size, m.mlp_bias, dtype, "down");
  }

  Tensor operator()(const Tensor& x) const {
    const Place place("mlp");
    if (!gated_) {
      Tensor h = up_(x);
      h = gelu(h);
      return down_(h);
    }
    const Tensor gate = gate_(x);
    const Tensor up = up_(x);
    Tensor activated = silu_ ? silu(gate) : gelu(gate);
    const Tensor h = std::move(activated) * up;
    return down_(h);
  }

 private:
  bool gated_;
  bool silu_;
  Linear gate_, up_, down_;
};

/// model.py: Block.
class Layer : public Block {
 public:
  Layer(const Model& m, DType dtype)
      : parallel_(m.parallel_attention_mlp), norm_1_(m, dtype), attention_(m, dtype), shared_(shares_norm(m)) {
    if (!shared_) norm_2_ = NormModule(m, dtype);
    mlp_.emplace(m, dtype);
  }

  Tensor forward(Tensor x, const BlockInputs& inputs) override {
    const Tensor given = x;
    Tensor normed = norm_1_(x, "norm before attention");
    const Tensor attended = attention_(normed, inputs);
    if (parallel_) {
      if (!shared_) normed = norm_2_(x, "norm before MLP");
      x = attended + x;
    } else {
      x = attended + x;
      normed = norm_2_(x, "norm before MLP");
    }
    Tensor fed = (*mlp_)(normed);
    return std::move(fed) + x;
  }

 private:
  bool parallel_;
  NormModule norm_1_, norm_2_;
  SelfAttention attention_;
  bool shared_;
  std::optional<Mlp> mlp_;
};

/// model.py: GPT. The head is made first.
class Decoder : public Architecture {
 public:
  Decoder(const Model& m, DType dtype, const Recipe& recipe)
      : Architecture(m, dtype),
        longest_(recipe.sequence_length),
        chunked_(recipe.loss == Loss::chunked),
        chunked_head_(chunked_ && recipe.lora.rank > 0) {}

  void make_embedding() override {
    {
      const Place place("head");
      head_ = Linear(model.hidden_size, model.vocab_size, model.lm_head_bias, weights, "logits");
    }
    const Place place("embedding");
    embedding_ = make_parameter({model.vocab_size, model.hidden_size}, weights, "token embedding");
    make_buffers();
  }

  /// The model is cast as a whole (lightning fabric/plugins/precision/half.py: convert_module); tables for another
  /// length, the longest sequence's, are made afterwards, in fp32 (finetune/full.py: fit).
  void make_buffers() override {
    const Set<Component> component(active_run().component, Component::weights);
    const Size n = transformers::turning_width(model);
    const bool cast = longest_ == model.max_position_embeddings;
    for (Tensor* table : {&cos_, &sin_}) {
      *table = allocate({longest_, n}, cast ? weights : DType::float32, {&buffer_rule, "rotary tables"});
      note_kept(*table, buffer_rule);
    }
  }

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<Layer>(model, weights); }

  void make_head() override {
    const Place place("final norm");
    norm_ = NormModule(model, weights);
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    const Place place("embedding");
    Tensor x = embed(embedding_, ids);
    if (is_gemma(model)) x = multiply_number(x);  // scale_embeddings
    return resume(std::move(x), attention);
  }

  ForwardState resume(Tensor hidden, AttentionKernel attention) override {
    ForwardState state;
    const auto first = [&](const Tensor& table) {
      return unsqueeze(unsqueeze(slice(table, 0, 0, hidden.size(1)), 0), 0);
    };
    state.inputs.cos = first(cos_);
    state.inputs.sin = first(sin_);
    state.inputs.attention = attention;
    state.hidden = std::move(hidden);
    return state;
  }

  Tensor end(Tensor hidden) override { return norm_(hidden, "final norm"); }

  Tensor head(Tensor hidden) override {
    if (!chunked_head_) return head_(std::move(hidden));
    std::vector<Tensor> chunks;
    {
      std::vector<Size> sizes;
      for (Size left = hidden.size(1); left > 0; left = left - sizes.back())
        sizes.push_back(left > chunk_size ? Size(chunk_size) : left);
      for (const Tensor& part : split(hidden, sizes, 1))
        chunks.push_back(sizes.size() == 1 ? head_(part) : logits_of(part));
    }
    chunks_ = std::move(chunks);  // the last micro-batch's list lives until this one has taken its place
    return {};
  }

  bool loss_is_outside() const override { return true; }

  Tensor loss(Tensor logits, const Tensor& labels) override {
    if (chunked_head_) return loss_of_head_chunks(chunks_, labels);
    return chunked_ ? loss_of_chunks(logits, labels) : loss_of_whole(logits, labels);
  }

 private:
  /// torch.matmul of what is not contiguous with a frozen weight is one of batches, and copies nothing
  /// (aten/src/ATen/native/LinearAlgebra.cpp: should_fold).
  Tensor logits_of(const Tensor& part) const {
    const Tensor weight = transpose(autocast_low(head_.weight), 0, 1);
    const Tensor of_each = expand(unsqueeze(weight, 0), {part.size(0), weight.size(0), weight.size(1)});
    Tensor logits = bmm(part, of_each, "logits");
    return head_.bias.defined() ? add_in_place(std::move(logits), head_.bias) : logits;
  }

  std::int64_t longest_;  ///< sequence
  bool chunked_;
  bool chunked_head_;
  Linear head_;
  Tensor embedding_, cos_, sin_;
  NormModule norm_;
  std::vector<Tensor> chunks_;
};

}  // namespace

bool describes(const Model& m) {
  const bool llama = (m.model_type == "llama" || m.model_type == "mistral" || is_gemma(m)) && m.norm == Norm::rmsnorm &&
                     m.gated_mlp && !m.parallel_attention_mlp;
  const bool neox = (m.model_type == "gpt_neox" || m.model_type == "phi" || m.model_type == "falcon") &&
                    m.norm == Norm::layernorm && !m.gated_mlp;
  return (llama || neox) && m.norm_placement == NormPlacement::pre && m.positions == Positions::rope &&
         m.attention_bias == m.attention_output_bias && m.attention_bias == m.mlp_bias && m.qk_norm == QkNorm::none &&
         m.experts.num_experts == 0 && m.latent_attention.kv_lora_rank == 0 && m.attn_logit_softcapping == 0 &&
         m.final_logit_softcapping == 0;
}

std::unique_ptr<Architecture> make_decoder(const Model& model, DType weights, const Recipe& recipe) {
  return std::make_unique<Decoder>(model, weights, recipe);
}

}  // namespace trainmem::litgpt
