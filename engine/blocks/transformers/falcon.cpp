// Falcon: models/falcon/modeling_falcon.py. Falcon-7B has one key/value head and one norm, the new decoder of
// Falcon-40B and 180B groups of heads and usually two norms, Falcon-RW attention and MLP in turn with ALiBi.
#include "engine/blocks/transformers/alibi.h"
#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/padding.h"

namespace trainmem::transformers {

namespace {

constexpr Rule attended_rule{"padding mask", "", "transformers models/falcon/modeling_falcon.py: FalconModel.forward"};
constexpr Rule forced_mask_rule{"causal mask", "seen by every block; becomes an additive one in every call",
                                "transformers models/falcon/modeling_falcon.py: FalconModel.forward"};
constexpr Rule alibi_mask_rule{"causal mask", "the mask with ALiBi in it, added to the scores of every block",
                               "transformers models/falcon/modeling_falcon.py: FalconModel._update_causal_mask"};

/// FalconModel.forward gives the mask a condition of its own, for ALiBi's sake: so it is made even where the kernel
/// could do without. masking_utils.py: create_causal_mask, sdpa_mask.
Tensor forced_mask(Size batch, Size s) {
  const Tensor batches = allocate({batch}, DType::int64, {&forced_mask_rule});
  const Tensor heads = allocate({1}, DType::int64, {&forced_mask_rule});
  const Tensor keys = position_ids(s);
  const Tensor causal = allocate({1, 1, s, s}, DType::boolean, {&forced_mask_rule});
  const Size masks = active_run().settings.takes_attention_mask ? batch : Size(1);
  Tensor mask = allocate({masks, 1, s, s}, DType::boolean, {&forced_mask_rule, "causal mask"});
  note_kept(mask, forced_mask_rule);
  return expand(std::move(mask), {batch, 1, s, s});
}

/// FalconLinear: the bias is added to the product, not inside it.
struct FalconLinear {
  Tensor weight;
  Tensor bias;
  Adapter adapter;
  const char* role;
  Linear quantized;  ///< a 4-bit layer stands in the place of this one
  FalconLinear(Size in, Size out, bool with_bias, DType dtype, const char* name) : role(name) {
    if (is_quantized(name)) {
      quantized = Linear(in, out, with_bias, dtype, name);
      return;
    }
    weight = make_parameter({out, in}, dtype, name);
    if (with_bias) bias = make_parameter({out}, dtype, name);
    adapter = make_adapter(in, out, name);
  }
  /// input @ weight.T: autocast caches no copies of a view.
  Tensor transposed_weight() const {
    const Autocast autocast = active_run().autocast;
    return autocast.enabled ? to(weight, autocast.dtype) : weight;
  }
  Tensor operator()(const Tensor& x) const {
    if (quantized.quantized.defined()) return quantized(x);
    Tensor base = linear(x, transposed_weight(), {}, role);
    if (bias.defined()) base = add(base, bias, role);
    return adapter.defined() ? adapter(std::move(base), x) : base;
  }
};

class FalconBlock : public Block {
 public:
  FalconBlock(const Model& m, DType dtype)
      : model_(m),
        new_decoder_(m.num_key_value_heads > 1 && m.parallel_attention_mlp),
        query_key_value_(m.hidden_size,
                         (Size(m.num_attention_heads) + Size(2) * Size(m.num_key_value_heads)) * Size(m.head_dim),
                         m.attention_bias, dtype, "query, key and value"),
        dense_(m.hidden_size, m.hidden_size, m.attention_output_bias, dtype, "attention projection"),
        up_(m.hidden_size, m.intermediate_size, m.mlp_bias, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, m.mlp_bias, dtype, "down"),
        norm_1_(block_norm(m, dtype)) {
    if (m.norms_per_layer > 1) norm_2_ = block_norm(m, dtype);
  }

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    const bool in_turn = !model_.parallel_attention_mlp;
    // Falcon-RW registers the norm before the MLP first.
    const NormLayer& first = in_turn ? norm_2_ : norm_1_;
    const NormLayer& second = in_turn ? norm_1_ : norm_2_;
    const Tensor before_attention = first.at("norm before attention", hidden);
    Tensor before_mlp = before_attention;
    if (!in_turn && model_.norms_per_layer > 1) before_mlp = second.at("norm before MLP", hidden);
    Tensor weights;  // of eager attention: held until the block returns
    const Tensor attended = attend(before_attention, inputs, weights);
    if (in_turn) {
      residual = dropout_add(attended, residual, model_.attention_dropout);
      before_mlp = second.at("norm before MLP", residual);
    }
    Tensor fed = mlp(before_mlp);
    if (!in_turn) fed = add_in_place(std::move(fed), attended);
    Tensor result = dropout_add(fed, residual, model_.hidden_dropout);
    returned_weights_ = std::move(weights);
    return result;
  }

