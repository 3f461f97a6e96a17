#include "engine/accuracy/accuracy.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace trainmem {
namespace {

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

/// What a file of recorded steps holds.
struct FileKind {
  const char* file;  ///< the beginning of its name
  const char* kind;
};

constexpr FileKind file_kinds[] = {
    {"transformers_", "one GPU"},
    {"drawn_", "drawn at random, kept where explained"},
    {"other_", "one GPU, further families and settings"},
    {"lora", "LoRA"},
    {"experts", "mixture of experts"},
    {"ddp", "DDP"},
    {"fsdp1", "FSDP1"},
    {"fsdp2", "FSDP2"},
    {"tensor_parallel_plan", "tensor parallel, transformers' plan"},
    {"tensor_parallel", "tensor parallel"},
    {"torchtitan_experts", "experts of torchtitan, drawn at random"},
    {"torchtitan_2026", "torchtitan of 2026, FSDP2"},
    {"torchtitan", "torchtitan, FSDP2"},
    {"litgpt", "litgpt, drawn at random"},
    {"llm_foundry", "llm-foundry"},
    {"torchtune", "torchtune, drawn at random"},
    {"zero", "ZeRO 1, 2 and 3"},
    {"plain_runs", "without a dispatch mode"},
    {"preference", "preference tuning (DPO)"},
    {"policy", "policies (GRPO)"},
    {"reward", "reward models"},
    {"pairs", "pairs without a reference (ORPO, CPO, SimPO)"},
    {"unpaired", "rated sequences (KTO)"},
    {"frozen", "frozen layers and head"},
    {"padding", "padded batches"},
    {"label_smoothing", "smoothed labels"},
};

/// A file of another name stands for itself.
std::string kind_of(const CaseScore& one) {
  for (const FileKind& each : file_kinds)
    if (starts_with(one.file, each.file)) return each.kind;
  return one.file;
}

std::string framework_of(const CaseScore& one) {
  for (const char* framework : {"torchtitan", "torchtune", "litgpt", "llm_foundry"})
    if (starts_with(one.file, framework)) return framework;
  if (starts_with(one.file, "zero")) return "deepspeed";
  return "transformers";
}

Summary summary_of(const std::vector<double>& errors, int not_scored) {
  Summary result = summarise(errors);
  result.not_scored = not_scored;
  return result;
}

}  // namespace

Accuracy measure(const CaseFolder& folder) {
  Accuracy result;
  for (const TraceCase& trace : folder.traces) {
    result.traces.push_back(score(trace, trace.cannot_translate.empty() ? predict(trace) : Prediction{}));
  }
  for (const MeasuredFile& file : folder.measured) {
    for (const MeasuredCase& one : file.cases) result.measured.push_back(score(one));
    result.files.push_back({file.file, file.source, file.url, file.notes, {}, file.not_usable});
  }
  return result;
}

std::vector<Group> trace_groups(const std::vector<CaseScore>& scores) {
  struct Errors {
    std::string framework;
    std::vector<double> allocated, reserved;
    int not_scored = 0;
  };
  std::vector<std::string> order;
  std::map<std::string, Errors> kinds;
  for (const CaseScore& one : scores) {
    const std::string kind = kind_of(one);
    if (kinds.count(kind) == 0) order.push_back(kind);
    Errors& errors = kinds[kind];
    errors.framework = framework_of(one);
    if (!one.scored()) {
      ++errors.not_scored;
      continue;
    }
    errors.allocated.push_back(one.worst_phase());
    if (one.reserved.recorded != 0) errors.reserved.push_back(one.worst_reserved());
  }
  std::vector<Group> groups;
  for (const char* counter : {"allocated", "reserved"}) {
    for (const std::string& kind : order) {
      const Errors& errors = kinds[kind];
      const bool allocated = std::string(counter) == "allocated";
      groups.push_back({kind, errors.framework, counter,
                        summary_of(allocated ? errors.allocated : errors.reserved, errors.not_scored)});
    }
  }
  return groups;
}

