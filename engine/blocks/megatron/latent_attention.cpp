// Multi-head latent attention of Megatron-Core: megatron/core/transformer/multi_latent_attention.py.
#include "engine/blocks/megatron/dispatch.h"
#include "engine/blocks/megatron/gpt.h"
#include "engine/tensor/run.h"

namespace trainmem::megatron {

namespace {

constexpr Rule fused_rule{"key and value", "",
                          "Megatron-Core fusions/fused_mla_yarn_rope_apply.py: ApplyMLARotaryEmbKV"};

struct KeyValue {
  Tensor key, value;
};

/// Key and value of all heads from their projection and the positions, in one kernel.
KeyValue fused_key_value(const Tensor& projection, const Tensor& positions, const Size& nope) {
  const Ref<Node> node = begin_node(fused_rule, {&projection, &positions});
  Shape shape = projection.shape();
  const Size value_width = shape[-1] - nope;
  KeyValue result;
  shape[-1] = nope + positions.size(-1);
  result.key = allocate(shape, projection.dtype(), {&fused_rule, "key"});
  shape[-1] = value_width;
  result.value = allocate(shape, projection.dtype(), {&fused_rule, "value"});
  if (node)
    node->backward = [whole = projection.shape(), rope = positions.shape()](Backward& b) {
      const DType dtype = b.gradient(0).dtype();
      b.give(0, allocate(whole, dtype, {&fused_rule}));
      b.give(1, allocate(rope, dtype, {&fused_rule}));
    };
  finish_node(node, result.key);
  finish_node(node, result.value);
  return result;
}

}  // namespace

StageModel::LatentLayer StageModel::make_latent(Size times) {
  const Sizes& z = settings_.sizes;
  const LatentAttention& l = settings_.model.latent_attention;
  const Size query = z.a * Size(l.qk_nope_head_dim + l.qk_rope_head_dim);
  LatentLayer layer;
  if (l.q_lora_rank > 0) {
    layer.query_down = make_engine_linear(z.h, l.q_lora_rank, false, "query down", times);
    layer.query_norm = make_norm(l.q_lora_rank, "query norm", times);
    layer.query_up = make_engine_linear(l.q_lora_rank, query, false, "query", times);
  } else {
    layer.query_up = make_engine_linear(z.h, query, false, "query", times);
  }
  layer.key_value_down =
      make_engine_linear(z.h, l.kv_lora_rank + l.qk_rope_head_dim, false, "key and value down", times);
  layer.key_value_norm = make_norm(l.kv_lora_rank, "key and value norm", times);
  layer.key_value_up =
      make_engine_linear(l.kv_lora_rank, z.a * Size(l.qk_nope_head_dim + l.v_head_dim), false, "key and value", times);
  return layer;
}

/// apply_rotary_pos_emb on the channels that turn; they come interleaved and are moved apart first.
Tensor StageModel::rotate_pairs(const Tensor& x) const {
  Tensor apart = concatenate({every_second(x, 0), every_second(x, 1)}, -1);
  return rotate(std::move(apart));
}

Tensor StageModel::latent_attention(const Block& block, const Tensor& normed) const {
  const Sizes& z = settings_.sizes;
  const LatentAttention& l = settings_.model.latent_attention;
  const LatentLayer& layer = block.latent;
  const Size nope = l.qk_nope_head_dim;
  const Size rope = l.qk_rope_head_dim;
  const Size value_width = l.v_head_dim;
  SequenceLayout local = z.layout;  // down projections are whole on every rank and work on its rows
  local.sequence = z.layout.local;
  local.sequence_parallel = false;

  Tensor compressed_query =
      l.q_lora_rank > 0 ? column_linear(normed, layer.query_down, local, "compressed query") : normed;
  Tensor compressed = column_linear(normed, layer.key_value_down, local, "compressed key and value");
  const std::vector<Tensor> parts = split(std::move(compressed), {l.kv_lora_rank, rope}, -1);
  Tensor positions = z.layout.sequence_parallel ? gather_rows(parts[1], z.t) : parts[1];

  Tensor query, key, value;
  {
    if (l.q_lora_rank > 0) compressed_query = norm(layer.query_norm, std::move(compressed_query));
    Tensor q = column_linear(std::move(compressed_query), layer.query_up, z.layout, "query");
    q = view(std::move(q), {z.s, z.b, z.a, nope + rope});
    Tensor kv = column_linear(norm(layer.key_value_norm, parts[0]), layer.key_value_up, z.layout, "key and value");
    kv = view(std::move(kv), {z.s, z.b, z.a, nope + value_width});
    if (settings_.recipe.fused_rope) {  // the query is turned in place
      const KeyValue fused = fused_key_value(kv, positions, nope);
      kv.reset();
      return projected(block, attended(q, fused.key, fused.value));
    }
    const std::vector<Tensor> q_parts = split(q, {nope, rope}, -1);
    const std::vector<Tensor> kv_parts = split(kv, {nope, value_width}, -1);
    const Tensor turned_query = rotate_pairs(q_parts[1]);
    Tensor turned_key = rotate_pairs(unsqueeze(positions, 2));
    query = concatenate({q_parts[0], turned_query}, -1, "query");
    turned_key = expand(std::move(turned_key), {z.s, z.b, z.a, rope});
    key = concatenate({kv_parts[0], turned_key}, -1, "key");
    value = contiguous(kv_parts[1], "value");
  }
  return projected(block, attended(query, key, value));
}

}  // namespace trainmem::megatron
