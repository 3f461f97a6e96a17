// Experts of the first DeepSeekMoE, one module each, run one after another on their tokens:
// modeling_deepseek.py of deepseek-ai/deepseek-moe-16b-base (DeepseekMoE.forward in training). Token copies are put
// into one tensor expert by expert; the load-balancing loss is not counted.
#include "engine/blocks/transformers/deepseek_moe.h"

#include <memory>
#include <vector>

#include "engine/parameters/parameters.h"

namespace trainmem::transformers {

namespace {

constexpr Rule mask_rule{"token mask", "", "deepseek-moe-16b-base modeling_deepseek.py: flat_topk_idx == i"};
constexpr Rule put_rule{"index put", "where the rows went: their gradient is taken from there",
                        "derivatives.yaml: index_put_"};

/// all[rows] = values; `all` as it was keeps its gradient without those rows.
Tensor put_rows(const Tensor& all, Tensor argument, const Tensor& rows) {
  const Tensor values = std::move(argument);
  const Ref<Node> node = begin_node(put_rule, {&all, &values});
  keep(node, rows);
  Tensor result = alias(all, all.shape(), all->strides);
  if (node)
    node->backward = [shape = values.shape()](Backward& b) {
      const Tensor kept = b.kept(0);
      const DType dtype = b.gradient().dtype();
      if (b.wants(1)) b.give(1, allocate(shape, dtype, {&put_rule}));
      if (b.wants(0)) b.give(0, allocate(b.gradient().shape(), dtype, {&put_rule}));
    };
  finish_node(node, result);
  return result;
}

class DeepseekMoe : public FeedForwardPart {
 public:
  DeepseekMoe(const Model& m, const LlamaForm& form, DType dtype) : model_(m) {
    const Size i = m.experts.moe_intermediate_size;
    for (std::int64_t e = 0; e < m.experts.num_experts; ++e)
      experts_.push_back(std::make_unique<FeedForward>(m, form, dtype, i));
    gate_ = make_parameter({m.experts.num_experts, m.hidden_size}, dtype, "router");
    if (m.experts.n_shared_experts > 0)
      shared_ = std::make_unique<FeedForward>(m, form, dtype, Size(shared_expert_width(m)));
  }

  Tensor operator()(const Tensor& x) const override {
    const Size top = model_.experts.num_experts_per_tok;
    const Size h = model_.hidden_size;
    const Size tokens = x.size(0) * x.size(1);
    const Tensor flat = view(x, {tokens, h});
    Chosen chosen;
    {
      const Place place("router");
      chosen = top_k(softmax(linear(flat, gate_, {}, "router logits")), top);
    }
    Tensor out;
    {
      const Place place("experts");
      const Shape pairs{tokens, top, h};
      const Tensor repeated = view(contiguous(expand(unsqueeze(flat, 1), pairs), "repeated tokens"), {tokens * top, h});
      Tensor all = allocate(repeated.shape(), repeated.dtype(), {&put_rule, "expert outputs"});
      const Size each = repeated.size(0) / Size(model_.experts.num_experts);
      for (const std::unique_ptr<FeedForward>& expert : experts_) {
        Tensor rows;
        {
          const Tensor mask = allocate({repeated.size(0)}, DType::boolean, {&mask_rule});
          rows = allocate({each}, DType::int64, {&mask_rule, "rows of an expert"});
        }
        Tensor output = (*expert)(index_rows(repeated, rows, "tokens of an expert"));
        all = put_rows(all, std::move(output), rows);
      }
      const Tensor weighted = multiply(view(std::move(all), pairs), unsqueeze(chosen.values, 2));
      out = view(sum(weighted, 1), x.shape());
    }
    if (!shared_) return out;
    const Place place("shared expert");
    Tensor shared = (*shared_)(x);
    return std::move(out) + std::move(shared);
  }

 private:
  const Model& model_;
  std::vector<std::unique_ptr<FeedForward>> experts_;
  Tensor gate_;
  std::unique_ptr<FeedForward> shared_;
};

}  // namespace

std::unique_ptr<FeedForwardPart> make_deepseek_moe(const Model& m, const LlamaForm& form, DType dtype) {
  return std::make_unique<DeepseekMoe>(m, form, dtype);
}

}  // namespace trainmem::transformers
