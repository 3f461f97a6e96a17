#include "engine/parallel/context.h"

#include "engine/tensor/autograd.h"
#include "engine/tensor/flash_scratch.h"
#include "engine/tensor/run.h"
#include "engine/tensor/selective.h"
#include "engine/tensor/work.h"

namespace trainmem {

namespace {

constexpr const char* source = "pytorch torch/distributed/tensor/experimental/_attention.py";
constexpr Rule ring_rule{"ring attention", "query, key, value, output and log-sum-exp of this GPU's positions", source};
constexpr Rule rotate_rule{"exchange of keys and values", "",
                           "pytorch torch/distributed/tensor/experimental/_attention.py: _RingRotater"};
constexpr Rule merge_rule{"merge of partial outputs", "",
                          "pytorch torch/distributed/tensor/experimental/_attention.py: _SDPAMerger"};

Tensor make(const Shape& shape, DType dtype, const Rule& rule, const char* role) {
  return allocate(shape, dtype, {&rule, role});
}

/// Sends a buffer on to the next GPU, or gathers those of all GPUs at the first call.
class Rotater {
 public:
  Rotater(std::int64_t gpus, bool gathers) : gpus_(gpus), gathers_(gathers) {}
  void exchange(const Tensor& buffer) {
    if (gathers_ && received_.defined()) return;
    const Set<Component> component(active_run().component, Component::communication);
    const Size elements = gathers_ ? buffer.elements() * Size(gpus_) : buffer.elements();
    received_ = make({elements}, buffer.dtype(), rotate_rule, "keys and values of other GPUs");
  }
  const Tensor& received() const { return received_; }

 private:
  std::int64_t gpus_;
  bool gathers_;
  Tensor received_;
};

/// Joins the outputs of steps: out - sigmoid(block_lse - lse) * (out - block_out), in fp32.
class Merger {
 public:
  void step(const Tensor& block_output, const Tensor& block_sums) {
    const Tensor block = is_half(block_output.dtype())
                             ? make(block_output.shape(), DType::float32, merge_rule, "partial output in fp32")
                             : block_output;
    if (!output_.defined()) {
      output_ = block;
      sums_ = block_sums;
      return;
    }
    Tensor scaled;
    {
      const Tensor share = make(sums_.shape(), DType::float32, merge_rule, "share of the block");
      const Tensor difference = make(block.shape(), DType::float32, merge_rule, "difference of outputs");
      scaled = make(block.shape(), DType::float32, merge_rule, "scaled difference");
    }
    output_ = make(block.shape(), DType::float32, merge_rule, "merged output");
    scaled.reset();
    const Tensor logarithm = make(sums_.shape(), DType::float32, merge_rule, "logarithm of the share");
    sums_ = make(sums_.shape(), DType::float32, merge_rule, "merged log-sum-exp");
  }
  const Tensor& output() const { return output_; }
  const Tensor& sums() const { return sums_; }

