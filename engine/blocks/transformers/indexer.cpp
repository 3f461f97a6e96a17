#include "engine/blocks/transformers/indexer.h"

#include <vector>

#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

constexpr const char* source = "transformers models/deepseek_v32/modeling_deepseek_v32.py: DeepseekV32Attention";
constexpr Rule causal_rule{"keys after the query", "", source};
constexpr Rule scatter_rule{"keys that were not chosen", "", source};

}  // namespace

KeyIndexer::KeyIndexer(const Model& m, DType dtype) : model_(m), sizes_(indexer_of(m.model_type)) {
  query_ = Linear(m.latent_attention.q_lora_rank, sizes_.heads * sizes_.head_dim, false, dtype, "indexer query");
  key_ = Linear(m.hidden_size, sizes_.head_dim, false, dtype, "indexer key");
  key_norm_ = NormLayer(NormLayer::Form::layer_norm, {sizes_.head_dim}, true, true, dtype);
  weights_ = Linear(m.hidden_size, sizes_.heads, false, dtype, "indexer weights");
}

// DeepseekV32Indexer.forward, and GlmMoeDsaIndexer's, whose channels turn in pairs.
Tensor KeyIndexer::operator()(const Tensor& hidden, const Tensor& latent, const BlockInputs& inputs) const {
  const Place place("indexer");
  const Set<bool> no_grad(active_run().grad_enabled, false);
  const Size b = hidden.size(0);
  const Size s = hidden.size(1);
  const Size rope = model_.latent_attention.qk_rope_head_dim;
  const Size rest = Size(sizes_.head_dim) - rope;
  Tensor q = view(query_(latent), {b, s, sizes_.heads, sizes_.head_dim});
  const std::vector<Tensor> q_parts = split(q, {rope, rest}, -1);
  Tensor k = unsqueeze(key_norm_(key_(hidden)), 2);
  const std::vector<Tensor> k_parts = split(k, {rope, rest}, -1);
  Tensor q_turned = q_parts[0];
  Tensor k_turned = k_parts[0];
  if (sizes_.returns_choice) {
    apply_rotary_even_and_odd(q_turned, k_turned, inputs.cos, inputs.sin, 2);
  } else {
    const Tensor cos = unsqueeze(inputs.cos, 2);
    const Tensor sin = unsqueeze(inputs.sin, 2);
    Tensor turned = rotate(q_turned, cos, sin);
    k_turned = rotate(k_turned, cos, sin);
    q_turned = std::move(turned);
  }
  q = concatenate({q_turned, q_parts[1]}, -1);
  k = view(concatenate({k_turned, k_parts[1]}, -1), {b, s, sizes_.head_dim});

  Tensor scores;
  {
    Tensor queries = to(q, DType::float32);
    Tensor keys = unsqueeze(to(transpose(k, -1, -2), DType::float32), 1);
    scores = multiply_number(matmul(std::move(queries), std::move(keys), "indexer scores"), "indexer scores");
  }
  scores = relu(scores);
  const Tensor weights = multiply_number(to(weights_(hidden), DType::float32));
  Tensor of_keys = view(matmul(unsqueeze(weights, 2), scores), {b, s, s});
  Tensor positions, after;  // local variables of the forward
  if (inputs.mask.defined()) {
    of_keys = add(of_keys, select(inputs.mask, 1, 0));
  } else {
    positions = allocate({s}, DType::int64, {&causal_rule});
    after = allocate({1, s, s}, DType::boolean, {&causal_rule});
    of_keys = masked_fill(of_keys, after);
  }
  const Chosen best = top_k(of_keys, minimum(Size(sizes_.chosen), s));
  return allocate(best.indices.shape(), DType::int32, {&scatter_rule, "chosen keys"});
}

SparseMask sparse_mask(const Tensor& chosen, const Tensor& hidden, const BlockInputs& inputs) {
  const Place place("indexer");
  const Size b = hidden.size(0);
  const Size s = hidden.size(1);
  SparseMask result;
  {
    const Tensor ones = allocate({b, s, s}, DType::boolean, {&scatter_rule});
    const Tensor wide = allocate(chosen.shape(), DType::int64, {&scatter_rule});
    result.masked = allocate({b, 1, s, s}, DType::boolean, {&scatter_rule});
  }
  if (inputs.mask.defined()) {
    result.mask = masked_fill(inputs.mask, result.masked);
    return result;
  }
  result.positions = allocate({s}, DType::int64, {&causal_rule});
  {
    const Tensor after = allocate({1, 1, s, s}, DType::boolean, {&causal_rule});
    result.masked = allocate({b, 1, s, s}, DType::boolean, {&scatter_rule});
  }
  const Tensor zeros = allocate({b, 1, s, s}, hidden.dtype(), {&scatter_rule});
  result.mask = allocate({b, 1, s, s}, hidden.dtype(), {&scatter_rule, "sparse mask"});
  return result;
}

}  // namespace trainmem::transformers