std::vector<Group> measured_groups(const std::vector<MeasuredScore>& scores, Standing standing) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, std::vector<double>> errors;
  std::map<Key, int> not_scored;
  for (const MeasuredScore& one : scores) {
    if (one.standing() != standing) continue;
    for (const ScoredReading& reading : one.readings)
      errors[{one.file, one.framework, name(reading.counter)}].push_back(reading.bytes.error());
    if (!one.scored()) ++not_scored[{one.file, one.framework, name(one.read)}];
  }
  for (const auto& [key, count] : not_scored) errors[key];
  std::vector<Group> groups;
  for (const auto& [key, values] : errors) {
    const auto& [file, framework, counter] = key;
    groups.push_back({file, framework, counter, summary_of(values, not_scored[key])});
  }
  return groups;
}

Summary by_confidence(const std::vector<MeasuredScore>& scores, Confidence confidence) {
  std::vector<double> errors;
  int not_scored = 0;
  for (const MeasuredScore& one : scores) {
    if (one.confidence != confidence) continue;
    if (!one.scored()) ++not_scored;
    if (!one.readings.empty()) errors.push_back(one.error());
  }
  return summary_of(errors, not_scored);
}

namespace {

/// Widens a band by nine in ten of the errors, by all of fewer than twenty.
void widen(ResidualBand& band, std::vector<double> errors) {
  if (errors.empty()) return;
  std::sort(errors.begin(), errors.end());
  const std::size_t cut = errors.size() < 20 ? 0 : errors.size() / 20;
  band.under = std::min(band.under, errors[cut]);
  band.over = std::max(band.over, errors[errors.size() - 1 - cut]);
}

/// Errors of one kind of run. Recorded steps are many and were replayed; published runs are few and real, and most of
/// them name what was allocated.
struct Residuals {
  std::vector<double> recorded, published_reserved, published_allocated;

  bool published() const { return !published_reserved.empty() || !published_allocated.empty(); }
  std::size_t readings() const { return recorded.size() + published_reserved.size() + published_allocated.size(); }
};

}  // namespace

std::vector<ResidualBand> residual_bands(const Accuracy& accuracy) {
  std::map<std::string, Residuals> kinds;
  Residuals all;
  for (const CaseScore& one : accuracy.traces) {
    if (!one.scored() || one.reserved.recorded == 0) continue;
    for (const double error : {one.reserved.error(), one.reserved_expandable.error()})
      kinds[one.kind].recorded.push_back(error);
  }
  for (const MeasuredScore& one : accuracy.measured) {
    if (one.standing() != Standing::certain) continue;
    for (const ScoredReading& reading : one.readings) {
      for (Residuals* group : {&kinds[one.kind], &all}) {
        if (reading.counter == MemoryCounter::reserved) group->published_reserved.push_back(reading.bytes.error());
        if (reading.counter == MemoryCounter::allocated || reading.counter == MemoryCounter::active)
          group->published_allocated.push_back(reading.bytes.error());
      }
    }
  }
  std::vector<ResidualBand> bands;
  for (const auto& [kind, own] : kinds) {
    if (own.readings() == 0) continue;
    const Residuals& published = own.published() ? own : all;
    ResidualBand band{kind, static_cast<int>(own.readings())};
    widen(band, own.recorded);
    widen(band, published.published_reserved);
    widen(band, published.published_allocated);
    bands.push_back(std::move(band));
  }
  return bands;
}

Outcomes outcomes(const std::vector<MeasuredScore>& scores, Standing standing) {
  Outcomes result;
  for (const MeasuredScore& one : scores) {
    if (!one.scored() || one.standing() != standing || one.fit == Fit::unknown) continue;
    ++(one.out_of_memory ? result.out_of_memory : result.fitted);
    if (one.contradicts()) ++(one.out_of_memory ? result.out_of_memory_called_fit : result.fitted_called_too_large);
    if (one.out_of_memory || !one.at_capacity) continue;
    ++result.beyond_capacity;
    if (one.at_capacity->requested > 0) ++result.beyond_capacity_called_out_of_memory;
  }
  return result;
}

}  // namespace trainmem