 private:
  Tensor output_;
  Tensor sums_;
};

/// This GPU's share of the pairs of a causal sequence: half of its queries times all keys.
void note_share(Pass pass, const Tensor& q, std::int64_t gpus) {
  note_attention(pass, {q.size(0), q.size(1), q.size(2), q.size(2) * Size(gpus) / Size(2), q.size(3), false});
}

/// Gradients of query, and of the keys and values that pass by, summed up in fp32. The last GPU's queries see the
/// first half of what every other GPU has.
void backward(Backward& b, std::int64_t gpus, bool gathers) {
  const Tensor q = b.kept(0);
  const Tensor k = b.kept(1);
  const Tensor v = b.kept(2);
  const Tensor output = b.kept(3);
  const Tensor sums = b.kept(4);
  note_share(Pass::backward, q, gpus);
  const DType dtype = q.dtype();
  const auto in_fp32 = [](const Tensor& like, const char* role) {
    return make(like.shape(), DType::float32, ring_rule, role);
  };
  const Tensor query_sum = in_fp32(q, "fp32 gradient of query");
  Tensor key_sum = in_fp32(k, "fp32 gradient of key");
  Tensor value_sum = in_fp32(v, "fp32 gradient of value");
  Tensor key = make(k.shape(), dtype, ring_rule, "contiguous key");
  Tensor value = make(v.shape(), dtype, ring_rule, "contiguous value");
  const Size both = k.elements() + v.elements();
  Rotater keys_and_values(gpus, gathers);
  Rotater gradients(gpus, false);
  Tensor query_part, key_part, value_part, sent;
  for (std::int64_t i = 0; i < gpus; ++i) {
    if (i > 0) {
      key = alias(keys_and_values.received(), k.shape(), contiguous_strides(k.shape()));
      value = alias(keys_and_values.received(), v.shape(), contiguous_strides(v.shape()));
    }
    if (i + 1 < gpus) {
      const Tensor joined = make({both}, dtype, rotate_rule, "keys and values");
      keys_and_values.exchange(joined);
    }
    Shape half = k.shape();
    if (i > 0) half[2] = half[2] / Size(2);
    {
      Tensor of_query, of_key, of_value;
      flash_backward(q, k, false, [&] {
        of_query = make(q.shape(), dtype, ring_rule, "gradient of query");
        of_key = make(half, dtype, ring_rule, "gradient of key");
        of_value = make(half, dtype, ring_rule, "gradient of value");
      });
      query_part = std::move(of_query);
      key_part = std::move(of_key);
      value_part = std::move(of_value);
    }
    if (i > 0) {
      key_sum = alias(gradients.received(), k.shape(), contiguous_strides(k.shape()));
      value_sum = alias(gradients.received(), v.shape(), contiguous_strides(v.shape()));
      key_sum = in_fp32(k, "fp32 gradient of key");
      value_sum = in_fp32(v, "fp32 gradient of value");
    }
    sent = make({both}, DType::float32, rotate_rule, "gradients of keys and values");
    gradients.exchange(sent);
  }
  Tensor query_gradient = make(q.shape(), dtype, ring_rule, "gradient of query");
  const Tensor joined = make({both}, dtype, ring_rule, "gradients of key and value");
  b.give(0, std::move(query_gradient));
  b.give(1, alias(joined, k.shape(), contiguous_strides(k.shape())));
  b.give(2, alias(joined, v.shape(), contiguous_strides(v.shape())));
}

/// Output and log-sum-exp of this GPU's queries over the whole sequence.
std::vector<Tensor> forward(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t gpus, bool gathers) {
  note_share(Pass::forward, q, gpus);
  Tensor key = make(k.shape(), k.dtype(), ring_rule, "contiguous key");
  Tensor value = make(v.shape(), v.dtype(), ring_rule, "contiguous value");
  Rotater rotater(gpus, gathers);
  Merger merger;
  Tensor output, sums;
  for (std::int64_t i = 0; i < gpus; ++i) {
    if (i > 0) {
      key = alias(rotater.received(), k.shape(), contiguous_strides(k.shape()));
      value = alias(rotater.received(), v.shape(), contiguous_strides(v.shape()));
    }
    if (i + 1 < gpus) {
      const Tensor joined = make({k.elements() + v.elements()}, k.dtype(), rotate_rule, "keys and values");
      rotater.exchange(joined);
    }
    Tensor of_step = make(q.shape(), q.dtype(), ring_rule, "output of a step");
    Tensor sums_of_step = make({q.size(0), q.size(1), q.size(2)}, DType::float32, ring_rule, "log-sum-exp");
    output = std::move(of_step);
    sums = std::move(sums_of_step);
    merger.step(output, sums);
  }
  Tensor result = make(q.shape(), q.dtype(), ring_rule, "attention output");
  return {std::move(result), merger.sums()};
}

}  // namespace

Tensor ring_attention(Tensor query, Tensor keys, Tensor values, std::int64_t gpus, ContextParallelMethod method) {
  const Tensor q = std::move(query);
  const Tensor k = std::move(keys);
  const Tensor v = std::move(values);
  const bool gathers = method != ContextParallelMethod::ring;  // _cp_options.rotate_method: all-gather
  const Ref<Node> node = begin_node(ring_rule, {&q, &k, &v});
  keep(node, q);
  keep(node, k);
  keep(node, v);
  std::vector<Tensor> results = selected_results([&] { return forward(q, k, v, gpus, gathers); });
  keep(node, results[0]);
  keep(node, results[1]);
  if (node) node->backward = [gpus, gathers](Backward& b) { backward(b, gpus, gathers); };
  finish_node(node, results[0]);
  return std::move(results[0]);
}

}  // namespace trainmem
