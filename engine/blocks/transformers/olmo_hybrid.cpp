// The blocks of OLMo hybrid: full attention between norms on its output and on its MLP's, as in OLMo 2, and gated delta
// networks after norms on the input: models/olmo_hybrid/modeling_olmo_hybrid.py.
#include "engine/blocks/transformers/delta_chunks.h"
#include "engine/blocks/transformers/gated_delta_net.h"
#include "engine/blocks/transformers/llama_layers.h"
#include "engine/blocks/transformers/llama_model.h"
#include "engine/blocks/transformers/padding.h"
#include "engine/config/layer_types.h"

namespace trainmem::transformers {

namespace {

/// OlmoHybridGatedDeltaNet, with the kernels of flash-linear-attention and causal-conv1d or without.
class DeltaNet {
 public:
  DeltaNet(const Model& m, DType dtype) : sizes_(m.linear_attention) {
    const Size h = m.hidden_size;
    const Size heads = sizes_.linear_num_value_heads;
    const Size values = heads * Size(sizes_.linear_value_head_dim);
    decay_scale_ = make_parameter({heads}, dtype, "decay scale");
    decay_bias_ = make_parameter({heads}, dtype, "decay bias");
    query_ = Linear(h, keys(), false, dtype, "query");
    key_ = Linear(h, keys(), false, dtype, "key");
    value_ = Linear(h, values, false, dtype, "value");
    decay_ = Linear(h, heads, false, dtype, "decay");
    rate_ = Linear(h, heads, false, dtype, "beta");
    gate_ = Linear(h, values, false, dtype, "output gate");
    output_ = Linear(values, h, false, dtype, "attention projection");
    convolution_ =
        make_parameter({Size(2) * keys() + values, 1, sizes_.linear_conv_kernel_dim}, dtype, "convolution weight");
    norm_ = make_parameter({sizes_.linear_value_head_dim}, dtype, "gated norm weight");
  }

  Tensor operator()(const Tensor& given) const {
    const Place place("linear attention");
    const Tensor hidden = without_padding(given);
    const Size b = hidden.size(0);
    const Size s = hidden.size(1);
    const Size groups = sizes_.linear_num_key_heads;
    const Size heads = sizes_.linear_num_value_heads;
    const Size width = sizes_.linear_value_head_dim;
    Tensor mixed = together(hidden);
    mixed = mixed_with_neighbours(std::move(mixed), convolution_);
    const std::vector<Tensor> parts = split(transpose(mixed, 1, 2), {keys(), keys(), heads * width}, -1);
    Tensor query = reshape(parts[0], {b, s, groups, sizes_.linear_key_head_dim});
    Tensor key = reshape(parts[1], {b, s, groups, sizes_.linear_key_head_dim});
    const Tensor value = reshape(parts[2], {b, s, heads, width});
    if (heads.value() > groups.value()) {
      query = repeated_heads(std::move(query), heads / groups);
      key = repeated_heads(std::move(key), heads / groups);
    }
    const Tensor beta = multiply_number(sigmoid(rate_(hidden)));
    Tensor decay = negate(exp(to(decay_scale_, DType::float32)));
    decay = multiply(std::move(decay), softplus(add(to(decay_(hidden), DType::float32), decay_bias_)));
    Tensor out = gated_delta_rule(query, key, value, decay, beta);
    const Size rows = b * s * heads;
    const Tensor gate = reshape(gate_(hidden), {rows, width});
    out = gated_norm_by_operations(reshape(std::move(out), {rows, width}), gate, norm_);
    out = reshape(std::move(out), {b, s, heads * width});
    return output_(std::move(out));
  }

 private:
  Size keys() const { return Size(sizes_.linear_num_key_heads) * Size(sizes_.linear_key_head_dim); }

  Tensor together(const Tensor& hidden) const {
    const Tensor query = query_(hidden);
    const Tensor key = key_(hidden);
    const Tensor value = value_(hidden);
    return transpose(concatenate({query, key, value}, -1, "query, key and value"), 1, 2);
  }

  LinearAttention sizes_;
  Tensor decay_scale_, decay_bias_, convolution_, norm_;
  Linear query_, key_, value_, decay_, rate_, gate_, output_;
};

/// OlmoHybridLinearAttentionDecoderLayer.
class DeltaBlock : public Block {
 public:
  DeltaBlock(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer)
      : mlp_(make_feed_forward(m, form, dtype, layer)),
        input_norm_(llama_norm_layer(m, form, dtype)),
        mlp_norm_(llama_norm_layer(m, form, dtype)),
        attention_(m, dtype) {}

  Tensor forward(Tensor hidden, const BlockInputs&) override {
    Tensor residual = hidden;
    hidden = norm_at("norm before attention", input_norm_, hidden);
    hidden = attention_(hidden);
    hidden = residual + hidden;
    residual = hidden;
    hidden = norm_at("norm before MLP", mlp_norm_, hidden);
    hidden = (*mlp_)(hidden);
    hidden = residual + hidden;
    return hidden;
  }

 private:
  std::unique_ptr<FeedForwardPart> mlp_;
  NormLayer input_norm_, mlp_norm_;
  DeltaNet attention_;
};

}  // namespace

std::unique_ptr<Block> make_olmo_hybrid_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) {
  if (layer_type(m, layer) != LayerType::linear_attention) return make_olmo2_block(m, form, dtype, layer);
  return std::make_unique<DeltaBlock>(m, form, dtype, layer);
}

}  // namespace trainmem::transformers
