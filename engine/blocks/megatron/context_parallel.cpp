// Attention over a sequence that several GPUs share: Transformer Engine's three ways, tensors (s, b, heads, d) with
// the s rows of this GPU. A GPU holds one early and one late piece of the sequence, so that causal attention is shared
// evenly. What differs between GPUs is counted for the last one: its queries attend in every step of the ring.
// Source: NVIDIA/TransformerEngine d0067d0,
// transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py.
#include "engine/blocks/megatron/operations.h"
#include "engine/tensor/run.h"
#include "engine/tensor/work.h"

namespace trainmem::megatron {

namespace {

constexpr Rule ring_rule{
    "ring attention", "query, output, log-sum-exp, and the keys and values received last: backward goes on from them",
    "Transformer Engine context_parallel.py: AttnFuncWithCPAndKVP2P"};
constexpr Rule gather_rule{"all-gather attention",
                           "query, key, value, output and log-sum-exp of this GPU: keys and values are gathered again",
                           "Transformer Engine context_parallel.py: AttnFuncWithCPAndKVAllGather"};
constexpr Rule exchange_rule{"all-to-all attention",
                             "query, key, value and output of all tokens and some heads, and log-sum-exp",
                             "Transformer Engine context_parallel.py: AttnFuncWithCPAndQKVOA2A"};

Tensor make(const Shape& shape, DType dtype, const Rule& rule, const char* role) {
  return allocate(shape, dtype, {&rule, role});
}

/// Buffers of an exchange between GPUs.
Tensor make_buffer(const Shape& shape, DType dtype, const Rule& rule, const char* role) {
  const Set<Component> component(active_run().component, Component::communication);
  return make(shape, dtype, rule, role);
}

/// The shape of `rows` rows of x.
Shape rows_of(const Tensor& x, Size rows) {
  Shape shape = x.shape();
  shape[0] = rows;
  return shape;
}

/// The shape of attention's output: values may be narrower than queries (latent attention). orig_o_shape.
Shape output_of(const Tensor& q, const Tensor& v) {
  Shape shape = q.shape();
  shape[-1] = v.size(-1);
  return shape;
}

/// Log-sum-exp of `rows` rows of queries.
Tensor statistics(const Tensor& q, Size rows, const Rule& rule) {
  return make({q.size(1), q.size(2), rows}, DType::float32, rule, "log-sum-exp");
}

struct Gradients {
  Tensor q, k, v;
};

/// Backward of flash attention, of `q_rows` queries over `k_rows` keys.
Gradients attention_backward(const Tensor& q, Size q_rows, const Tensor& k, const Tensor& v, Size k_rows,
                             const Rule& rule) {
  Gradients result;
  result.q = make(rows_of(q, q_rows), q.dtype(), rule, "gradient of query");
  result.k = make(rows_of(k, k_rows), q.dtype(), rule, "gradient of key");
  result.v = make(rows_of(v, k_rows), q.dtype(), rule, "gradient of value");
  const Tensor row_sums = allocate({q.size(1), q.size(2), q_rows}, DType::float32, {&rule, "row sums (scratch)", true});
  const Tensor accumulator =
      allocate(rows_of(q, q_rows), DType::float32, {&rule, "fp32 gradient of query (scratch)", true});
  return result;
}

/// This GPU's share of the pairs of a causal sequence: half of its queries times all keys.
void note_share(Pass pass, const Tensor& q, std::int64_t gpus) {
  note_attention(pass, {q.size(1), q.size(2), q.size(0), q.size(0) * Size(gpus) / Size(2), q.size(3), false});
}

/// A part of a buffer, seen as a tensor.
Tensor part_of(const Tensor& buffer, const Tensor& like) {
  return alias(buffer, like.shape(), contiguous_strides(like.shape()));
}

/// Keys and values go round; every step's result stays until all are joined.
Tensor ring(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t gpus) {
  const Ref<Node> node = begin_node(ring_rule, {&q, &k, &v});
  const Shape both{k.elements() + v.elements()};
  std::vector<Tensor> buffers{make_buffer(both, k.dtype(), ring_rule, "keys and values")};
  std::vector<Tensor> outputs;
  std::vector<Tensor> sums;
  for (std::int64_t i = 0; i < gpus; ++i) {
    const Set<Stream> stream(active_run().stream, i % 2 == 0 ? Stream::compute : Stream::communication);
    if (i + 1 < gpus) buffers.push_back(make_buffer(both, k.dtype(), ring_rule, "received keys and values"));
    outputs.push_back(make(output_of(q, v), q.dtype(), ring_rule, "output of a step"));
    sums.push_back(statistics(q, q.size(0), ring_rule));
  }
  const Tensor log_sum_exp = statistics(q, q.size(0), ring_rule);
  Tensor result = make(output_of(q, v), q.dtype(), ring_rule, "attention output");
  keep(node, q);
  keep(node, buffers.back());
  keep(node, result);
  keep(node, log_sum_exp);
  if (node)
    node->backward = [gpus, k_shape = k.shape(), v_width = v.size(-1)](Backward& b) {
      const Tensor kept_q = b.kept(0);
      const Tensor kept_kv = b.kept(1);
      const Tensor output = b.kept(2);
      const Tensor sums_kept = b.kept(3);
      note_share(Pass::backward, kept_q, gpus);
      const DType dtype = kept_q.dtype();
      Shape v_shape = k_shape;
      v_shape[-1] = v_width;
      const Shape pair{2, k_shape.elements() + v_shape.elements()};
      const Tensor key = alias(kept_kv, k_shape, contiguous_strides(k_shape));
      const Tensor value = alias(kept_kv, v_shape, contiguous_strides(v_shape));
      Tensor query_gradient = make(kept_q.shape(), dtype, ring_rule, "gradient of query");
      // Keys and values with their gradients, received and to be sent.
      const Tensor first = make_buffer(pair, dtype, ring_rule, "keys, values and their gradients");
      const Tensor second = make_buffer(pair, dtype, ring_rule, "keys, values and their gradients");
      Gradients step;
      for (std::int64_t i = 0; i < gpus; ++i) {
        const Size rows = i + 1 < gpus ? k_shape[0] / Size(2) : k_shape[0];
        step = attention_backward(kept_q, kept_q.size(0), key, value, rows, ring_rule);
      }
      const Tensor& last = gpus % 2 == 0 ? first : second;
      b.give(0, std::move(query_gradient));
      b.give(1, part_of(last, key));
      b.give(2, part_of(last, value));
    };
  finish_node(node, result);
  return result;
}

/// All GPUs' rows of x, put in the order of the sequence.
Tensor gather_rows(const Tensor& x, std::int64_t gpus) {
  const Shape shape = rows_of(x, x.size(0) * Size(gpus));
  const Tensor gathered = make_buffer(shape, x.dtype(), gather_rule, "gathered rows");
  return make_buffer(shape, x.dtype(), gather_rule, "gathered rows in order");
}

/// Keys and values are gathered; the early and the late half of the queries attend one after the other.
Tensor gathered(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t gpus) {
  const Ref<Node> node = begin_node(gather_rule, {&q, &k, &v});
  const Tensor keys = gather_rows(k, gpus);
  const Tensor values = gather_rows(v, gpus);
  Tensor result = make(output_of(q, v), q.dtype(), gather_rule, "attention output");
  const Tensor accumulator = make(result.shape(), q.dtype(), gather_rule, "output of both halves");
  const Size half = q.size(0) / Size(2);
  keep(node, q);
  keep(node, k);
  keep(node, v);
  keep(node, result);
  std::vector<Tensor> outputs;
  for (const Stream of_half : {Stream::compute, Stream::communication}) {
    const Set<Stream> stream(active_run().stream, of_half);
    outputs.push_back(make(rows_of(result, half), q.dtype(), gather_rule, "output of a half"));
    keep(node, statistics(q, half, gather_rule));
  }
  if (node)
    node->backward = [gpus](Backward& b) {
      const Tensor kept_q = b.kept(0);
      const Tensor kept_k = b.kept(1);
      const Tensor kept_v = b.kept(2);
      const Tensor output = b.kept(3);
      note_share(Pass::backward, kept_q, gpus);
      const DType dtype = kept_q.dtype();
      Tensor query_gradient = make(kept_q.shape(), dtype, gather_rule, "gradient of query");
      const Size whole = kept_k.size(0) * Size(gpus);
      Tensor k_gradient = make_buffer(rows_of(kept_k, whole), dtype, gather_rule, "gradient of all keys");
      Tensor v_gradient = make_buffer(rows_of(kept_v, whole), dtype, gather_rule, "gradient of all values");
      const Tensor keys_again = gather_rows(kept_k, gpus);
      const Tensor values_again = gather_rows(kept_v, gpus);
      const Size piece = kept_k.size(0) / Size(2);
      // The last GPU has pieces gpus - 1 and gpus of the sequence's 2 gpus; each sees all up to itself.
      std::vector<Gradients> steps;
      for (const std::int64_t seen : {gpus, gpus + 1})
        steps.push_back(
            attention_backward(kept_q, kept_q.size(0) / Size(2), kept_k, kept_v, piece * Size(seen), gather_rule));
      const auto scatter = [&](Tensor& gradient, const Tensor& like) {
        gradient = make_buffer(gradient.shape(), dtype, gather_rule, "gradient of all rows in order");
        gradient = make(like.shape(), dtype, gather_rule, "gradient of this GPU's rows");
      };
      scatter(k_gradient, kept_k);
      scatter(v_gradient, kept_v);
      b.give(0, std::move(query_gradient));
      b.give(1, std::move(k_gradient));
      b.give(2, std::move(v_gradient));
    };
  finish_node(node, result);
  return result;
}

/// Rows of this GPU and all heads become all rows and a part of the heads (`gathers_rows`), or the other way round. Of
/// each tensor a copy lies as it is sent, while the one before is received and the one before that is put in order on
/// a stream of its own. What is sent and received lives to the end: a Work holds its outputs (ProcessGroupNCCL.cpp).
/// flash_attn_a2a_communicate.
std::vector<Tensor> exchange(const std::vector<Tensor>& tensors, const std::vector<Shape>& shapes, bool gathers_rows) {
  const std::size_t count = tensors.size();
  std::vector<Tensor> sent;
  std::vector<Tensor> received(count);
  std::vector<Tensor> results;
  const auto put_in_order = [&](std::size_t turn) {
    if (turn < 2) return;
    const Set<Stream> stream(active_run().stream, Stream::communication);
    results.push_back(make(shapes[turn - 2], tensors[turn - 2].dtype(), exchange_rule, "rows in order"));
  };
  for (std::size_t turn = 0; turn < count + 2; ++turn) {
    if (turn > 0 && turn <= count)
      received[turn - 1] =
          make_buffer(tensors[turn - 1].shape(), tensors[turn - 1].dtype(), exchange_rule, "received rows");
    if (gathers_rows) put_in_order(turn);
    if (turn < count)
      sent.push_back(make_buffer(tensors[turn].shape(), tensors[turn].dtype(), exchange_rule, "sent rows"));
    if (!gathers_rows) put_in_order(turn);
  }
  let_go(sent);
  return results;
}

/// All rows and 1 / gpus of the heads.
Shape all_rows(const Tensor& x, std::int64_t gpus) {
  return {x.size(0) * Size(gpus), x.size(1), x.size(2) / Size(gpus), x.size(3)};
}

Tensor exchanged(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t gpus) {
  const Ref<Node> node = begin_node(exchange_rule, {&q, &k, &v});
  const std::vector<Tensor> whole =
      exchange({q, k, v}, {all_rows(q, gpus), all_rows(k, gpus), all_rows(v, gpus)}, true);
  const Tensor output = make(output_of(whole[0], whole[2]), q.dtype(), exchange_rule, "output of some heads");
  const Tensor log_sum_exp = statistics(whole[0], whole[0].size(0), exchange_rule);
  for (const Tensor& tensor : whole) keep(node, tensor);
  keep(node, output);
  keep(node, log_sum_exp);
  Tensor result = exchange({output}, {output_of(q, v)}, false)[0];
  if (node)
    node->backward = [shapes = std::vector<Shape>{q.shape(), k.shape(), v.shape()}](Backward& b) {
      const Tensor kept_q = b.kept(0);
      const Tensor kept_k = b.kept(1);
      const Tensor kept_v = b.kept(2);
      const Tensor kept_output = b.kept(3);
      const Tensor sums = b.kept(4);
      note_share(Pass::backward, kept_q, 1);  // all rows, some heads
      const std::vector<Tensor> gradient = exchange({b.gradient()}, {kept_output.shape()}, true);
      const Gradients whole_gradients =
          attention_backward(kept_q, kept_q.size(0), kept_k, kept_v, kept_k.size(0), exchange_rule);
      std::vector<Tensor> results = exchange({whole_gradients.q, whole_gradients.k, whole_gradients.v}, shapes, false);
      for (int i = 0; i < 3; ++i) b.give(i, std::move(results[static_cast<std::size_t>(i)]));
    };
  finish_node(node, result);
  return result;
}

}  // namespace

Tensor context_parallel_attention(Tensor query, Tensor key, Tensor value, std::int64_t gpus,
                                  ContextParallelMethod method) {
  const Tensor q = std::move(query);
  const Tensor k = std::move(key);
  const Tensor v = std::move(value);
  note_share(Pass::forward, q, gpus);
  switch (method) {
    case ContextParallelMethod::all_gather: return gathered(q, k, v, gpus);
    case ContextParallelMethod::all_to_all: return exchanged(q, k, v, gpus);
    case ContextParallelMethod::ring:
    case ContextParallelMethod::automatic: break;  // --cp-comm-type p2p
  }
  return ring(q, k, v, gpus);
}

}  // namespace trainmem::megatron
