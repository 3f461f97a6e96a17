#include "engine/parallel/pipeline.h"

#include <algorithm>

#include "engine/tensor/autograd.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

using Work = PipelineTurn::Work;

std::int64_t chunks_of(const Recipe& recipe) {
  return recipe.pipeline_schedule == PipelineSchedule::interleaved && recipe.pipeline_parallel > 1
             ? recipe.virtual_pipeline_stages
             : 1;
}

/// Writes an order down.
class Order {
 public:
  void add(Work work, std::int64_t chunk, std::int64_t times = 1) {
    if (times <= 0) return;
    stretches_.push_back({{}, times});
    stretches_.back().turns.push_back({work, chunk});
  }
  /// One forward and one backward.
  void add_pair(std::int64_t times) {
    add(Work::forward, 0, times);
    if (times > 0) stretches_.back().turns.push_back({Work::backward, 0});
  }
  std::vector<PipelineStretch> take() { return std::move(stretches_); }

 private:
  std::vector<PipelineStretch> stretches_;
};

/// `warm_up` forwards, `steady` turns of one forward and one backward, `warm_up` backwards. The first forward gathers
/// weights, and the first backward has no gradients of an earlier one to let go of: each stands for itself.
std::vector<PipelineStretch> simple_order(std::int64_t warm_up, std::int64_t steady) {
  Order order;
  const auto first_and_others = [&](Work work) {
    if (warm_up > 0) order.add(work, 0);
    order.add(work, 0, warm_up - 1);
  };
  first_and_others(Work::forward);
  if (steady > 0) order.add_pair(1);
  order.add_pair(steady - 1);
  first_and_others(Work::backward);
  return order.take();
}

/// Micro-batches, `group` at a time, in all chunks: forwards take the chunks from the first, backwards from the last. A
/// last group may be smaller.
std::vector<PipelineStretch> interleaved_order(std::int64_t stages, std::int64_t stage, std::int64_t v,
                                               std::int64_t group, std::int64_t micro_batches) {
  const std::int64_t longest_warm_up = 2 * (stages - stage - 1) + (v - 1) * group;
  // Two rounds of the steady state, in whole groups, show all there is.
  const std::int64_t enough = ((longest_warm_up + v - 1) / v / group + 3) * group;
  const std::int64_t count = std::min(micro_batches, enough);
  const std::int64_t total = count * v;
  const std::int64_t warm_up = std::min(longest_warm_up, total);
  const auto chunk = [&](std::int64_t k) {
    const std::int64_t round = k / (group * v);
    const std::int64_t size = std::min(group, count - round * group);
    return (k - round * group * v) / size;
  };
  Order order;
  for (std::int64_t k = 0; k < warm_up; ++k) order.add(Work::forward, chunk(k));
  for (std::int64_t k = 0; k < total; ++k) {
    if (k + warm_up < total) order.add(Work::forward, chunk(k + warm_up));
    order.add(Work::backward, v - 1 - chunk(k));
  }
  return order.take();
}

/// Stage i puts off the weight gradients of i micro-batches: it holds as much as the first stage does. Megatron's
/// stages split the first i backwards and those after the last forward, and the first stage none; PyTorch's split all.
std::vector<PipelineStretch> zero_bubble_order(std::int64_t stages, std::int64_t stage, std::int64_t micro_batches,
                                               bool megatron) {
  const std::int64_t count = std::min(micro_batches, 2 * stages + longest_steady);
  const std::int64_t warm_up = std::min(stages - stage - 1, count);
  const std::int64_t steady = count - warm_up;
  if (megatron && stage == 0) return simple_order(warm_up, micro_batches - warm_up);
  Order order;
  std::int64_t put_off = 0;
  for (std::int64_t k = 0; k < warm_up; ++k) order.add(Work::forward, 0);
  for (std::int64_t k = 0; k < count; ++k) {
    if (k < steady) order.add(Work::forward, 0);
    const bool split = !megatron || k < stage || k >= steady - 1;
    order.add(split ? Work::input : Work::backward, 0);
    if (!split) continue;
    ++put_off;
    if (k < stage) continue;
    order.add(Work::weights, 0);
    --put_off;
  }
  for (; put_off > 0; --put_off) order.add(Work::weights, 0);
  return order.take();
}

/// Times that a stretch is taken.
std::int64_t taken(const PipelineStretch& stretch, bool fold) {
  const bool leaves_nothing = stretch.turns.size() > 1;
  return !fold && leaves_nothing ? std::min(stretch.times, longest_steady - 1) : stretch.times;
}

/// Layers of a stage, where embedding and head count as a layer each.
std::int64_t layers_beside_ends(std::int64_t layers, std::int64_t stages, std::int64_t stage) {
  const std::int64_t counted = layers + 2;
  const std::int64_t share = counted / stages + (stage < counted % stages ? 1 : 0);
  return share - (stage == 0 ? 1 : 0) - (stage == stages - 1 ? 1 : 0);
}

/// Forwards whose backward is still to come, at most.
std::int64_t most_in_flight(const std::vector<PipelineStretch>& order) {
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const PipelineStretch& stretch : order) {
    const std::int64_t times = stretch.turns.size() == 1 ? stretch.times : 1;  // others leave nothing behind
    for (std::size_t i = 0; i < stretch.turns.size(); ++i) {
      const PipelineTurn& turn = stretch.turns[i];
      if (turn.work == Work::forward) now += times;
      most = std::max(most, now);
      if (turn.work == Work::backward || turn.work == Work::input) now -= times;
    }
  }
  return most;
}

}  // namespace

