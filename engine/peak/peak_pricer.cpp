#include "engine/peak/peak_pricer.h"

#include <algorithm>

namespace trainmem {

namespace {

// A structure whose runs turn on every size (ZeRO's partitions do) is not worth more schedules than these.
constexpr std::size_t most_schedules = 16;
constexpr std::size_t most_structures = 256;

}  // namespace

PeakPricer::Structure& PeakPricer::structure_of(const Config& config, const OpenSizes& sizes) {
  const auto found = std::find_if(structures_.begin(), structures_.end(), [&](Structure& structure) {
    set_open_sizes(structure.config, sizes);
    return structure.config.recipe == config.recipe && structure.config.model == config.model &&
           structure.config.gpu == config.gpu;
  });
  if (found == structures_.end()) {
    if (structures_.size() == most_structures) structures_.pop_back();
    structures_.insert(structures_.begin(), {config, workspace_beside(config), {}});
  } else if (found != structures_.begin()) {
    std::rotate(structures_.begin(), found, found + 1);
  }
  return structures_.front();
}

Peak PeakPricer::price(Structure& structure, const Config& config, const OpenSizes& sizes, std::int64_t stage) {
  std::vector<StageSchedules>& stages = structure.stages;
  auto own =
      std::find_if(stages.begin(), stages.end(), [&](const StageSchedules& each) { return each.index == stage; });
  if (own == stages.end()) own = stages.insert(stages.end(), {stage, {}});
  std::vector<Schedule>& schedules = own->schedules;
  Peak peak;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    if (!schedules[i].price(sizes, peak)) continue;
    if (i > 0) std::swap(schedules[i], schedules[i - 1]);
    return peak;
  }
  if (schedules.size() == most_schedules) return stage_peak(config, stage);
  schedules.emplace_back(config, stage);
  if (!schedules.back().price(sizes, peak)) peak = stage_peak(config, stage);
  return peak;
}

Peak PeakPricer::peak(const Config& config) {
  const OpenSizes sizes = open_sizes(config);
  Structure& structure = structure_of(config, sizes);
  return highest_stage(config, structure.workspace,
                       [&](std::int64_t stage) { return price(structure, config, sizes, stage); });
}

Peak PeakPricer::stage(const Config& config, std::int64_t index) {
  const OpenSizes sizes = open_sizes(config);
  return price(structure_of(config, sizes), config, sizes, index);
}

std::size_t PeakPricer::schedules() const {
  std::size_t count = 0;
  for (const Structure& structure : structures_)
    for (const StageSchedules& stage : structure.stages) count += stage.schedules.size();
  return count;
}

}  // namespace trainmem
