// Layouts of a number of GPUs that fit: every division into tensor, pipeline, context, expert and data parallelism.
//
// The model, the GPU, the framework, the precision, the optimizer and the sequence length stay as they are; layout,
// sharding, recomputation and micro-batch are searched. The global batch is kept as nearly as the layout allows: at
// least one micro-batch on every GPU, and as many as stages in a pipeline. Where the configuration has one sequence a
// step, its own default, there is one for every GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/advice/advice.h"
#include "engine/config.h"

namespace trainmem {

struct Layout {
  Config config;
  double repeated_arithmetic = 0;  ///< share of the step's arithmetic done once more for recomputation
  double waiting = 0;              ///< (stages - 1) / micro-batches: time in which stages wait, over the time they work
  Outcome after;
};

struct Plan {
  std::int64_t tried = 0;       ///< configurations whose peak was computed
  std::int64_t fitting = 0;     ///< layouts with a way to fit
  std::vector<Layout> layouts;  ///< each layout's best way, best first; at most most_layouts
};

inline constexpr std::int64_t most_planned_gpus = 65536;
inline constexpr std::size_t most_layouts = 12;
inline constexpr std::int64_t gpus_of_a_node = 8;  ///< tensor parallelism stays within a node

/// The configuration is valid; its own parallel sizes do not matter. num_gpus: 1 to most_planned_gpus.
///
/// Best first: least repeated arithmetic and waiting; then least exchanged, which is less tensor and context
/// parallelism and plain before sharded data parallelism; then the larger micro-batch. What is tight ranks as if it
/// recomputed everything on top.
Plan plan(const Config& config, std::int64_t num_gpus);

}  // namespace trainmem
