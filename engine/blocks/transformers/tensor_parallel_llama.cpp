#include "engine/blocks/transformers/tensor_parallel_llama.h"

#include "engine/blocks/transformers/parts.h"
#include "engine/blocks/transformers/rotary.h"
#include "engine/tensor/collective.h"

namespace trainmem::transformers {

namespace {

constexpr Rule embedding_rule{"embedding", "token ids: the gradient of the table needs them",
                              "pytorch torch/distributed/tensor/_ops/_embedding_ops.py"};
constexpr Rule loss_rule{"parallel cross entropy", "log-probabilities: the backward of the loss needs them",
                         "pytorch torch/distributed/tensor/parallel/loss.py"};

constexpr int sequence = 1;  // dimension of (b, s, h) that sequence parallelism divides

/// The whole sequence, before a layer that is divided by its outputs.
Tensor to_divided_layer(Tensor x, const TensorParallel& group) {
  return group.sequence_parallel ? all_gather(std::move(x), sequence, group.size) : replicate(std::move(x));
}

/// The sum of the parts, after a layer that is divided by its inputs.
Tensor from_divided_layer(Tensor x, const TensorParallel& group) {
  return group.sequence_parallel ? reduce_scatter(std::move(x), sequence, group.size) : all_reduce(std::move(x));
}

class TensorParallelBlock : public Block {
 public:
  TensorParallelBlock(const Model& m, DType dtype, const TensorParallel& group) : model_(m), group_(group) {
    const Size h = m.hidden_size;
    const Size d = m.head_dim;
    const Size a = Size(m.num_attention_heads) / group.size;
    const Size k = Size(m.num_key_value_heads) / group.size;
    const Size i = Size(m.intermediate_size) / group.size;
    query_ = Linear(h, a * d, false, dtype, "query");
    key_ = Linear(h, k * d, false, dtype, "key");
    value_ = Linear(h, k * d, false, dtype, "value");
    output_ = Linear(a * d, h, false, dtype, "attention projection");
    gate_ = Linear(h, i, false, dtype, "gate");
    up_ = Linear(h, i, false, dtype, "up");
    down_ = Linear(i, h, false, dtype, "down");
    input_norm_ = NormLayer(NormLayer::Form::llama, {h}, true, false, dtype);
    post_attention_norm_ = NormLayer(NormLayer::Form::llama, {h}, true, false, dtype);
  }

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor residual = hidden;
    hidden = norm("norm before attention", input_norm_, hidden);
    hidden = attend(hidden, inputs);
    hidden = residual + hidden;
    residual = hidden;
    hidden = norm("norm before MLP", post_attention_norm_, hidden);
    hidden = mlp(hidden);
    hidden = residual + hidden;
    return hidden;
  }

 private:
  static Tensor norm(const char* name, const NormLayer& layer, const Tensor& x) {
    const Place place(name);
    return layer(x);
  }

  Tensor attend(const Tensor& hidden, const BlockInputs& inputs) const {
    const Place place("attention");
    const Size d = model_.head_dim;
    const Size a = Size(model_.num_attention_heads) / group_.size;
    const Size k = Size(model_.num_key_value_heads) / group_.size;
    const Tensor x = to_divided_layer(hidden, group_);
    Tensor q = split_heads(query_(x), a, d);
    Tensor key = split_heads(key_(x), k, d);
    const Tensor value = split_heads(value_(x), k, d);
    apply_rotary(q, key, inputs.cos, inputs.sin);
    Tensor weights;
    Tensor out = attention(q, key, value, inputs.mask, inputs.attention, {model_.attention_dropout}, weights);
    out = reshape(std::move(out), {x.size(0), x.size(1), a * d});
    out = output_(out);
    return from_divided_layer(std::move(out), group_);
  }

  Tensor mlp(const Tensor& hidden) const {
    const Place place("mlp");
    const Tensor x = to_divided_layer(hidden, group_);
    Tensor gate = silu(gate_(x));
    Tensor out = down_(std::move(gate) * up_(x));
    return from_divided_layer(std::move(out), group_);
  }

