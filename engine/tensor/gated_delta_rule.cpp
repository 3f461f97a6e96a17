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
constexpr Rule norm_rule{"gated_rms_norm", "input, gate and 1/rms of a gated RMS norm: its backward needs them",
                         "flash-linear-attention fla/modules/fused_norm_gate.py: LayerNormGatedFunction"};

constexpr std::int64_t chunk = 64;             ///< tokens that are taken at once
constexpr std::int64_t key_tile = 128;         ///< channels that chunk_bwd_dqkwg takes at once on an H100
constexpr std::int64_t multiprocessors = 132;  ///< of an H100, each with its part of the gradient of the weight

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

Tensor gated_rms_norm(Tensor argument, Tensor given_gate, const Tensor& weight) {
  const Tensor x = std::move(argument);
  const Tensor gate = std::move(given_gate);
  const Ref<Node> node = begin_node(norm_rule, {&x, &gate, &weight});
  Tensor result = like(x, norm_rule);
  const Tensor scale = allocate({x.size(0)}, DType::float32, {&norm_rule, "1/rms"});
  for (const Tensor* kept : {&x, &gate, &weight, &scale}) keep(node, *kept);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept_x = b.kept(0);
      const Tensor kept_gate = b.kept(1);
      const Tensor kept_weight = b.kept(2);
      const Tensor kept_scale = b.kept(3);
      Tensor of_x = like(kept_x, norm_rule);
      Tensor of_gate = like(kept_x, norm_rule, "gate gradient");
      Tensor of_weight = allocate({multiprocessors, kept_x.size(1)}, DType::float32, {&norm_rule, "weight gradient"});
      of_weight = allocate(kept_weight.shape(), DType::float32, {&norm_rule, "weight gradient"});
      if (kept_weight.dtype() != DType::float32) of_weight = like(kept_weight, norm_rule, "weight gradient");
      if (b.wants(0)) b.give(0, std::move(of_x));
      if (b.wants(1)) b.give(1, std::move(of_gate));
      if (b.wants(2)) b.give(2, std::move(of_weight));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem
