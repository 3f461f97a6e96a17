// The block of Gemma 3n: Gemma 4's attention, a learned residual beside it, an MLP that cuts off all but the largest
// gates, between prediction and correction of the streams. models/gemma3n/modeling_gemma3n.py: Gemma3nTextDecoderLayer.
#include "engine/blocks/transformers/altup.h"
#include "engine/blocks/transformers/gemma4.h"
#include "engine/blocks/transformers/llama_model.h"
#include "engine/tensor/run.h"

namespace trainmem::transformers {

namespace {

constexpr Rule deviation_rule{"std", "input and result of the standard deviation: its backward needs them",
                              "derivatives.yaml: std.correction (std_backward)"};
constexpr Rule number_rule{"deviations kept", "",
                           "transformers models/gemma3n/modeling_gemma3n.py: Gemma3nTextMLP._gaussian_topk"};

/// Over the last dimension, kept as 1. Backward: the deviations from the mean, times a number of each token.
Tensor deviation(const Tensor& x) {
  const Ref<Node> node = begin_node(deviation_rule, {&x});
  keep(node, x);
  Shape shape = x.shape();
  shape[-1] = 1;
  Tensor result = allocate(shape, x.dtype(), {&deviation_rule});
  keep(node, result);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor kept_result = b.kept(1);
      const auto of_token = [&] { return allocate(kept_result.shape(), kept.dtype(), {&deviation_rule}); };
      const Tensor gradient = of_token();
      const Tensor scaled = of_token();
      Tensor centred;
      {
        const Tensor mean = of_token();
        centred = allocate(kept.shape(), kept.dtype(), {&deviation_rule});
      }
      b.give(0, allocate(kept.shape(), kept.dtype(), {&deviation_rule}));
    };
  finish_node(node, result);
  return result;
}

/// Gemma3nTextMLP.
class SparseMlp {
 public:
  SparseMlp(const Model& m, DType dtype, std::int64_t layer)
      : model_(m),
        sparse_(layer < m.activation_sparsity_layers),
        gate_(m.hidden_size, m.intermediate_size, false, dtype, "gate"),
        up_(m.hidden_size, m.intermediate_size, false, dtype, "up"),
        down_(m.intermediate_size, m.hidden_size, false, dtype, "down") {}

  Tensor operator()(const Tensor& x) const {
    const Place place("mlp");
    Tensor gate = gate_(x);
    if (sparse_) gate = largest(gate);
    const Tensor activated = activate(gate, model_.hidden_act);
    const Tensor up = up_(x);
    return down_(activated * up);
  }

 private:
  Tensor largest(const Tensor& x) const {
    const Tensor target = allocate({}, DType::float32, {&number_rule});
    const Tensor multiplier = allocate({}, x.dtype(), {&number_rule});
    const Tensor mean = mean_last(x);
    const Tensor spread = deviation(x);
    const Tensor least = mean + spread * multiplier;
    return relu(subtract(x, least));
  }

  const Model& model_;
  bool sparse_;
  Linear gate_, up_, down_;
};

class Gemma3nBlock : public Block {
 public:
  Gemma3nBlock(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer)
      : attention_(m, form, dtype, layer), mlp_(m, dtype, layer) {
    for (NormLayer* norm : {&before_attention_, &after_attention_, &before_mlp_, &after_mlp_})
      *norm = llama_norm_layer(m, form, dtype);
    altup_ = std::make_unique<AltUp>(m, form, dtype);
    left_ = Linear(m.hidden_size, m.laurel_rank, false, dtype, "laurel left");
    right_ = Linear(m.laurel_rank, m.hidden_size, false, dtype, "laurel right");
    after_laurel_ = llama_norm_layer(m, form, dtype);
    embedding_ = std::make_unique<LayerEmbeddingInput>(m, form, dtype);
  }

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    const Tensor predictions = altup_->predict(hidden);
    const Tensor active = select(predictions, 0, 0);
    const Tensor normed = norm_at("norm before attention", before_attention_, active);
    const Tensor learned = laurel(normed);
    Tensor weights;
    Tensor attended = attention_(normed, inputs, weights);
    attended = norm_at("norm after attention", after_attention_, attended);
    const Tensor gated = active + attended;
    const Tensor both = multiply_number(gated + learned);
    const Tensor before_mlp = norm_at("norm before MLP", before_mlp_, both);
    const Tensor of_mlp = mlp_(before_mlp);
    const Tensor after_mlp = norm_at("norm after MLP", after_mlp_, of_mlp);
    const Tensor sum = both + after_mlp;
    Tensor corrected = altup_->correct(predictions, sum);
    Tensor first = clone(select(corrected, 0, 0));
    first = altup_->scaled(first);
    first = (*embedding_)(std::move(first), inputs.layer_embedding);
    return add_to_others(std::move(corrected), first);
  }

 private:
  /// Gemma3nTextLaurelBlock.
  Tensor laurel(const Tensor& x) const {
    const Place place("laurel");
    Tensor low = left_(x);
    low = right_(low);
    const Tensor normed = after_laurel_(low);
    return x + normed;
  }

  Gemma4Attention attention_;
  SparseMlp mlp_;
  NormLayer before_attention_, after_attention_, before_mlp_, after_mlp_;
  std::unique_ptr<AltUp> altup_;
  Linear left_, right_;
  NormLayer after_laurel_;
  std::unique_ptr<LayerEmbeddingInput> embedding_;
};

}  // namespace

std::unique_ptr<Block> make_gemma3n_block(const Model& m, const LlamaForm& form, DType dtype, std::int64_t layer) {
  return std::make_unique<Gemma3nBlock>(m, form, dtype, layer);
}

}  // namespace trainmem::transformers
