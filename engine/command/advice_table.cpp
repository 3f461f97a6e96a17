#include "engine/command/advice_table.h"

#include "engine/codec/link.h"
#include "engine/command/text.h"
#include "engine/config/words.h"

namespace trainmem {

namespace {

const char* cost_heading(Cost cost) {
  switch (cost) {
    case Cost::none: return "Without cost in speed:";
    case Cost::speed: return "At some cost in speed:";
    case Cost::host: return "With host memory, slower:";
    case Cost::numbers: return "With other rounding, or another optimizer:";
    case Cost::adapters: return "Training adapters in place of the model:";
    case Cost::gpus: return "With more GPUs, or GPUs put to another use:";
  }
  return "";
}

const char* fit_words(Fit fit) {
  switch (fit) {
    case Fit::fits: return "fits";
    case Fit::tight: return "tight";
    case Fit::does_not_fit: return "does not fit";
    case Fit::unknown: break;
  }
  return "";
}

/// Expected device memory is above the capacity, and yet it may run: the rest is cached blocks.
bool fits_without_cache(const Verdict& verdict) { return verdict.fit == Fit::tight && verdict.margin < 0; }

std::string remedy_line(const Remedy& remedy) {
  std::string line;
  for (std::size_t i = 0; i < remedy.changes.size(); ++i) {
    line += (i > 0 ? " + " : "") + std::string(remedy.changes[i]->title);
  }
  line += ": " + gibibytes(remedy.after.device.expected);
  if (remedy.after.num_gpus > 1) line += " on each of " + grouped(remedy.after.num_gpus) + " GPUs";
  if (remedy.after.host > 0) line += ", and " + gibibytes(remedy.after.host) + " of host memory for each";
  std::string lines = wrapped(line, 98);
  for (std::size_t end = lines.find('\n'); end + 1 < lines.size(); end = lines.find('\n', end + 1))
    lines.insert(end + 1, "  ");
  return "- " + lines + "  " + format_link(remedy.config) + "\n";
}

std::string remedy_lines(const std::vector<Remedy>& remedies, Fit before) {
  if (remedies.empty()) return "No few changes together make it fit; trainmem plan tries more GPUs.\n";
  std::string out = before == Fit::tight ? "What would give it room:\n" : "What would make it fit:\n";
  for (const Remedy& remedy : remedies) out += remedy_line(remedy);
  return out;
}

}  // namespace

std::string diagnosis_lines(const std::vector<Diagnosis>& diagnoses) {
  std::string out;
  for (const Diagnosis& diagnosis : diagnoses) {
    out += wrapped(std::string(diagnosis.question) + " " + diagnosis.sentence, 100);
  }
  return out;
}

std::string advice_table(const Advice& advice, const Verdict& before) {
  std::string out;
  if (before.fit == Fit::does_not_fit || before.fit == Fit::tight)
    out += remedy_lines(advice.remedies, before.fit) + "\n";
  if (advice.suggestions.empty()) return out + "No single change saves memory.\n";
  out += left("What each change alone saves", 56) + right("saved", 12) + right("then", 14) + "\n";
  const Suggestion* last = nullptr;
  bool any_without_cache = false;
  for (const Suggestion& one : advice.suggestions) {
    if (last == nullptr || last->change->cost != one.change->cost) {
      out += std::string(cost_heading(one.change->cost)) + "\n";
    }
    out += "  " + left(fit(one.change->title, 53), 54) + right(gibibytes(one.saved), 12) +
           right(gibibytes(one.after.device.expected), 14) + "  " + fit_words(one.after.verdict.fit) +
           (fits_without_cache(one.after.verdict) ? " *" : "") + "\n";
    any_without_cache |= fits_without_cache(one.after.verdict);
    last = &one;
  }
  if (any_without_cache) out += "* What is above the capacity is cached: PyTorch frees it when memory runs out.\n";
  return out;
}

std::string plan_table(const Plan& plan, std::int64_t num_gpus) {
  std::string out = grouped(plan.tried) + " configurations of " + grouped(num_gpus) + " GPUs tried, " +
                    grouped(plan.fitting) + " layouts fit.\n";
  if (plan.layouts.empty()) return out + "Try more GPUs, a lower precision, or another optimizer.\n";
  out += "\n" + right("tensor", 6) + right("pipe", 6) + right("ctx", 5) + right("exp", 5) + right("data", 7) + "  " +
         left("sharding", 10) + left("recomputed", 22) + right("micro", 6) + right("device", 14) +
         right("to spare", 12) + "\n";
  for (const Layout& layout : plan.layouts) {
    const Recipe& r = layout.config.recipe;
    out += right(grouped(r.tensor_parallel), 6) + right(grouped(r.pipeline_parallel), 6) +
           right(grouped(r.context_parallel), 5) + right(grouped(r.expert_parallel), 5) +
           right(grouped(r.data_parallel_size), 7) + "  " + left(word(r.data_parallel), 10) +
           left(word(r.recomputation), 22) + right(grouped(r.micro_batch_size), 6) +
           right(gibibytes(layout.after.device.expected), 14) + right(gibibytes(layout.after.verdict.margin), 12) +
           "\n";
  }
  return out +
         "\nBest first: least repeated arithmetic and waiting, then least exchanged, then larger micro-batches.\n" +
         "The first one:\n" + format_link(plan.layouts[0].config) + "\n";
}

}  // namespace trainmem
