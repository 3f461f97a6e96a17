// Kernels of gated delta networks: what flash-linear-attention (commit bc3b101d, after 0.5.2) allocates and keeps.
//
// Of the sequence's chunks only the products of keys are kept; backward computes the states of all chunks again.
#include "engine/tensor/gated_delta_rule.h"

#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* delta_source = "flash-linear-attention fla/ops/gated_delta_rule/chunk.py";
constexpr Rule delta_rule{"chunk_gated_delta_rule",
                          "normalised queries and keys with 1/norm, values, sums of the decay, beta, products of keys "
                          "within a chunk: its backward computes the states from them again",
                          delta_source};

constexpr std::int64_t chunk = 64;      ///< tokens that are taken at once
constexpr std::int64_t key_tile = 128;  ///< channels that chunk_bwd_dqkwg takes at once on an H100

Tensor like(const Tensor& x, const Rule& rule, const char* role = nullptr) {
  return allocate(x.shape(), x.dtype(), {&rule, role});
}

/// What fla's input_guard makes of an argument.
Tensor guarded(Tensor x) {
  const Set<bool> no_grad(active_run().grad_enabled, false);
  return contiguous(std::move(x));
}

Shape states_shape(const Tensor& k, const Tensor& v) {
  return {k.size(0) * ceil_divide(k.size(1), chunk), k.size(2), k.size(3), v.size(3)};
}

/// One number for each token and head.
Tensor numbers(const Tensor& k, const char* role) {
  return allocate({k.size(0), k.size(1), k.size(2)}, DType::float32, {&delta_rule, role});
}

/// What forward and backward compute of each chunk.
struct Chunks {
  Tensor w, u, states, values;
  Chunks(const Tensor& k, const Tensor& v) : w(like(k, delta_rule, "w")), u(like(v, delta_rule, "u")) {
    states = allocate(states_shape(k, v), k.dtype(), {&delta_rule, "states of chunks"});
    values = like(v, delta_rule, "new values");
  }
};

}  // namespace

Tensor chunk_gated_delta_rule(Tensor query, Tensor key, Tensor value, Tensor decay, Tensor rate) {
  const Tensor given_q = std::move(query);
  const Tensor given_k = std::move(key);
  const Tensor given_v = std::move(value);
  const Tensor g = std::move(decay);
  const Tensor beta = std::move(rate);
  const Ref<Node> node = begin_node(delta_rule, {&given_q, &given_k, &given_v, &g, &beta});
  const Tensor q = guarded(given_q);
  const Tensor k = guarded(given_k);
  const Tensor v = guarded(given_v);
  const Tensor unit_q = like(q, delta_rule, "normalised query");
  const Tensor q_scale = numbers(q, "1/norm");
  const Tensor unit_k = like(k, delta_rule, "normalised key");
  const Tensor k_scale = numbers(k, "1/norm");
  const Tensor sums = numbers(k, "sums of the decay");
  const Tensor products =
      allocate({k.size(0), k.size(1), k.size(2), chunk}, k.dtype(), {&delta_rule, "products of keys"});
  Tensor result;
  {
    const Chunks chunks(k, v);
    result = like(v, delta_rule, "attention output");
  }
  for (const Tensor* kept : {&unit_q, &q_scale, &unit_k, &k_scale, &v, &sums, &beta, &products}) keep(node, *kept);
  if (node)
    node->backward = [](Backward& b) {
      Tensor held[8];
      for (int i = 0; i < 8; ++i) held[i] = b.kept(i);
      const Tensor& kept_k = held[2];
      const Tensor& kept_v = held[4];
      Tensor of_q, of_k, of_v, of_beta, of_decay;
      {
        const Chunks chunks(kept_k, kept_v);
        Tensor of_new = like(kept_v, delta_rule);
        const Tensor of_states = like(chunks.states, delta_rule, "gradient of states");
        Tensor of_new_and_states = like(kept_v, delta_rule);
        of_new = std::move(of_new_and_states);
        of_q = like(held[0], delta_rule, "query gradient");
        of_k = like(kept_k, delta_rule, "key gradient");
        Tensor tiles = allocate({ceil_divide(kept_k.size(3), key_tile), kept_k.elements() / kept_k.size(3)},
                                DType::float32, {&delta_rule});
        const Tensor of_w = like(chunks.w, delta_rule);
        of_decay = numbers(kept_k, "decay gradient");
        tiles.reset();
        const Tensor second_k = like(kept_k, delta_rule);
        of_v = like(kept_v, delta_rule, "value gradient");
        const Tensor second_decay = numbers(kept_k, "decay gradient");
        of_beta = like(held[6], delta_rule, "beta gradient");
        of_new.reset();
        of_decay = numbers(kept_k, "decay gradient");
      }
      of_q = like(held[0], delta_rule, "query gradient");
      of_k = like(kept_k, delta_rule, "key gradient");
      Tensor* const gradients[] = {&of_q, &of_k, &of_v, &of_decay, &of_beta};
      for (int i = 0; i < 5; ++i)
        if (b.wants(i)) b.give(i, std::move(*gradients[i]));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
