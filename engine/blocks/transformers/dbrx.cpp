// The block of DBRX: models/dbrx/modeling_dbrx.py. Query, key and value come from one projection and are clipped; a
// norm follows each sum; experts lie in three matrices and run one after another.
#include "engine/blocks/transformers/llama_layers.h"
#include "engine/blocks/transformers/llama_model.h"
#include "engine/blocks/transformers/separate_experts.h"
#include "engine/blocks/transformers/sparse_mixer.h"

namespace trainmem::transformers {

namespace {

constexpr Rule norm_rule{"vector norm", "what it is of, and the norm: the gradient needs them",
                         "derivatives.yaml: linalg_vector_norm"};
constexpr Rule experts_rule{"sum of experts", "", "transformers models/dbrx/modeling_dbrx.py: DbrxExperts.forward"};

/// The sum of absolute values over the last dimension, kept as 1: torch.norm with p = 1. Under autocast the result is
/// in fp32 and x stays as it is.
Tensor absolute_sum(const Tensor& x) {
  const Ref<Node> node = begin_node(norm_rule, {&x});
  keep(node, x);
  Shape shape = x.shape();
  shape[-1] = 1;
  Tensor result = allocate(shape, active_run().autocast.enabled ? DType::float32 : x.dtype(), {&norm_rule});
  keep(node, result);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor norm = b.kept(1);
      const Tensor signs = allocate(kept.shape(), kept.dtype(), {&norm_rule});
      b.give(0, allocate(kept.shape(), promote(kept.dtype(), b.gradient().dtype()), {&norm_rule}));
    };
  finish_node(node, result);
  return result;
}

class DbrxAttention {
 public:
  DbrxAttention(const Model& m, DType dtype)
      : model_(m),
        together_(m.hidden_size, Size(m.hidden_size) + Size(2) * Size(m.num_key_value_heads) * Size(m.head_dim), false,
                  dtype, "query, key and value"),
        output_(m.hidden_size, m.hidden_size, false, dtype, "attention projection") {}

  Tensor operator()(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size d = model_.head_dim;
    const Size h = model_.hidden_size;
    const Size k = model_.num_key_value_heads;
    const Tensor clipped = clamp(together_(hidden));
    std::vector<Tensor> parts = split(clipped, {h, k * d, k * d}, 2);
    Tensor query = split_heads(std::move(parts[0]), model_.num_attention_heads, d);
    Tensor key = split_heads(std::move(parts[1]), k, d);
    const Tensor value = split_heads(std::move(parts[2]), k, d);
    apply_rotary(query, key, inputs.cos, inputs.sin);
    AttentionOptions options;
    options.dropout = model_.attention_dropout;
    Tensor out = attention(query, key, value, inputs.mask, inputs.attention, options, weights);
    out = reshape(std::move(out), hidden.shape());
    return output_(std::move(out));
  }

 private:
  const Model& model_;
  Linear together_, output_;
};

/// DbrxFFN: router and experts.
class DbrxExperts {
 public:
  DbrxExperts(const Model& m, DType dtype)
      : model_(m), router_(m.hidden_size, m.experts.num_experts, false, dtype, "router logits") {
    const Shape all{Size(m.experts.num_experts) * Size(m.experts.moe_intermediate_size), m.hidden_size};
    gate_ = make_parameter(all, dtype, "expert gate");
    up_ = make_parameter(all, dtype, "expert up");
    down_ = make_parameter(all, dtype, "expert down");
  }

  Tensor operator()(const Tensor& given) const {
    Tensor logits;
    Tensor x;
    Routing routing;
    {
      const Place place("router");
      x = jittered(given);
      logits = router_(reshape(x, {x.size(0) * x.size(1), x.size(2)}));
      routing = route(logits);
    }
    const Tensor total = experts(reshape(x, {x.size(0) * x.size(1), x.size(2)}), routing);
    return view(total, x.shape());
  }

 private:
  Routing route(const Tensor& logits) const {
    const Tensor scores = softmax(logits, logits.dtype());
    const Chosen chosen = top_k(scores, model_.experts.num_experts_per_tok);
    const Tensor total = absolute_sum(chosen.values);
    Routing routing;
    routing.experts = chosen.indices;
    routing.weights = chosen.values * total;  // divided; what a division keeps, a product keeps
    return routing;
  }

  Tensor of_expert(const Tensor& all, std::int64_t expert) const {
    const Tensor stack =
        view(all, {model_.experts.num_experts, model_.experts.moe_intermediate_size, model_.hidden_size});
    return select(stack, 0, expert);
  }

  /// An expert has its share of the token copies. The variables of Python's loop hold what they are given until they
  /// are given the next.
  Tensor experts(const Tensor& tokens, const Routing& routing) const {
    const Place place("experts");
    const Size copies = routing.experts.elements();
    const Size each = ceil_divide(copies, Size(model_.experts.num_experts));
    Tensor total = allocate(tokens.shape(), tokens.dtype(), {&experts_rule});
    const Tensor choice = expert_mask(copies, model_.experts.num_experts);
    const Tensor weights = view(routing.weights, {copies});
    Tensor found, states;
    for (std::int64_t e = 0; e < model_.experts.num_experts; ++e) {
      found = places_of_expert(each);
      const Tensor rows = select(found, 1, 1);
      states = run(index_rows(tokens, rows, "tokens of an expert"), e);
      Tensor weight = unsqueeze(index_rows(weights, rows), 1);
      states = std::move(states) * std::move(weight);
      total = index_add_in_place(std::move(total), states, rows);
    }
    return total;
  }

  /// DbrxExpertGLU.forward.
  Tensor run(const Tensor& x, std::int64_t expert) const {
    Tensor gate = linear(x, of_expert(gate_, expert), {}, "expert gate");
    const Tensor up = linear(x, of_expert(up_, expert), {}, "expert up");
    gate = activate(std::move(gate), model_.hidden_act);
    const Tensor product = gate * up;
    return linear(product, transpose(of_expert(down_, expert), 0, 1), {}, "expert down");
  }

  const Model& model_;
  Linear router_;
  Tensor gate_, up_, down_;
};

class DbrxBlock : public Block {
 public:
  DbrxBlock(const Model& m, const LlamaForm& form, DType dtype)
      : model_(m),
        norm_1_(llama_norm_layer(m, form, dtype)),
        attention_(m, dtype),
        norm_2_(llama_norm_layer(m, form, dtype)),
        experts_(m, dtype) {}

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual;
    hidden = normed_attention(std::move(hidden), inputs, residual);
    hidden = experts_(hidden);
    hidden = dropout(std::move(hidden), model_.hidden_dropout);
    return residual + hidden;
  }

 private:
  /// DbrxNormAttentionNorm.forward.
  Tensor normed_attention(Tensor hidden, const BlockInputs& inputs, Tensor& sum) const {
    const Tensor residual = hidden;
    hidden = norm_at("norm before attention", norm_1_, hidden);
    Tensor weights;  // of eager attention: held until this returns
    hidden = attention_(hidden, inputs, weights);
    hidden = dropout(std::move(hidden), model_.hidden_dropout);
    sum = std::move(hidden) + residual;
    return norm_at("norm before MLP", norm_2_, sum);
  }

  const Model& model_;
  NormLayer norm_1_;
  DbrxAttention attention_;
  NormLayer norm_2_;
  DbrxExperts experts_;
};

}  // namespace

std::unique_ptr<Block> make_dbrx_block(const Model& m, const LlamaForm& form, DType dtype) {
  return std::make_unique<DbrxBlock>(m, form, dtype);
}

}  // namespace trainmem::transformers
