// Tensor parallelism of DTensors, by torchtitan's plan: each GPU has its share of heads, of the MLP's width and of the
// vocabulary, and collectives join what they compute.
//
// With sequence parallelism the activations between the layers are shards of the sequence: gathered before query, key
// and value and before gate and up, reduced and scattered after the output layers. Without it every GPU has them
// whole: results are all-reduced, and so are the gradients of each column-wise layer's input.
// Sources: torchtitan models/llama3/infra/parallelize.py (apply_tp); pytorch
// torch/distributed/tensor/parallel/style.py, torch/distributed/_functional_collectives.py.
//
// transformers divides by plans of its own (tp_plan="auto"): heads and the MLP's width. Weights are plain tensors, and
// collectives, hooked around the linear layers, are in place: a GPU runs the step of a model with its share of both.
// Embedding, norms and head are whole on every GPU: post_init starts from an empty plan, so that of the head, which the
// classes name, is not in force.
// Sources: transformers integrations/tensor_parallel.py, modeling_utils.py (post_init), and the configurations'
// base_model_tp_plan.
#pragma once

#include "engine/config.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

/// Whether DTensors divide the model; under framework transformers its own plan does.
bool divides_by_dtensors(const Recipe& recipe);
bool uses_tensor_parallel_plan(const Recipe& recipe);
/// Whether transformers' plan for the model is Llama's: column-wise query, key, value, gate and up, row-wise output.
bool has_tensor_parallel_plan(const Model& model);

/// How a linear layer's weight is split over the GPUs.
enum class WeightSplit { none, columns, rows };

/// The split of the layer that makes `role`: "query", "down".
WeightSplit weight_split(const char* role);

/// The share of a model that one of the recipe's GPUs has. By transformers' plan the embedding is whole: so is
/// vocab_size.
Model tensor_parallel_share(const Model& model, const Recipe& recipe);

/// Group of the parameters that every GPU has whole. They are DTensors like the others with sequence parallelism, and
/// under FSDP; else the optimizer steps them apart: one call takes either DTensors or tensors.
std::int32_t replicated_parameter_group();

/// Ids of this GPU's rows, those of others become 0; `mask` tells them apart: torch/distributed/tensor/_ops/
/// _embedding_ops.py, _MaskPartial._partition_value.
Tensor partition_ids(const Shape& shape, const Rule& rule, Tensor& mask);

/// What a module with column-wise layers starts from: the whole sequence.
Tensor gather_sequence(Tensor x);
/// Input of one column-wise layer: the gradient is summed over the GPUs.
Tensor column_input(Tensor x);
/// Output of a row-wise layer: summed over the GPUs, and scattered over the sequence.
Tensor reduce_rows(Tensor x);
/// Embeddings from this GPU's rows of the table.
Tensor vocabulary_embedding(const Tensor& table, const Tensor& ids);
/// Logits of this GPU's part of the vocabulary made whole, unless the loss takes the parts.
Tensor gather_logits(Tensor logits);
/// Cross entropy of fp32 logits of which each GPU has a part of the vocabulary.
/// torch/distributed/tensor/parallel/loss.py: loss_parallel.
Tensor vocabulary_cross_entropy(Tensor logits, const Tensor& labels);
/// The loss as a training loop computes it outside the model, with whole logits or with parts of them.
Tensor loop_loss(const Tensor& logits, const Tensor& labels);

}  // namespace trainmem
