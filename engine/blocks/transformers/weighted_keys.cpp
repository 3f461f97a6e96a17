#include "engine/blocks/transformers/weighted_keys.h"

#include <cstdint>
#include <utility>

#include "engine/tensor/autograd.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/token_steps.h"
#include "engine/tensor/write_columns.h"

namespace trainmem::transformers {

namespace {

constexpr const char* kernel_source = "transformers models/rwkv/modeling_rwkv.py: RwkvLinearAttention";
constexpr const char* loop_source = "transformers models/rwkv/modeling_rwkv.py: rwkv_linear_attention_cpu";
constexpr Rule kernel_rule{"weighted keys", "keys, values and their weighted means: the kernel's backward reads them",
                           kernel_source};
constexpr Rule state_rule{"state", "", loop_source};
constexpr Rule token_rule{"recurrence", "exponentials, sums and states of every token: its backward needs them",
                          loop_source};
constexpr Rule maximum_rule{"maximum", "operands of a maximum: the gradient is zero where the other is larger",
                            "derivatives.yaml: maximum"};

Tensor maximum(const Tensor& a, const Tensor& b) {
  const Ref<Node> node = begin_node(maximum_rule, {&a, &b});
  keep(node, a);
  keep(node, b);
  Tensor result = allocate(a.shape(), promote(a.dtype(), b.dtype()), {&maximum_rule});
  if (node)
    node->backward = [](Backward& backward) {
      const Tensor kept_a = backward.kept(0);
      const Tensor kept_b = backward.kept(1);
      for (int i = 0; i < 2; ++i) {
        if (!backward.wants(i)) continue;
        const Tensor equal = allocate(kept_a.shape(), DType::boolean, {&maximum_rule});
        const Tensor half = allocate(kept_a.shape(), backward.gradient().dtype(), {&maximum_rule});
        backward.give(i, allocate(kept_a.shape(), backward.gradient().dtype(), {&maximum_rule}));
      }
    };
  finish_node(node, result);
  return result;
}

/// rwkv_linear_attention_cpu. All but two tokens are one operation, which keeps what theirs would: no later token has
/// more at once in its backward than the last but one.
class Loop {
 public:
  Loop(const Tensor& decay, const Tensor& bonus, const Tensor& key, const Tensor& value)
      : bonus_(bonus), key_(key), value_(value) {
    out_ = allocate(key.shape(), key.dtype(), {&state_rule, "weighted values"});
    const auto zeros = [&] { return allocate({key.size(0), key.size(2)}, DType::float32, {&state_rule, "state"}); };
    numerator_ = zeros();
    denominator_ = zeros();
    {
      const Tensor before = zeros();
      largest_ = zeros();
    }
    decay_ = negate(exp(decay));
  }

  Tensor run() {
    const std::int64_t tokens = key_.size(1).value();
    if (tokens > 2) pass(tokens - 2);
    for (std::int64_t i = 0; i < tokens && i < 2; ++i) step();
    return out_;
  }

 private:
  void step() {
    current_key_ = to(at_token(key_), DType::float32);
    current_value_ = at_token(value_);
    largest_of_output_ = maximum(largest_, current_key_ + bonus_);
    first_ = exp(subtract(largest_, largest_of_output_));
    second_ = exp(subtract(current_key_ + bonus_, largest_of_output_));
    {
      Tensor faded = first_ * numerator_;
      sum_ = std::move(faded) + second_ * current_value_;
    }
    weight_ = first_ * denominator_ + second_;
    {
      const Tensor column = to(divide(sum_, weight_), out_.dtype());
      out_ = write_columns(std::move(out_), column);
    }
    const Tensor largest = maximum(largest_ + decay_, current_key_);
    first_ = exp(subtract(largest_ + decay_, largest));
    second_ = exp(subtract(current_key_, largest));
    {
      Tensor faded = first_ * numerator_;
      numerator_ = std::move(faded) + second_ * current_value_;
    }
    denominator_ = first_ * denominator_ + second_;
    largest_ = largest;
  }

