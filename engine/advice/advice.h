// What to change: three questions about the peak, and every single change that saves memory.
//
// A change is tried by the engine itself: the configuration with it, validated, estimated afresh. Nothing here is
// computed from the difference of formulas, so a change's numbers are those the reader gets by making it.
#pragma once

#include <string>
#include <vector>

#include "engine/advice/changes.h"
#include "engine/config.h"
#include "engine/result.h"

namespace trainmem {

/// One diagnostic question, answered by the bytes alive at the peak.
struct Diagnosis {
  const char* question;  ///< "Is activation memory the hotspot?"
  bool yes = false;
  Bytes bytes = 0;       ///< what the question is about, at the peak
  Bytes of = 0;          ///< the whole peak: allocated
  std::string sentence;  ///< the answer, with numbers
};

/// Activations the largest group at the peak? Optimizer states? Copies that other data-parallel GPUs hold as well?
std::vector<Diagnosis> diagnose(const Config& config, const Result& result);

/// What a configuration takes, without rows and curves.
struct Outcome {
  Bytes allocated = 0;
  ComponentBytes components{};  ///< at the peak; sum: allocated
  Range reserved;
  Range device;
  Bytes host = 0;  ///< weights, gradients and states that wait in host memory, for each GPU
  Verdict verdict;
  std::int64_t num_gpus = 1;
  std::int64_t parameters = 0;  ///< of the whole model
};

Outcome outcome(const Config& config);

/// A change that saves memory, with what the engine says of the configuration after it.
struct Suggestion {
  const Change* change = nullptr;
  Config config;  ///< after the change
  Outcome after;
  Bytes saved = 0;  ///< device memory before less after
};

/// What makes a configuration that does not fit fit: one change, or a few together.
struct Remedy {
  std::vector<const Change*> changes;
  Config config;
  Outcome after;
};

struct Advice {
  std::vector<Diagnosis> diagnoses;
  std::vector<Suggestion> suggestions;  ///< cheap ones first, then by bytes saved; from a thousandth of the whole on
  std::vector<Remedy> remedies;         ///< cheapest first; only where the verdict is does_not_fit or tight
};

/// The configuration is valid and modelled, and the result is its own.
Advice advise(const Config& config, const Result& result);

}  // namespace trainmem
