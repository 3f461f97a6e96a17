// Pipeline parallelism: which layers a GPU has, and the order of its forwards and backwards.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/config.h"
#include "engine/tensor/few.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

/// Layers that a GPU runs without a break: all it has, or one of the virtual stages of an interleaved schedule.
struct PipelineChunk {
  std::int64_t layers = 0;
  std::int64_t first_layer = 0;
  bool first = true;  ///< begins with the embedding
  bool last = true;   ///< ends with head and loss
};

/// One GPU's part of the pipeline.
struct PipelineStage {
  std::int64_t index = 0;
  std::int64_t layers = 0;                   ///< of all chunks
  std::int64_t micro_batches_in_flight = 1;  ///< forwards of chunks whose backward is still to come, at most
  std::vector<PipelineChunk> chunks;
};

/// Whether embedding and head count as a layer each when the layers are divided. torchtitan
/// distributed/pipeline_parallel.py, _generate_llm_fqn_per_model_part: always; Megatron-Core
/// transformer/transformer_block.py, get_num_layers_to_build: by account_for_embedding_in_pipeline_split and
/// account_for_loss_in_pipeline_split, which virtual stages are taken to have set that divide in no other way.
bool ends_count_as_layers(const Recipe& recipe, std::int64_t layers);

/// Micro-batches that an interleaved schedule takes through one chunk before it turns to the next: as many as stages.
/// Where these do not divide the micro-batches, Megatron (schedules.py: microbatch_group_size_per_vp_stage) wants a
/// group whose rest is 0 or no less than the stages, here the smallest; PyTorch (ScheduleInterleaved1F1B) as many
/// equal rounds as there are whole ones.
std::int64_t micro_batch_group(const Recipe& recipe);

/// The stages of a recipe. First and last may name their layers; the others share the rest, earlier ones one more
/// where it does not divide. Of virtual stages each GPU has every p-th: chunk c of GPU i is number c p + i.
std::vector<PipelineStage> pipeline_stages(const Recipe& recipe, std::int64_t layers);

/// What a GPU does in one turn, with one micro-batch of one of its chunks, the oldest that waits for it.
struct PipelineTurn {
  /// input: the gradient of the chunk's input alone; weights: what input left for later.
  enum class Work { forward, backward, input, weights };
  Work work = Work::forward;
  std::int64_t chunk = 0;
};

/// Turns that are taken `times` times in a row.
struct PipelineStretch {
  Few<PipelineTurn, 2> turns;
  std::int64_t times = 1;
};

/// The order of one step, of p stages, for stage i. An interleaved or zero-bubble steady state is cut to what
/// repeats: it holds no more in its later turns than in the first ones.
///
/// gpipe: all forwards, then all backwards (Huang et al. 2019, arXiv:1811.06965, section 2.2).
/// 1f1b: p - i - 1 forwards, then one forward and one backward in turn, then the backwards that are left
/// (Narayanan et al. 2021, arXiv:2104.04473, section 2.2; Megatron-Core pipeline_parallel/schedules.py).
/// interleaved: 2 (p - i - 1) + (v - 1) g forwards first, chunks in groups of g micro-batches (the same file,
/// get_pp_rank_microbatches and get_schedule_table; pytorch torch/distributed/pipelining/schedules.py,
/// ScheduleInterleaved1F1B).
/// zero_bubble: 1f1b whose weight gradients come i micro-batches late (Qi et al. 2023, arXiv:2401.10241, ZB-H1), under
/// Megatron those of the first i backwards and of the last ones (sail-sg/zero-bubble-pipeline-parallelism,
/// zb-h1-quick-start), else all (pytorch schedules.py, ScheduleInterleavedZeroBubble).
std::vector<PipelineStretch> pipeline_order(const Recipe& recipe, std::int64_t stage);

/// Takes the turns of an order; `turn` is told how many turns in a row it stands for. `fold`: a stretch once, with a
/// repeat mark. A recording that is not folded has at most `longest_steady` turns of one forward and one backward:
/// more of them repeat what is there.
void run_order(const std::vector<PipelineStretch>& order, bool fold,
               const std::function<void(const PipelineTurn&, std::int64_t times)>& turn);
inline constexpr std::int64_t longest_steady = 2;
/// Micro-batches that run_order takes, of those that the step has.
std::int64_t micro_batches_taken(const std::vector<PipelineStretch>& order, bool fold);

/// A stage's output that was sent on: its graph, without the storage. Megatron-Core pipeline_parallel/schedules.py,
/// deallocate_output_tensor.
Tensor without_storage(const Tensor& output);

}  // namespace trainmem
