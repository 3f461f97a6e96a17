// Three of four layers attend within chunks and turn query and key as complex numbers in fp32; each fourth attends to
// everything, has no positions and scales its queries. Experts run on all tokens at once: every token is repeated for
// every expert and multiplied with its score, which is zero for the experts that were not chosen.
#include "engine/blocks/transformers/llama4.h"

#include "engine/blocks/transformers/rotary.h"

namespace trainmem::transformers {

namespace {

constexpr Rule scale_rule{"attention scales", "a number for every position: the gradient of the queries needs it",
                          "transformers models/llama4/modeling_llama4.py: attn_temperature_tuning"};
constexpr Rule scores_rule{"router scores", "which experts were chosen: the gradient of their scores needs it",
                           "derivatives.yaml: scatter_.src"};

/// Llama4TextL2Norm: written out, without weight.
Tensor unit_norm(const Tensor& x) {
  const Tensor wide = to(x, DType::float32);
  const Tensor inverse = rsqrt(add_number(mean_last(square(wide))));
  return to(wide * inverse, x.dtype());
}

class Llama4Attention : public AttentionPart {
 public:
  Llama4Attention(const Model& m, DType dtype, std::int64_t layer)
      : model_(m), turns_(m.nope_every <= 0 || (layer + 1) % m.nope_every != 0), slides_(slides(m, layer)) {
    const Size h = m.hidden_size;
    const Size a = m.num_attention_heads;
    const Size k = m.num_key_value_heads;
    const Size d = m.head_dim;
    query_ = Linear(h, a * d, m.attention_bias, dtype, "query");
    key_ = Linear(h, k * d, m.attention_bias, dtype, "key");
    value_ = Linear(h, k * d, m.attention_bias, dtype, "value");
    output_ = Linear(a * d, h, m.attention_output_bias, dtype, "attention projection");
  }

  Tensor operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const override {
    const Place place("attention");
    const Size d = model_.head_dim;
    const auto heads = [&](Tensor x, const Size& count) {
      return view(std::move(x), {hidden.size(0), hidden.size(1), count, d});
    };
    Tensor q = heads(query_(hidden), model_.num_attention_heads);
    Tensor k = heads(key_(hidden), model_.num_key_value_heads);
    const Tensor v = transpose(heads(value_(hidden), model_.num_key_value_heads), 1, 2);
    if (turns_) {
      apply_rotary_complex(q, k, inputs.cos, 2);
      if (model_.qk_norm != QkNorm::none) {
        q = unit_norm(q);
        k = unit_norm(k);
      }
    } else {
      const Tensor scales = allocate({1, hidden.size(1), 1, 1}, DType::float32, {&scale_rule});
      q = to(q * scales, q.dtype(), "query");
    }
    q = transpose(std::move(q), 1, 2);
    k = transpose(std::move(k), 1, 2);
    AttentionOptions options;
    options.dropout = model_.attention_dropout;
    options.plain_softmax = true;  // models/llama4/modeling_llama4.py: eager_attention_forward
    options.window = slides_ ? model_.sliding_window : 0;
    Tensor out = attention(q, k, v, inputs.mask, inputs.attention, options, weights);
    out = reshape(std::move(out), {hidden.size(0), hidden.size(1), Size(model_.num_attention_heads) * d});
    return output_(std::move(out));
  }

 private:
  const Model& model_;
  bool turns_;   ///< has positions
  bool slides_;  ///< attends within chunks
  Linear query_, key_, value_, output_;
};

/// torch.full_like(logits, -inf).scatter_(1, experts, values).
Tensor scattered(const Tensor& values, const Tensor& experts, const Shape& shape) {
  const Ref<Node> node = begin_node(scores_rule, {&values});
  keep(node, experts);
  Tensor result = allocate(shape, values.dtype(), {&scores_rule, "router scores"});
  if (node)
    node->backward = [of = values.shape()](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(of, b.gradient().dtype(), {&scores_rule}));
    };
  finish_node(node, result);
  return result;
}

class Llama4Experts : public FeedForwardPart {
 public:
  Llama4Experts(const Model& m, const LlamaForm& form, DType dtype) : model_(m) {
    const Size n = m.experts.num_experts;
    const Size h = m.hidden_size;
    const Size i = m.experts.moe_intermediate_size;
    gate_up_ = make_parameter({n, h, Size(2) * i}, dtype, "expert gate and up");
    down_ = make_parameter({n, i, h}, dtype, "expert down");
    router_ = Linear(h, n, false, dtype, "router logits");
    shared_ = std::make_unique<FeedForward>(m, form, dtype, i);
  }

  Tensor operator()(const Tensor& x) const override {
    const Size n = model_.experts.num_experts;
    const Size h = model_.hidden_size;
    const Size tokens = x.size(0) * x.size(1);
    const Tensor flat = reshape(x, {tokens, h});
    Tensor scores, logits;
    {
      const Place place("router");
      logits = router_(flat);
      const Chosen top = top_k(logits, model_.experts.num_experts_per_tok);
      scores = scattered(top.values, top.indices, logits.shape());
      scores = to(sigmoid(to(scores, DType::float32)), scores.dtype());
    }
    const Tensor copies = scored_copies(flat, scores);  // held to the end, as the variable routed_in
    Tensor routed = all_experts(view(copies, {n, tokens, h}));
    Tensor out;
    {
      const Place place("shared expert");
      out = (*shared_)(flat);
    }
    out = add_in_place(std::move(out), sum(view(std::move(routed), {n, tokens, h}), 0));
    return view(std::move(out), x.shape());
  }

 private:
  /// Every token for every expert, times the expert's score for it.
  Tensor scored_copies(const Tensor& flat, const Tensor& scores) const {
    const Place place("experts");
    const Size n = model_.experts.num_experts;
    const Size tokens = flat.size(0);
    Tensor repeated = contiguous(expand(unsqueeze(flat, 0), {n, tokens, flat.size(1)}), "tokens for every expert");
    repeated = view(std::move(repeated), {n * tokens, flat.size(1)});
    const Tensor column = reshape(transpose(scores, 0, 1), {n * tokens, 1});
    return multiply(std::move(repeated), column, "scored tokens for every expert");
  }

  Tensor all_experts(const Tensor& copies) const {
    const Place place("experts");
    const Size i = model_.experts.moe_intermediate_size;
    const Tensor gate_up = bmm(copies, gate_up_, "expert gate and up");
    const std::vector<Tensor> halves = split(gate_up, {i, i}, -1);
    Tensor active = activate(halves[0], model_.hidden_act);
    active = halves[1] * std::move(active);
    Tensor out = bmm(std::move(active), down_, "expert down");
    return view(std::move(out), {copies.size(0) * copies.size(1), copies.size(2)});
  }

  const Model& model_;
  Tensor gate_up_, down_;
  Linear router_;
  std::unique_ptr<FeedForward> shared_;
};

}  // namespace

std::unique_ptr<AttentionPart> make_llama4_attention(const Model& m, const LlamaForm&, DType dtype,
                                                     std::int64_t layer) {
  return std::make_unique<Llama4Attention>(m, dtype, layer);
}

std::unique_ptr<FeedForwardPart> make_llama4_experts(const Model& m, const LlamaForm& form, DType dtype) {
  return std::make_unique<Llama4Experts>(m, form, dtype);
}

}  // namespace trainmem::transformers
