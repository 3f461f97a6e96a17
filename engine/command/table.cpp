#include "engine/command/table.h"

#include <algorithm>
#include <vector>

#include "engine/command/bandwidth_table.h"
#include "engine/command/text.h"
#include "engine/config/words.h"

namespace trainmem {
namespace {

constexpr std::size_t most_rows = 12;

std::string several(std::int64_t count, const char* what) {
  return grouped(count) + " " + what + (count == 1 ? "" : "s");
}

std::string title(const Config& config, const Result& result) {
  const std::string model =
      config.model_preset.empty() ? "a model of type " + config.model.model_type : config.model_preset;
  const std::string recipe_name = config.recipe_preset.empty() ? "" : config.recipe_preset + ": ";
  std::string line = model + ", " + grouped(result.parameters) + " parameters, on " + several(result.num_gpus, "GPU");
  if (!config.gpu.name.empty()) line += " (" + config.gpu.name + ")";
  const Recipe& recipe = config.recipe;
  const std::string work = recipe_name + word(recipe.framework) + ", " + word(recipe.precision) + ", " +
                           word(recipe.optimizer) + ", micro-batch " + grouped(recipe.micro_batch_size) + " x " +
                           grouped(recipe.sequence_length) + " tokens, " +
                           several(result.global_batch_size, "sequence") + " a step";
  return fit(line, 100) + "\n" + wrapped(work, 100);
}

std::string counter(const char* name, const Range& bytes, const char* compare) {
  std::string line = left(name, 12) + right(gibibytes(bytes.expected), 14) + right(grouped(bytes.expected), 22) + "  ";
  std::string note = compare;
  if (bytes.low != bytes.high) note = gibibytes(bytes.low) + " to " + gibibytes(bytes.high) + "; " + note;
  return line + fit(note, 100 - 50) + "\n";
}

std::string ladder(const Result& result) {
  const Range allocated{result.allocated, result.allocated, result.allocated};
  std::string out = left("", 12) + right("", 14) + right("bytes", 22) + "\n";
  out += counter("allocated", allocated, "torch.cuda.max_memory_allocated");
  out += counter("reserved", result.reserved, "torch.cuda.max_memory_reserved");
  out += counter("device", result.device, "nvidia-smi");
  if (result.host > 0) out += counter("host", {result.host, result.host, result.host}, "weights and states offloaded");
  if (result.verdict.capacity > 0) {
    const Bytes capacity = result.verdict.capacity;
    out += counter("capacity", {capacity, capacity, capacity}, "what a program can use of this GPU");
  }
  return out + "\n" + wrapped(result.verdict.sentence, 100);
}

std::string components(const Result& result) {
  std::string out = fit("Alive at the peak, in " + result.peak_where + ":", 100) + "\n";
  for (int i = 0; i < component_count; ++i) {
    const Bytes bytes = result.components[static_cast<std::size_t>(i)];
    if (bytes == 0) continue;
    out += "  " + left(name(static_cast<Component>(i)), 24) + right(gibibytes(bytes), 12) + right(grouped(bytes), 20) +
           "  " + bar(bytes, result.allocated, 40) + "\n";
  }
  return out;
}

std::string phases(const Result& result) {
  std::string out = left("Phase", 26) + right("peak", 12) + right("end", 14) + "\n";
  for (const PhasePeak& phase : result.phases) {
    out +=
        "  " + left(name(phase.phase), 24) + right(gibibytes(phase.peak), 12) + right(gibibytes(phase.end), 14) + "\n";
  }
  return out;
}

std::string stages(const Result& result) {
  std::string out = "Stage   layers   in flight" + right("allocated", 14) + "\n";
  for (const Stage& stage : result.stages) {
    out += right(grouped(stage.index), 5) + right(grouped(stage.layers), 9) +
           right(grouped(stage.micro_batches_in_flight), 12) + right(gibibytes(stage.allocated), 14) + "  " +
           bar(stage.allocated, result.allocated, 40) + (stage.worst ? " worst" : "") + "\n";
  }
  return out;
}

std::string rows(const Result& result) {
  std::vector<const Row*> largest;
  for (const Row& row : result.rows) largest.push_back(&row);
  std::stable_sort(largest.begin(), largest.end(), [](const Row* a, const Row* b) { return a->bytes > b->bytes; });
  const std::size_t shown = std::min(largest.size(), most_rows);
  std::string out =
      left("Largest rows", 36) + left("shape", 24) + left("format", 8) + right("copies", 8) + right("bytes", 22) + "\n";
  Bytes rest = 0;
  for (std::size_t i = 0; i < largest.size(); ++i) {
    const Row& row = *largest[i];
    if (i >= shown) {
      rest += row.bytes;
      continue;
    }
    out += "  " + left(fit(row.name, 33), 34) + left(fit(row.shape, 23), 24) + left(row.dtype, 8) +
           right(grouped(row.copies), 8) + right(grouped(row.bytes), 22) + "\n";
  }
  if (rest > 0) {
    out += "  " + left(grouped(static_cast<std::int64_t>(largest.size() - shown)) + " more", 74) +
           right(grouped(rest), 22) + "\n";
  }
  return out;
}

std::string outside(const Result& result) {
  std::string out =
      left("Outside the allocator", 36) + right("low", 14) + right("expected", 14) + right("high", 14) + "\n";
  for (const RuntimeRow& row : result.runtime) {
    out += "  " + left(fit(row.name, 33), 34) + right(gibibytes(row.bytes.low), 14) +
           right(gibibytes(row.bytes.expected), 14) + right(gibibytes(row.bytes.high), 14) + "\n";
  }
  return out;
}

}  // namespace

std::string result_table(const Config& config, const Result& result) {
  std::string out = title(config, result) + "\n" + ladder(result) + "\n" + components(result);
  if (!result.phases.empty()) out += "\n" + phases(result);
  if (result.stages.size() > 1) out += "\n" + stages(result);
  if (!result.rows.empty()) out += "\n" + rows(result);
  if (!result.runtime.empty()) out += "\n" + outside(result);
  if (!result.bandwidth.rates.empty()) out += "\n" + bandwidth_table(result.bandwidth);
  if (!result.not_counted.empty()) {
    out += "\nNot counted:\n";
    for (const std::string& sentence : result.not_counted) out += wrapped("- " + sentence, 100);
  }
  return out;
}

}  // namespace trainmem
