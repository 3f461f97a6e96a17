#include "engine/parallel/tensor.h"

#include <cstring>

#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "engine/tensor/selective.h"

namespace trainmem {

namespace {

constexpr const char* collectives = "pytorch torch/distributed/_functional_collectives.py";
constexpr Rule gather_rule{"all-gather", "", collectives};
constexpr Rule order_rule{"cat", "", "pytorch torch/distributed/_functional_collectives.py: all_gather_tensor"};
constexpr Rule scatter_rule{"reduce-scatter", "", collectives};
constexpr Rule all_reduce_rule{"all-reduce", "", collectives};
constexpr Rule redistribute_rule{"redistribute", "", "pytorch torch/distributed/tensor/_redistribute.py: Redistribute"};
constexpr Rule from_local_rule{"from_local", "", "pytorch torch/distributed/tensor/_api.py: _FromTorchTensor"};
constexpr Rule embedding_rule{"embedding", "token ids: the gradient of the table needs them",
                              "pytorch torch/distributed/tensor/_ops/_embedding_ops.py"};

Size parts() { return active_run().settings.tensor_parallel.size; }

/// Every GPU's `x` joined along a dimension. What the collective delivers lies part after part: it is put in order by
/// a copy, unless a view does (torch/_utils.py: _maybe_view_chunk_cat).
Tensor all_gather(const Tensor& x, int dimension) {
  Shape flat = x.shape();
  flat[0] = flat[0] * parts();
  const Tensor gathered = allocate(flat, x.dtype(), {&gather_rule});
  Shape shape = x.shape();
  shape[dimension] = shape[dimension] * parts();
  Size before = 1;
  for (int i = 0; i < dimension; ++i) before *= x.size(i);
  if (before == 1) return alias(gathered, shape, contiguous_strides(shape));
  return allocate(shape, x.dtype(), {&order_rule});
}

/// The sum of all GPUs' tensors, each put in order for the collective: this GPU's part of the sequence.
/// `let_go` is called when this one's is in order.
template <class LetGo>
Tensor reduce_scatter(Shape shape, DType dtype, LetGo let_go) {
  const Tensor ordered = allocate(shape, dtype, {&order_rule});
  let_go();
  shape[1] = shape[1] / parts();
  return selected_collective([&] { return allocate(shape, dtype, {&scatter_rule}); });
}

/// Compiled, it is done in place (torch/_inductor/comm_lowering.py: _all_reduce).
Tensor all_reduce(const Tensor& x, bool compiled) {
  return compiled ? alias(x, x.shape(), x->strides) : allocate(x.shape(), x.dtype(), {&all_reduce_rule});
}

bool is_compiled() { return active_run().compiled_region != 0; }

}  // namespace

bool uses_tensor_parallel_plan(const Recipe& recipe) {
  return recipe.framework == Framework::transformers && recipe.tensor_parallel > 1;
}

bool divides_by_dtensors(const Recipe& recipe) {
  return recipe.tensor_parallel > 1 && !uses_tensor_parallel_plan(recipe);
}

bool has_tensor_parallel_plan(const Model& model) {
  for (const char* type :
       {"llama", "mistral", "ministral", "qwen2", "qwen3", "smollm3", "arcee", "seed_oss", "gemma", "gemma2",
        "gemma3_text", "granite", "olmo", "cohere", "cohere2", "ernie4_5", "helium", "starcoder2"})
    if (model.model_type == type) return true;
  return false;
}

WeightSplit weight_split(const char* role) {
  if (active_run().settings.tensor_parallel.size == 1) return WeightSplit::none;
  for (const char* name : {"query", "key", "value", "gate", "up", "logits"})
    if (std::strcmp(role, name) == 0) return WeightSplit::columns;
  for (const char* name : {"attention projection", "down"})
    if (std::strcmp(role, name) == 0) return WeightSplit::rows;
  return WeightSplit::none;
}

Model tensor_parallel_share(const Model& model, const Recipe& recipe) {
  const Size size = recipe.tensor_parallel;
  Model share = model;
  share.num_attention_heads = share.num_attention_heads / size;
  share.num_key_value_heads = share.num_key_value_heads / size;
  share.intermediate_size = share.intermediate_size / size;
  if (!uses_tensor_parallel_plan(recipe)) share.vocab_size = share.vocab_size / size;
  return share;
}

std::int32_t replicated_parameter_group() {
  const Run& run = active_run();
  return run.settings.tensor_parallel.size > 1 && !run.settings.tensor_parallel.sequence && !run.new_parameters.maker
             ? 1
             : 0;
}

Tensor gather_sequence(Tensor argument) {
  const Tensor x = std::move(argument);
  const TensorParallel& parallel = active_run().settings.tensor_parallel;
  if (parallel.size == 1 || !parallel.sequence) return x;
  const Set<bool> distributed(active_run().new_nodes.distributed, true);
  const Ref<Node> node = begin_node(redistribute_rule, {&x});
  Tensor result = all_gather(x, 1);
  if (node) {
    // Compiled, the layers' gradients are added up by the kernel that puts the sum in order for the collective. Else
    // the frame of Redistribute.backward holds their sum until it returns.
    const bool compiled = is_compiled();
    node->reads_all = compiled;
    node->backward = [compiled](Backward& b) {
      const Shape shape = b.gradient().shape();
      const DType dtype = b.gradient().dtype();
      const auto let_go = [&b, compiled] {
        if (compiled) b.let_go();
      };
      b.give(0, reduce_scatter(shape, dtype, let_go));
    };
  }
  finish_node(node, result);
  return result;
}

Tensor column_input(Tensor argument) {
  const Tensor x = std::move(argument);
  const TensorParallel& parallel = active_run().settings.tensor_parallel;
  if (parallel.size == 1 || parallel.sequence) return x;
  const Ref<Node> node = begin_node(from_local_rule, {&x});
  if (!node) return x;
  Tensor result = alias(x, x.shape(), x->strides);
  node->backward = [compiled = is_compiled()](Backward& b) { b.give(0, all_reduce(b.take_gradient(), compiled)); };
  finish_node(node, result);
  return result;
}

Tensor reduce_rows(Tensor argument) {
  Tensor x = std::move(argument);
  const bool sequence = active_run().settings.tensor_parallel.sequence;
  const Ref<Node> node = begin_node(redistribute_rule, {&x});
  const bool compiled = is_compiled();
  const auto let_go = [&] {
    if (compiled) x.reset();
  };
  Tensor result = sequence ? reduce_scatter(x.shape(), x.dtype(), let_go) : all_reduce(x, compiled);
  if (node)
    node->backward = [sequence](Backward& b) {
      Tensor gradient = b.take_gradient();
      b.give(0, sequence ? all_gather(gradient, 1) : gradient);
    };
  finish_node(node, result);
  return result;
}

Tensor partition_ids(const Shape& shape, const Rule& rule, Tensor& mask) {
  const auto flags = [&] { return allocate(shape, DType::boolean, {&rule}); };
  {
    const Tensor below = flags();
    const Tensor above = flags();
    mask = flags();
  }
  const Tensor copy = allocate(shape, DType::int64, {&rule});
  return allocate(shape, DType::int64, {&rule});
}

Tensor vocabulary_embedding(const Tensor& table, const Tensor& ids) {
  const Ref<Node> node = begin_node(embedding_rule, {&table});
  keep(node, ids);
  Tensor result;
  {
    Tensor mask;
    const Tensor masked = partition_ids(ids.shape(), embedding_rule, mask);
    Shape shape = ids.shape();
    shape.append(table.size(1));
    result = allocate(shape, table.dtype(), {&embedding_rule});
  }
  if (node)
    node->backward = [rows = table.shape(), size = parts()](Backward& b) {
      const Tensor kept = b.kept(0);
      // The gradient of the whole table on every GPU, of which this one's rows are a view.
      const Tensor whole =
          allocate({rows[0] * size, rows[1]}, b.gradient().dtype(), {&embedding_rule, "weight gradient"});
      b.give(0, alias(whole, rows, whole->strides));
    };
  finish_node(node, result);
  return reduce_rows(std::move(result));
}

Tensor gather_logits(Tensor argument) {
  const Tensor x = std::move(argument);
  const TensorParallel& parallel = active_run().settings.tensor_parallel;
  if (parallel.size == 1 || parallel.loss) return x;
  const Ref<Node> node = begin_node(redistribute_rule, {&x});
  Tensor result = all_gather(x, x.rank() - 1);
  if (node)
    node->backward = [shape = x.shape()](Backward& b) {  // this GPU's part, cloned
      b.give(0, allocate(shape, b.gradient().dtype(), {&redistribute_rule}));
    };
  finish_node(node, result);
  return result;
}

Tensor loop_loss(const Tensor& logits, const Tensor& labels) {
  const Tensor rows = to(view(logits, {labels.elements(), logits.size(-1)}), DType::float32, "fp32 logits");
  return active_run().settings.tensor_parallel.loss ? vocabulary_cross_entropy(rows, labels)
                                                    : cross_entropy(rows, labels);
}

}  // namespace trainmem