 private:
  /// _split_heads: (b, s, heads, d) each.
  void split_heads(const Tensor& fused, Tensor& query, Tensor& key, Tensor& value) const {
    const Size a = model_.num_attention_heads;
    const Size k = model_.num_key_value_heads;
    const Size d = model_.head_dim;
    const Size b = fused.size(0);
    const Size s = fused.size(1);
    if (new_decoder_) {
      const Size group = a / k;
      const Tensor heads = view(fused, {b, s, k, group + Size(2), d});
      query = slice(heads, 3, 0, group);
      key = index_one(heads, 3);
      value = index_one(heads, 3);
      key = expand(std::move(key), query.shape());
      value = expand(std::move(value), query.shape());
      const Shape flat{b, s, a, d};
      query = reshape(std::move(query), flat);
      key = reshape(std::move(key), flat);
      value = reshape(std::move(value), flat);
    } else if (k == 1) {
      const Tensor heads = view(fused, {b, s, a + Size(2), d});
      query = slice(heads, 2, 0, a);
      key = index_one(heads, 2);
      value = index_one(heads, 2);
    } else {
      const Tensor heads = view(fused, {b, s, a, 3, d});
      query = select(heads, 3, 0);
      key = select(heads, 3, 1);
      value = select(heads, 3, 2);
    }
  }

  Tensor attend(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Tensor fused = query_key_value_(hidden);
    Tensor query;
    Tensor key;
    Tensor value;
    split_heads(fused, query, key, value);
    query = transpose(std::move(query), 1, 2);
    key = transpose(std::move(key), 1, 2);
    value = transpose(std::move(value), 1, 2);
    if (!inputs.alibi.defined()) apply_rotary(query, key, inputs.cos, inputs.sin);
    Scores scores;  // of eager attention: local variables of the function
    Tensor out = inputs.attention == AttentionKernel::eager
                     ? eager(query, key, value, hidden.dtype(), inputs, scores, weights)
                     : fast(query, key, value, inputs);
    out = reshape(transpose(std::move(out), 1, 2), hidden.shape());
    return dense_(out);
  }

  Tensor fast(Tensor& query, Tensor& key, Tensor& value, const BlockInputs& inputs) const {
    ScaledDotProduct call;
    call.dropout = inputs.alibi.defined() ? model_.attention_dropout : 0;
    if (inputs.attention == AttentionKernel::flash && inputs.mask.defined())
      return transpose(unpadded_attention(query, key, value, call), 1, 2);
    call.mask = inputs.mask;
    call.causal = !inputs.mask.defined();
    call.forced_math = inputs.attention == AttentionKernel::sdpa_math;
    return scaled_dot_product_attention(query, key, value, call);
  }

  /// Local variables of FalconAttention.forward with ALiBi.
  struct Scores {
    Tensor product;
    Tensor fp32;
    Tensor logits;
  };

  /// The softmax is in the format of the hidden states.
  Tensor eager(const Tensor& query, const Tensor& key, const Tensor& value, DType dtype, const BlockInputs& inputs,
               Scores& scores, Tensor& weights) const {
    Tensor product = matmul(query, transpose(key, -1, -2), "scores");
    if (!inputs.alibi.defined()) {
      weights = std::move(product);
      weights = softmax(weights + inputs.mask, dtype);  // divided in place before
      return matmul(weights, value, "attention output");
    }
    scores.product = std::move(product);
    scores.fp32 = to(scores.product, DType::float32);
    const Size b = query.size(0);
    scores.logits = scores.fp32 + view(inputs.alibi, {b, query.size(1), 1, inputs.alibi.size(2)});
    weights = softmax(scores.logits + inputs.mask, dtype);
    weights = dropout(weights, model_.attention_dropout);
    return matmul(weights, value, "attention output");
  }

  Tensor mlp(const Tensor& argument) const {
    const Place place("mlp");
    Tensor x = activate(up_(argument), model_.hidden_act);
    x = down_(x);
    return x;
  }

  const Model& model_;
  bool new_decoder_;
  FalconLinear query_key_value_, dense_, up_, down_;
  NormLayer norm_1_, norm_2_;
};

class Falcon : public Decoder {
 public:
  using Decoder::Decoder;

  std::unique_ptr<Block> make_block(std::int64_t) override { return std::make_unique<FalconBlock>(model, weights); }

  void make_head() override {
    make_final_norm();
    rotary_ = std::make_unique<Rotary>(Size(model.head_dim));
    make_language_head();
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    const Place place("embedding");
    const Tensor embedded = embed(embedding_, ids);
    const Size b = ids.size(0);
    const Size s = ids.size(1);
    if (model.positions == Positions::alibi) {
      const Tensor attended = attended_tokens(ids, attended_rule);
      state.inputs.alibi = bloom_alibi(attended, model.num_attention_heads, embedded.dtype());
    }
    state.inputs.positions = position_ids(s);
    state.inputs.attention = attention;
    const bool kernel = attention == AttentionKernel::sdpa || attention == AttentionKernel::sdpa_math;
    const bool alibi = model.positions == Positions::alibi;
    state.inputs.mask = kernel && !alibi ? forced_mask(b, s) : causal_mask(b, s, embedded.dtype(), attention, false);
    if (alibi && attention != AttentionKernel::flash)
      state.inputs.mask =
          allocate({b, model.num_attention_heads, s, s}, embedded.dtype(), {&alibi_mask_rule, "causal mask"});
    // Made for ALiBi, too, and an argument of every block.
    std::tie(state.inputs.cos, state.inputs.sin) = rotary_->tables(s, embedded.dtype());
    state.hidden = embedded;
    state.held = {embedded};
    return state;
  }

 private:
  std::unique_ptr<Rotary> rotary_;
};

}  // namespace

std::unique_ptr<Architecture> make_falcon(const Model& model, DType weights) {
  return std::make_unique<Falcon>(model, weights);
}

}  // namespace trainmem::transformers