  const Model& model_;
  const TensorParallel& group_;
  Linear query_, key_, value_, output_, gate_, up_, down_;
  NormLayer input_norm_, post_attention_norm_;
};

/// Rows of other GPUs' part of the vocabulary are zero. The gradient that DTensor hands to the part is that of the
/// whole table.
Tensor divided_embedding(const Tensor& weight, const Tensor& ids, const Size& group) {
  const Ref<Node> node = begin_node(embedding_rule, {&weight});
  Shape shape = ids.shape();
  shape.append(weight.size(1));
  Tensor result;
  {
    const Tensor outside = allocate(ids.shape(), DType::boolean, {&embedding_rule, "ids of other parts"});
    const Tensor local_ids = allocate(ids.shape(), DType::int64, {&embedding_rule, "ids within the part"});
    keep(node, local_ids);
    result = allocate(shape, weight.dtype(), {&embedding_rule});
  }
  if (node)
    node->backward = [part = weight.shape(), whole = weight.size(0) * group](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor gradient =
          allocate({whole, part[1]}, b.gradient().dtype(), {&embedding_rule, "gradient of the whole table"});
      b.give(0, alias(gradient, part, contiguous_strides(part)));
    };
  finish_node(node, result);
  return result;
}

/// _log_softmax_handler, _nll_loss_forward_handler and their backward, on (tokens, vocabulary / group) logits.
Tensor parallel_cross_entropy(const Tensor& logits, const Tensor& labels) {
  const Ref<Node> node = begin_node(loss_rule, {&logits});
  const Shape row{logits.size(0), 1};
  const DType dtype = logits.dtype();
  Tensor probabilities;
  {
    Tensor highest = allocate(row, dtype, {&loss_rule});
    highest = allocate(row, dtype, {&loss_rule});
    const Tensor shifted = allocate(logits.shape(), dtype, {&loss_rule, "shifted logits"});
    Tensor sum;
    {
      const Tensor exponentials = allocate(logits.shape(), dtype, {&loss_rule, "exponentials"});
      sum = allocate(row, dtype, {&loss_rule});
    }
    sum = allocate(row, dtype, {&loss_rule});
    sum = allocate(row, dtype, {&loss_rule});
    probabilities = allocate(logits.shape(), dtype, {&loss_rule, "log-probabilities"});
  }
  Tensor loss = allocate({}, dtype, {&loss_rule, "loss"});
  const Tensor weight = allocate({}, dtype, {&loss_rule, "total weight"});
  keep(node, probabilities);
  keep(node, labels);
  keep(node, weight);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor targets = allocate(kept.shape(), kept.dtype(), {&loss_rule, "minus one at the labels"});
      const Tensor exponentials = allocate(kept.shape(), kept.dtype(), {&loss_rule, "probabilities"});
      b.give(0, allocate(kept.shape(), kept.dtype(), {&loss_rule, "gradient of logits"}));
    };
  finish_node(node, loss);
  return loss;
}

class TensorParallelLlama : public Architecture {
 public:
  TensorParallelLlama(const Model& description, DType dtype, const TensorParallel& group)
      : Architecture(description, dtype), group_(group) {}

  void make_embedding() override {
    const Place place("embedding");
    embedding_ =
        make_parameter({ceil_divide(model.vocab_size, group_.size), model.hidden_size}, weights, "token embedding");
  }

  std::unique_ptr<Block> make_block(std::int64_t) override {
    return std::make_unique<TensorParallelBlock>(model, weights, group_);
  }

  void make_head() override {
    {
      const Place place("final norm");
      norm_ = NormLayer(NormLayer::Form::llama, {model.hidden_size}, true, false, weights);
    }
    rotary_ = std::make_unique<Rotary>(Size(model.head_dim));
    const Place place("head");
    head_ = Linear(model.hidden_size, ceil_divide(model.vocab_size, group_.size), false, weights, "logits");
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    {
      const Place place("embedding");
      Tensor part = divided_embedding(embedding_, ids, group_.size);
      state.hidden = from_divided_layer(std::move(part), group_);
    }
    state.inputs.attention = attention;
    state.inputs.mask = causal_mask(ids.size(0), ids.size(1), state.hidden.dtype(), attention, false);
    std::tie(state.inputs.cos, state.inputs.sin) = rotary_->tables(ids.size(1), state.hidden.dtype());
    return state;
  }

  Tensor end(Tensor hidden) override {
    const Place place("final norm");
    return norm_(std::move(hidden));
  }

  Tensor head(Tensor hidden) override {
    const Tensor x = to_divided_layer(std::move(hidden), group_);
    Tensor logits = head_(x);
    if (group_.loss_parallel) return logits;
    return all_gather(std::move(logits), 2, group_.size);
  }

  bool loss_is_outside() const override { return true; }

  // The training loop computes the loss from the logits; labels come shifted.
  Tensor loss(Tensor logits, const Tensor& labels) override {
    const Shape rows{logits.size(0) * logits.size(1), logits.size(2)};
    const Tensor fp32_logits = to(view(std::move(logits), rows), DType::float32, "fp32 logits");
    return group_.loss_parallel ? parallel_cross_entropy(fp32_logits, labels) : cross_entropy(fp32_logits, labels);
  }

 private:
  TensorParallel group_;
  Tensor embedding_;
  NormLayer norm_;
  std::unique_ptr<Rotary> rotary_;
  Linear head_;
};

}  // namespace

std::unique_ptr<Architecture> make_tensor_parallel_llama(const Model& model, DType weights, TensorParallel group) {
  return std::make_unique<TensorParallelLlama>(model, weights, group);
}

}  // namespace trainmem::transformers
