// Tensor parallelism of DTensors, by torchtitan's plan: each GPU has its share of heads, of the MLP's width and of the
// vocabulary, and collectives join what they compute.
//
// With sequence parallelism the activations between the layers are shards of the sequence: gathered before query, key
// and value and before gate and up, reduced and scattered after the output layers. Without it every GPU has them
// whole: results are all-reduced, and so are the gradients of each column-wise layer's input.
// Sources: torchtitan models/llama3/infra/parallelize.py (apply_tp); pytorch
// torch/distributed/tensor/parallel/style.py, torch/distributed/_functional_collectives.py.
#pragma once

#include "engine/config.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

/// How a linear layer's weight is split over the GPUs.
enum class WeightSplit { none, columns, rows };

/// The split of the layer that makes `role`: "query", "down".
WeightSplit weight_split(const char* role);

/// The share of a model that one of `size` GPUs has.
Model tensor_parallel_share(const Model& model, std::int64_t size);

/// Group of the parameters that every GPU has whole. They are DTensors like the others with sequence parallelism, and
/// under FSDP; else the optimizer steps them apart: one call takes either DTensors or tensors.
std::int32_t replicated_parameter_group();

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
