#include "engine/blocks/torchtitan/deepseek.h"

#include <optional>

#include "engine/blocks/torchtitan/experts.h"
#include "engine/blocks/torchtitan/rope.h"
#include "engine/parameters/parameters.h"

namespace trainmem::torchtitan {

namespace {

class LatentSelfAttention {
 public:
  LatentSelfAttention(const Model& m, DType dtype, const Form& form) : model_(m), documents_(form.documents) {
    const NormLayer::Form norm = form.norm;
    const LatentAttention& l = m.latent_attention;
    const Size h = m.hidden_size;
    const Size heads = m.num_attention_heads;
    const Size query = heads * Size(l.qk_nope_head_dim + l.qk_rope_head_dim);
    if (l.q_lora_rank > 0) {
      query_down_ = Linear(h, l.q_lora_rank, false, dtype, "query down");
      query_norm_ = NormLayer(norm, {l.q_lora_rank}, true, false, dtype);
    }
    query_ = Linear(l.q_lora_rank > 0 ? Size(l.q_lora_rank) : h, query, false, dtype, "query");
    key_value_down_ = Linear(h, l.kv_lora_rank + l.qk_rope_head_dim, false, dtype, "key and value down");
    key_value_norm_ = NormLayer(norm, {l.kv_lora_rank}, true, false, dtype);
    key_value_up_ =
        Linear(l.kv_lora_rank, heads * Size(l.qk_nope_head_dim + l.v_head_dim), false, dtype, "key and value");
    output_ = Linear(heads * Size(l.v_head_dim), h, false, dtype, "attention projection");
    if (form.today()) rope_.emplace(l.qk_rope_head_dim, false, form);
  }

  Tensor operator()(const Tensor& x, const BlockInputs& inputs) const {
    const Place place("attention");
    const LatentAttention& l = model_.latent_attention;
    const Size heads = model_.num_attention_heads;
    const Size b = x.size(0);
    const Size s = x.size(1);
    const Size nope = l.qk_nope_head_dim;
    const Size rope = l.qk_rope_head_dim;
    Tensor q = l.q_lora_rank > 0 ? query_(query_norm_(query_down_(x))) : query_(x);
    q = view(std::move(q), {b, s, heads, nope + rope});
    const std::vector<Tensor> q_parts = split(q, {nope, rope}, -1);
    const Tensor compressed = key_value_down_(x);
    const std::vector<Tensor> compressed_parts = split(compressed, {l.kv_lora_rank, rope}, -1);
    Tensor turned_query = q_parts[1];
    Tensor turned_key = unsqueeze(compressed_parts[1], 2);
    if (rope_) {
      (*rope_)(turned_query, turned_key);
    } else {
      turned_query = turn(turned_query, inputs.cos);
      turned_key = turn(turned_key, inputs.cos);
    }
    q = concatenate({q_parts[0], turned_query}, -1, "query");
    Tensor kv = key_value_up_(key_value_norm_(compressed_parts[0]));
    kv = view(std::move(kv), {b, s, heads, nope + Size(l.v_head_dim)});
    const std::vector<Tensor> kv_parts = split(kv, {nope, l.v_head_dim}, -1);
    turned_key = expand(std::move(turned_key), {b, s, heads, rope});
    const Tensor key = concatenate({kv_parts[0], turned_key}, -1, "key");
    Tensor out = attend(transpose(q, 1, 2), transpose(key, 1, 2), transpose(kv_parts[1], 1, 2));
    out = contiguous(transpose(std::move(out), 1, 2));
    return output_(view(std::move(out), {b, s, heads * Size(l.v_head_dim)}));
  }

 private:
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) const {
    return rope_ ? flex_attention(q, k, v, documents_) : scaled_dot_product_attention(q, k, v, {});
  }

  const Model& model_;
  Size documents_;
  std::optional<Rope> rope_;  ///< today's
  Linear query_down_, query_, key_value_down_, key_value_up_, output_;
  NormLayer query_norm_, key_value_norm_;
};

class DeepSeekBlock : public Block {
 public:
  DeepSeekBlock(const Model& m, DType dtype, const Form& form, std::int64_t layer)
      : attention_(m, dtype, form),
        attention_norm_(form.norm, {m.hidden_size}, true, false, dtype),
        mlp_norm_(form.norm, {m.hidden_size}, true, false, dtype) {
    if (layer_kind(m, layer).experts) {
      experts_.emplace(m, dtype);
    } else {
      mlp_.emplace(m.hidden_size, m.intermediate_size, dtype);
    }
  }

  Tensor forward(Tensor x, const BlockInputs& inputs) override {
    if (experts_) experts_->note_router();
    Tensor attended = attention_(attention_norm_.at("norm before attention", x), inputs);
    x = x + std::move(attended);
    Tensor fed = experts_or_mlp(mlp_norm_.at("norm before MLP", x));
    return x + std::move(fed);
  }

 private:
  Tensor experts_or_mlp(const Tensor& x) const { return experts_ ? (*experts_)(x) : dense(x); }
  Tensor dense(const Tensor& x) const {
    const Place place("mlp");
    return (*mlp_)(x);
  }

  LatentSelfAttention attention_;
  NormLayer attention_norm_, mlp_norm_;
  std::optional<Experts> experts_;
  std::optional<FeedForward> mlp_;
};

}  // namespace

std::unique_ptr<Block> make_deepseek_block(const Model& m, DType dtype, const Form& form, std::int64_t layer) {
  return std::make_unique<DeepSeekBlock>(m, dtype, form, layer);
}

}  // namespace trainmem::torchtitan
