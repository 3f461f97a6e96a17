// What a framework does with the same blocks that others do not: each fact once, with its source.
#pragma once

#include "engine/config.h"

namespace trainmem {

/// How a framework's own code goes around a model's blocks, its head and its loss.
struct Conventions {
  /// What is sharded recomputes inside, so that its gather and its reduction are of the outer backward.
  bool shards_what_recomputes = false;
  /// Recomputation runs no further than to the last tensor that backward wants.
  bool recomputation_stops_early = true;
  /// Each layer's adapters are made with it, not after the whole model.
  bool makes_adapters_with_layers = false;
  /// Key and value are repeated for every query head, whatever the kernel can do.
  bool repeats_heads = false;
  /// The model returns fp32 logits.
  bool returns_fp32_logits = false;
  /// A chunked loss takes logits that the model makes in chunks of the sequence; else the family's own loss cuts them.
  bool makes_logits_in_chunks = true;
  /// A chunked loss makes each chunk's logits itself and runs their backward at once, before the model's own.
  bool differentiates_chunks = false;
  /// Every child of the model is sharded apart: embedding, position table, final norm; a tied embedding runs twice.
  bool shards_every_child = false;
  /// The loss, of whatever kind, is the training loop's own.
  bool has_its_own_loss = false;
  /// The loss is compiled.
  bool compiles_loss = false;
};

/// Forward and backward are captured and replayed (torchtitan distributed/cudagraph.py; trainer.py,
/// _validate_cuda_graphs: neither with pipelines nor with dispatchers of tokens that wait for the host).
bool uses_cuda_graphs(const Recipe& recipe);

/// `legacy_models`: the classes of transformers before 4.46.
Conventions conventions_of(const Recipe& recipe, const Model& model, bool legacy_models);

}  // namespace trainmem
