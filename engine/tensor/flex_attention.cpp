// FlexAttention: one compiled region with its own kernels, forward and backward.
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/selective.h"
#include "engine/tensor/work.h"

namespace trainmem {

namespace {

constexpr Rule forward_rule{"flex attention",
                            "query, key, value, output and log-sum-exp: the backward of FlexAttention needs them",
                            "pytorch torch/_higher_order_ops/flex_attention.py: FlexAttentionAutogradOp"};
constexpr Rule lowering_rule{"flex attention", "", "pytorch torch/_inductor/kernel/flex/flex_attention.py"};

}  // namespace

Tensor flex_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Size& documents) {
  const Size tokens = q.size(2) / documents;
  const AttentionSizes sizes{q.size(0) * documents, q.size(1), tokens, tokens, q.size(3), true, 0};
  const Ref<Node> node = begin_node(forward_rule, {&q, &k, &v});
  keep(node, q);
  keep(node, k);
  keep(node, v);
  const Shape rows{q.size(0), q.size(1), q.size(2)};
  std::vector<Tensor> results = selected_results([&] {
    note_attention(Pass::forward, sizes);
    const Shape out{q.size(0), q.size(1), q.size(2), v.size(3)};
    Tensor sums = allocate(rows, DType::float32, {&forward_rule, "log-sum-exp"});
    const Tensor largest = allocate(rows, DType::float32, {&lowering_rule, "largest scores"});
    return std::vector<Tensor>{allocate_like(q, out, q.dtype(), {&forward_rule, "attention output"}), std::move(sums)};
  });
  for (const Tensor& result : results) keep(node, result);
  if (node)
    node->backward = [sizes, rows](Backward& b) {
      std::vector<Tensor> kept;
      for (int i = 0; i < 5; ++i) kept.push_back(b.kept(i));
      note_attention(Pass::backward, sizes);
      const Tensor products = allocate(rows, DType::float32, {&lowering_rule, "row sums of output times gradient"});
      const Tensor &query = kept[0], &key = kept[1], &value = kept[2];
      b.give(0, allocate_like(query, query.shape(), query.dtype(), {&lowering_rule, "gradient of query"}));
      b.give(2, allocate_like(value, value.shape(), value.dtype(), {&lowering_rule, "gradient of value"}));
      b.give(1, allocate_like(key, key.shape(), key.dtype(), {&lowering_rule, "gradient of key"}));
    };
  finish_node(node, results[0]);
  return std::move(results[0]);
}

}  // namespace trainmem