  void pass(std::int64_t tokens) {
    const Shape one = numerator_.shape();
    const Ref<Node> node = begin_node(token_rule, {&key_, &value_, &bonus_, &decay_});
    keep(node, numerator_);
    keep(node, denominator_);
    keep(node, largest_);
    const bool kept = node && !numerator_.sole_owner();  // a first forward of what is recomputed drops them one by one
    // Of a token: its key in fp32 unless that is a view, two sums, four exponentials, what is divided and by what, and
    // three states, of which the last token's are made below.
    const std::int64_t cast = key_.dtype() == DType::float32 ? 0 : 1;
    const auto keep_states = [&](std::int64_t count) {
      keep(node, allocate({one[0], kept ? count : 1, one[1]}, DType::float32, {&token_rule, "states"}));
    };
    keep_states(tokens * (8 + cast) + (tokens - 1) * 3);
    if (cast == 0) keep(node, key_);
    keep(node, value_);
    const auto next = [&] { return allocate(one, DType::float32, {&token_rule, "states"}); };
    numerator_ = next();
    denominator_ = next();
    largest_ = next();
    keep(node, numerator_);
    keep(node, denominator_);
    keep(node, largest_);
    Tensor written = alias(out_, out_.shape(), out_->strides);
    if (node) node->backward = [](Backward&) {};
    finish_node(node, written);
    finish_node(node, numerator_);
    finish_node(node, denominator_);
    finish_node(node, largest_);
    out_ = std::move(written);
  }

  const Tensor& bonus_;
  const Tensor& key_;
  const Tensor& value_;
  Tensor decay_, out_, numerator_, denominator_, largest_;
  // Variables of Python's loop, which hold what they are given until they are given the next.
  Tensor current_key_, current_value_, largest_of_output_, first_, second_, sum_, weight_;
};

}  // namespace

Tensor weighted_keys_by_operations(const Tensor& decay, const Tensor& bonus, const Tensor& key, const Tensor& value) {
  return Loop(decay, bonus, key, value).run();
}

// RwkvLinearAttention computes in fp32 where it is given fp16, and in bf16 or fp32 as it is given these.
Tensor weighted_keys(const Tensor& decay, const Tensor& bonus, const Tensor& key, const Tensor& value) {
  const Ref<Node> node = begin_node(kernel_rule, {&decay, &bonus, &key, &value});
  const Set<bool> no_grad(active_run().grad_enabled, false);
  const Tensor rate = negate(exp(to(decay, DType::float32)));
  const bool upcast = key.dtype() == DType::float16;
  const auto given = [&](const Tensor& x) { return upcast ? to(x, DType::float32) : x; };
  const Tensor first = given(bonus);
  const Tensor keys = given(key);
  const Tensor values = given(value);
  const Tensor out = allocate(keys.shape(), keys.dtype(), {&kernel_rule, "weighted values"});
  for (const Tensor& each : {rate, first, keys, values, out}) keep(node, each);
  Tensor result = upcast ? to(out, key.dtype()) : alias(out, out.shape(), out->strides);
  if (node)
    node->backward = [format = key.dtype()](Backward& b) {
      const Tensor kept[] = {b.kept(0), b.kept(1), b.kept(2), b.kept(3), b.kept(4)};
      const bool low = format == DType::bfloat16;
      const Shape channels = kept[0].shape();
      const Shape all = kept[2].shape();
      const DType inner = kept[2].dtype();
      const Tensor arrived = inner == b.gradient().dtype() ? b.gradient() : allocate(all, inner, {&kernel_rule});
      const auto cast = [&](const Tensor& x) {
        return x.dtype() == format ? x : allocate(x.shape(), format, {&kernel_rule});
      };
      Tensor of_decay = allocate(channels, low ? DType::bfloat16 : DType::float32, {&kernel_rule});
      Tensor of_bonus = allocate(channels, kept[1].dtype(), {&kernel_rule});
      Tensor of_key = allocate(all, inner, {&kernel_rule});
      Tensor of_value = allocate(all, inner, {&kernel_rule});
      b.give(0, cast(of_decay));
      b.give(1, cast(of_bonus));
      b.give(2, cast(of_key));
      b.give(3, cast(of_value));
    };
  finish_node(node, result);
  return result;
}

}  // namespace trainmem::transformers