std::int64_t micro_batch_group(const Recipe& recipe) {
  const std::int64_t stages = recipe.pipeline_parallel;
  const std::int64_t micro_batches = recipe.gradient_accumulation_steps;
  if (recipe.framework == Framework::torchtitan)
    return micro_batches / std::max<std::int64_t>(1, micro_batches / stages);
  std::int64_t group = stages;
  while (group < micro_batches && micro_batches % group > 0 && micro_batches % group < stages) ++group;
  return group;
}

bool ends_count_as_layers(const Recipe& recipe, std::int64_t layers) {
  const std::int64_t stages = recipe.pipeline_parallel;
  if (stages <= 1 || recipe.pipeline_first_stage_layers > 0 || recipe.pipeline_last_stage_layers > 0) return false;
  if (recipe.framework == Framework::torchtitan) return true;
  const std::int64_t chunks = chunks_of(recipe);
  return chunks > 1 && layers % (stages * chunks) != 0 && (layers + 2) % (stages * chunks) == 0;
}

std::vector<PipelineStretch> pipeline_order(const Recipe& recipe, std::int64_t stage) {
  const std::int64_t stages = std::max<std::int64_t>(recipe.pipeline_parallel, 1);
  const std::int64_t micro_batches = recipe.gradient_accumulation_steps;
  if (stages > 1) {
    switch (recipe.pipeline_schedule) {
      case PipelineSchedule::gpipe: return simple_order(micro_batches, 0);
      case PipelineSchedule::interleaved:
        return interleaved_order(stages, stage, chunks_of(recipe), micro_batch_group(recipe), micro_batches);
      case PipelineSchedule::zero_bubble:
        return zero_bubble_order(stages, stage, micro_batches, recipe.framework == Framework::megatron);
      case PipelineSchedule::one_forward_one_backward: break;
    }
  }
  const std::int64_t warm_up = std::min(stages - stage - 1, micro_batches);
  return simple_order(warm_up, micro_batches - warm_up);
}

std::vector<PipelineStage> pipeline_stages(const Recipe& recipe, std::int64_t layers) {
  const std::int64_t stages = std::max<std::int64_t>(recipe.pipeline_parallel, 1);
  const std::int64_t chunks = chunks_of(recipe);
  const std::int64_t named_first = stages > 1 ? recipe.pipeline_first_stage_layers : 0;
  const std::int64_t named_last = stages > 1 ? recipe.pipeline_last_stage_layers : 0;
  const std::int64_t sharing = stages - (named_first > 0 ? 1 : 0) - (named_last > 0 ? 1 : 0);
  const std::int64_t shared = layers - named_first - named_last;
  std::vector<PipelineStage> result;
  std::int64_t sharer = 0;
  for (std::int64_t i = 0; i < stages; ++i) {
    PipelineStage stage;
    stage.index = i;
    if (i == 0 && named_first > 0) {
      stage.layers = named_first;
    } else if (i == stages - 1 && named_last > 0) {
      stage.layers = named_last;
    } else {
      stage.layers = shared / sharing + (sharer < shared % sharing ? 1 : 0);
      ++sharer;
    }
    stage.micro_batches_in_flight = most_in_flight(pipeline_order(recipe, i));
    result.push_back(std::move(stage));
  }
  const bool ends_count = ends_count_as_layers(recipe, layers);
  std::int64_t first_layer = 0;
  for (std::int64_t c = 0; c < chunks; ++c) {
    for (PipelineStage& stage : result) {
      PipelineChunk chunk{stage.layers / chunks, first_layer, c == 0 && stage.index == 0,
                          c == chunks - 1 && stage.index == stages - 1};
      if (ends_count) chunk.layers = layers_beside_ends(layers, chunks * stages, c * stages + stage.index);
      first_layer += chunk.layers;
      stage.chunks.push_back(chunk);
    }
  }
  if (!ends_count) return result;
  for (PipelineStage& stage : result) {
    stage.layers = 0;
    for (const PipelineChunk& chunk : stage.chunks) stage.layers += chunk.layers;
  }
  return result;
}

std::int64_t micro_batches_taken(const std::vector<PipelineStretch>& order, bool fold) {
  std::int64_t forwards = 0;
  for (const PipelineStretch& stretch : order)
    for (std::size_t i = 0; i < stretch.turns.size(); ++i)
      if (stretch.turns[i].work == Work::forward && stretch.turns[i].chunk == 0) forwards += taken(stretch, fold);
  return forwards;
}

void run_order(const std::vector<PipelineStretch>& order, bool fold,
               const std::function<void(const PipelineTurn&, std::int64_t times)>& turn) {
  for (const PipelineStretch& stretch : order) {
    const auto once = [&] {
      for (std::size_t i = 0; i < stretch.turns.size(); ++i) turn(stretch.turns[i], fold ? stretch.times : 1);
    };
    if (fold) {
      const Repeat scope{Size(stretch.times)};
      once();
      continue;
    }
    for (std::int64_t i = 0; i < taken(stretch, fold); ++i) once();
  }
}

Tensor without_storage(const Tensor& output) {
  Tensor root = allocate_nothing(output.shape(), output.dtype());
  root->grad_fn = output->grad_fn;
  root->output_number = output->output_number;
  root->requires_grad = true;
  root->leaf = false;
  return root;
}

}  // namespace trainmem
