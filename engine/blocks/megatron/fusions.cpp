// Kernels that take several operations at once, and recomputation.
#include "engine/blocks/megatron/operations.h"
#include "engine/tensor/run.h"
#include "engine/tensor/work.h"

namespace trainmem::megatron {

namespace {

constexpr Rule gelu_rule{"bias-gelu", "input of the fused bias and GELU: its backward needs it",
                         "Megatron-Core fusions/fused_bias_gelu.py: GeLUFunction"};
constexpr Rule swiglu_rule{"bias-swiglu", "input of the fused SwiGLU, both halves: its backward needs it",
                           "Megatron-Core fusions/fused_bias_swiglu.py: BiasSwiGLUFunction"};
constexpr Rule add_rule{"bias-dropout-add", "mask of dropout, 1 byte an element",
                        "Megatron-Core fusions/fused_bias_dropout.py"};
constexpr Rule softmax_rule{"scaled masked softmax", "result of softmax: its backward needs it",
                            "Megatron-Core fusions/fused_softmax.py: ScaledUpperTriangMaskedSoftmax"};
constexpr Rule flash_rule{"flash attention",
                          "query, key, value, output and log-sum-exp: the backward of flash attention needs them",
                          "Transformer Engine pytorch/attention: FusedAttnFunc"};
constexpr Rule rope_rule{"rotary embedding", "", "Transformer Engine pytorch/attention/rope.py: FusedRoPEFunc"};
constexpr Rule recompute_rule{"recomputation", "input of a recomputed part: its forward runs again in backward",
                              "Megatron-Core tensor_parallel/random.py: CheckpointFunction"};
constexpr Rule discard_rule{"recomputation", "input of a norm: its result is computed again in backward",
                            "Megatron-Core tensor_parallel/random.py: CheckpointWithoutOutput"};

/// One tensor out, one gradient of the argument's shape back; keeps the argument.
Tensor activation(Tensor argument, const Tensor& bias, const Shape& result_shape, const Rule& rule) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(rule, {&x, &bias});
  keep(node, x);
  Tensor result = allocate(result_shape, x.dtype(), {&rule});
  if (node)
    node->backward = [&rule](Backward& b) {
      const Tensor kept = b.kept(0);
      if (b.wants(1)) b.give(1, allocate({kept.size(-1)}, kept.dtype(), {&rule, "bias gradient"}));
      b.give(0, allocate(kept.shape(), kept.dtype(), {&rule}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace

Tensor bias_gelu(Tensor x, const Tensor& bias) {
  const Shape shape = x.shape();
  return activation(std::move(x), bias, shape, gelu_rule);
}

Tensor bias_swiglu(Tensor x, const Tensor& bias) {
  Shape shape = x.shape();
  shape[-1] = shape[-1] / Size(2);
  return activation(std::move(x), bias, shape, swiglu_rule);
}

Tensor bias_dropout_add(Tensor argument, const Tensor& bias, Tensor residual, double probability) {
  const Tensor x = std::move(argument);
  const Tensor stream = std::move(residual);
  const Ref<Node> node = begin_node(add_rule, {&x, &bias, &stream});
  Tensor result = allocate(stream.shape(), stream.dtype(), {&add_rule, "residual stream"});
  const bool drops = probability > 0;
  if (drops) keep(node, allocate(x.shape(), DType::boolean, {&add_rule, "dropout mask"}));
  if (node)
    node->backward = [drops](Backward& b) {
      const Tensor gradient = b.take_gradient();
      const Tensor mask = drops ? b.kept(0) : Tensor();
      Tensor branch = drops ? allocate(gradient.shape(), gradient.dtype(), {&add_rule}) : gradient;
      if (b.wants(1)) b.give(1, allocate({gradient.size(-1)}, gradient.dtype(), {&add_rule, "bias gradient"}));
      if (b.wants(0)) b.give(0, std::move(branch));
      if (b.wants(2)) b.give(2, gradient);
    };
  finish_node(node, result);
  return result;
}

Tensor scaled_masked_softmax(Tensor argument) {
  const Tensor scores = std::move(argument);
  const Ref<Node> node = begin_node(softmax_rule, {&scores});
  Tensor result = allocate(scores.shape(), scores.dtype(), {&softmax_rule, "attention probabilities"});
  keep(node, result);
  if (node) node->backward = [](Backward& b) { b.give(0, b.take_gradient()); };
  finish_node(node, result);
  return result;
}

Tensor flash_attention(Tensor query, Tensor key, Tensor value) {
  const Tensor q = std::move(query);
  const Tensor k = std::move(key);
  const Tensor v = std::move(value);
  const Ref<Node> node = begin_node(flash_rule, {&q, &k, &v});
  keep(node, q);
  keep(node, k);
  keep(node, v);
  const AttentionSizes sizes{q.size(1), q.size(2), q.size(0), k.size(0), q.size(3), true};
  note_attention(Pass::forward, sizes);
  Shape shape = q.shape();
  shape[-1] = v.size(-1);
  Tensor result = allocate(shape, q.dtype(), {&flash_rule, "attention output"});
  const Tensor log_sum_exp = allocate({q.size(1), q.size(2), q.size(0)}, DType::float32, {&flash_rule, "log-sum-exp"});
  keep(node, result);
  keep(node, log_sum_exp);
  if (node)
    node->backward = [sizes](Backward& b) {
      note_attention(Pass::backward, sizes);
      const Tensor kept_q = b.kept(0);
      const Tensor kept_k = b.kept(1);
      const Tensor kept_v = b.kept(2);
      const Tensor output = b.kept(3);
      const Tensor statistics = b.kept(4);
      b.give(0, allocate(kept_q.shape(), kept_q.dtype(), {&flash_rule, "gradient of query"}));
      b.give(1, allocate(kept_k.shape(), kept_q.dtype(), {&flash_rule, "gradient of key"}));
      b.give(2, allocate(kept_v.shape(), kept_q.dtype(), {&flash_rule, "gradient of value"}));
      const Tensor row_sums = allocate(statistics.shape(), DType::float32, {&flash_rule, "row sums (scratch)", true});
      const Tensor accumulator =
          allocate(kept_q.shape(), DType::float32, {&flash_rule, "fp32 gradient of query (scratch)", true});
    };
  finish_node(node, result);
  return result;
}

Tensor fused_rope(Tensor argument, const Tensor& frequencies) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(rope_rule, {&x});
  keep(node, frequencies);
  Tensor result = allocate(x.shape(), x.dtype(), {&rope_rule});
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      b.give(0, allocate(b.gradient().shape(), b.gradient().dtype(), {&rope_rule}));
    };
  finish_node(node, result);
  return result;
}

Tensor recompute(Forward forward, std::vector<Tensor> inputs) {
  return recompute(recompute_rule, std::move(forward), std::move(inputs));
}

Tensor recompute(const Rule& rule, Forward forward, std::vector<Tensor> inputs) {
  Run& run = active_run();
  const Ref<Node> node = begin_node(rule, inputs);
  for (const Tensor& input : inputs) keep(node, input);
  Tensor result;
  {
    const Set<bool> no_grad(run.grad_enabled, false);
    result = forward(inputs);
  }
  const std::size_t count = inputs.size();
  inputs.clear();
  result = alias(result, result.shape(), result->strides);
  if (node)
    node->backward = [forward = std::move(forward), count](Backward& b) {
      Run& active = active_run();
      // A layer that stands for several is counted by the backward that called this one.
      const Set<FlatMap<std::int32_t, Size>> times(active.folding.times, {});
      std::vector<Tensor> detached;
      for (std::size_t i = 0; i < count; ++i) {
        detached.push_back(detach(b.kept(static_cast<int>(i))));
        detached.back()->requires_grad = b.wants(static_cast<int>(i));
      }
      Tensor output;
      {
        const Set<bool> grad(active.grad_enabled, true);
        output = forward(detached);
      }
      run_backward(output, b.gradient());
      output.reset();
      for (std::size_t i = 0; i < count; ++i) {
        if (b.wants(static_cast<int>(i))) b.give(static_cast<int>(i), std::move(detached[i]->grad));
        detached[i]->grad_fn = Ref<Node>();
      }
    };
  finish_node(node, result);
  return result;
}

Tensor DiscardedResult::run(Forward forward, Tensor argument) {
  const Tensor input = std::move(argument);
  const Ref<Node> node = begin_node(discard_rule, {&input});
  keep(node, input);
  {
    const Set<bool> no_grad(active_run().grad_enabled, false);
    result_ = forward({input});
  }
  Tensor result = alias(result_, result_.shape(), result_->strides);
  if (node) {
    state_ = std::make_shared<State>(State{std::move(forward), detach(input), {}});
    state_->input->requires_grad = true;
    node->backward = [state = state_](Backward& b) {
      const Tensor kept = b.kept(0);
      run_backward(state->again, b.gradient());
      state->again.reset();
      b.give(0, std::move(state->input->grad));
      state->input->grad_fn = Ref<Node>();
      state->input.reset();
    };
  }
  finish_node(node, result);
  return result;
}

void DiscardedResult::discard(const Tensor& consumer) {
  if (!state_ || !consumer->grad_fn) return;
  take_memory(result_);
  consumer->grad_fn->before = [state = state_] {
    const Set<bool> grad(active_run().grad_enabled, true);
    const Set<FlatMap<std::int32_t, Size>> times(active_run().folding.times, {});
    state->again = state->forward({state->input});
  };
}

}  // namespace trainmem::megatron
