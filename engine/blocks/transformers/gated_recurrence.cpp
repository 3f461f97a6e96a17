#include "engine/blocks/transformers/gated_recurrence.h"

#include <array>
#include <cstdint>
#include <utility>

#include "engine/tensor/autograd.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/token_steps.h"
#include "engine/tensor/write_columns.h"

namespace trainmem::transformers {

namespace {

constexpr const char* source = "transformers models/recurrent_gemma/modeling_recurrent_gemma.py: RecurrentGemmaRglru";
constexpr Rule heads_rule{"product of heads", "operands of a batched product: its backward needs them",
                          "derivatives.yaml: baddbmm"};
constexpr Rule root_rule{"bounded square root", "what the root is taken of: its backward needs it",
                         "transformers models/recurrent_gemma/modeling_recurrent_gemma.py: SqrtBoundDerivative"};
constexpr Rule reset_rule{"reset", "where a sequence begins", source};
constexpr Rule state_rule{"state", "", source};
constexpr Rule token_rule{"recurrence", "gates and states of every token: its backward needs them", source};

/// baddbmm(bias, x, weight): (heads, 1, out), (heads, rows, in), (heads, in, out).
Tensor product_of_heads(const Tensor& given_bias, const Tensor& given_x, const Tensor& given_weight) {
  const Tensor bias = autocast_low(given_bias);
  const Tensor x = autocast_low(given_x);
  const Tensor weight = autocast_low(given_weight);
  const Ref<Node> node = begin_node(heads_rule, {&bias, &x, &weight});
  if (wants(node, 2)) keep(node, x);
  if (wants(node, 1)) keep(node, weight);
  Tensor result = allocate({x.size(0), x.size(1), weight.size(2)}, x.dtype(), {&heads_rule});
  if (node)
    node->backward = [shapes = std::array{bias.shape(), x.shape(), weight.shape()}](Backward& b) {
      const Tensor first = b.wants(1) || b.wants(2) ? b.kept(0) : Tensor();
      const Tensor second = b.wants(1) && b.wants(2) ? b.kept(1) : Tensor();
      const DType dtype = b.gradient().dtype();
      if (b.wants(0)) b.give(0, reduce_to(b.gradient(), shapes[0]));
      if (b.wants(1)) b.give(1, allocate(shapes[1], dtype, {&heads_rule}));
      if (b.wants(2)) b.give(2, allocate(shapes[2], dtype, {&heads_rule, "weight gradient"}));
    };
  finish_node(node, result);
  return result;
}

Tensor bounded_root(const Tensor& x) {
  const Ref<Node> node = begin_node(root_rule, {&x});
  keep(node, x);
  Tensor result = allocate(x.shape(), x.dtype(), {&root_rule});
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const auto like = [&] { return allocate(kept.shape(), kept.dtype(), {&root_rule}); };
      Tensor clipped;
      {
        const Tensor scaled = like();
        clipped = like();
      }
      const Tensor root = like();
      b.give(0, like());
    };
  finish_node(node, result);
  return result;
}

/// _rnn_scan. All but two tokens are one operation, which keeps what theirs would: no later token has more at once in
/// its backward than the last but one.
class Scan {
 public:
  Scan(const Tensor& gate, const Tensor& input) : gate_(gate), input_(input) {
    state_ = allocate({input.size(0), input.size(2)}, DType::float32, {&state_rule, "state"});
    out_ = allocate(input.shape(), input.dtype(), {&state_rule, "states of all tokens"});
  }

  Tensor run() {
    const std::int64_t tokens = gate_.size(1).value();
    if (tokens > 2) pass(tokens - 2);
    for (std::int64_t i = 0; i < tokens && i < 2; ++i) step();
    return out_;
  }

  const Tensor& state() const { return state_; }

 private:
  void step() {
    state_ = to(at_token(gate_), DType::float32) * state_;
    state_ = state_ + to(at_token(input_), DType::float32);
    const Tensor column = to(state_, out_.dtype());
    out_ = write_columns(std::move(out_), column);
  }

  void pass(std::int64_t tokens) {
    const Shape one = state_.shape();
    const Ref<Node> node = begin_node(token_rule, {&gate_, &input_});
    keep(node, state_);
    const bool kept = node && !state_.sole_owner();  // a first forward of what is recomputed drops them one by one
    const std::int64_t cast = gate_.dtype() == DType::float32 ? 0 : 1;
    const std::int64_t states = tokens * cast + tokens - 1;
    keep(node, allocate({one[0], kept ? states : 1, one[1]}, DType::float32, {&token_rule, "states"}));
    if (cast == 0) keep(node, gate_);
    state_ = allocate(one, DType::float32, {&token_rule, "state"});
    keep(node, state_);
    Tensor written = alias(out_, out_.shape(), out_->strides);
    if (node) node->backward = [](Backward&) {};
    finish_node(node, written);
    finish_node(node, state_);
    out_ = std::move(written);
  }

  const Tensor& gate_;
  const Tensor& input_;
  Tensor state_, out_;
};

}  // namespace

GatedRecurrence::GatedRecurrence(const Model& m, DType dtype)
    : heads_(m.num_attention_heads), head_width_(m.hidden_size / m.num_attention_heads) {
  const auto weight = [&] { return make_parameter({heads_, head_width_, head_width_}, dtype, "recurrence gate"); };
  const auto bias = [&] { return make_parameter({heads_, head_width_}, dtype, "recurrence gate"); };
  decay_ = make_parameter({m.hidden_size}, dtype, "recurrence decay");
  input_weight_ = weight();
  input_bias_ = bias();
  recurrent_weight_ = weight();
  recurrent_bias_ = bias();
}

Tensor GatedRecurrence::gate(const Tensor& by_head, const Tensor& weight, const Tensor& bias, Tensor& product,
                             const Shape& shape) const {
  product = product_of_heads(unsqueeze(bias, 1), by_head, weight);
  return sigmoid(reshape(transpose(product, 0, 1), shape));
}

Tensor GatedRecurrence::operator()(const Tensor& x) const {
  const Shape shape = x.shape();
  const Shape mask{1, shape[1], 1};
  const Tensor reset = allocate(mask, DType::boolean, {&reset_rule});
  const auto others = [&] { return allocate(mask, DType::boolean, {&reset_rule, "not reset"}); };
  const Tensor by_head = transpose(reshape(x, {shape[0] * shape[1], heads_, head_width_}), 0, 1);
  Tensor product;
  const Tensor input_gate = gate(by_head, input_weight_, input_bias_, product, shape);
  Tensor recurrent_gate = gate(by_head, recurrent_weight_, recurrent_bias_, product, shape);
  Tensor logarithm;
  {
    Tensor scaled = multiply_number(recurrent_gate);
    logarithm = std::move(scaled) * softplus(decay_);
  }
  recurrent_gate = exp(logarithm);
  const Tensor squared = exp(multiply_number(logarithm));
  const Tensor gated = x * input_gate;
  Tensor multiplier = bounded_root(negate(squared));
  multiplier = reset + others() * multiplier;
  const Tensor normalised = gated * to(multiplier, x.dtype());
  const Tensor kept_gate = recurrent_gate * others();
  Scan scan(kept_gate, normalised);
  Tensor result = scan.run();
  last_state_ = scan.state();
  return result;
}

}  // namespace trainmem::transformers
