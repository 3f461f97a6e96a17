// The answer to one configuration. Plain data; json_io writes it with the same names.
//
// Everything is of one GPU: the worst one, unless a stage says otherwise. Bytes are exact integers. The parts
// of a total always sum to it: components to allocated, rows to components, phases hold their own peaks.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "engine/dtype.h"
#include "engine/issue.h"

namespace trainmem {

enum class Component : std::uint8_t {
  weights,
  master_weights,
  gradients,
  optimizer_states,
  activations,
  logits_and_loss,
  optimizer_temporaries,
  gathered_parameters,
  communication,
  workspace
};
inline constexpr int component_count = 10;
const char* name(Component component);

/// A value for each component.
template <class T>
struct ByComponent : std::array<T, component_count> {
  using Values = std::array<T, component_count>;
  using Values::operator[];
  T& operator[](Component component) { return Values::operator[](static_cast<std::size_t>(component)); }
  const T& operator[](Component component) const { return Values::operator[](static_cast<std::size_t>(component)); }
};
using ComponentBytes = ByComponent<Bytes>;

/// reference: the forward of the model that a policy is compared with.
enum class Phase : std::uint8_t { initialise, forward, reference, loss, backward, optimizer_step };
inline constexpr int phase_count = 6;
const char* name(Phase phase);

enum class RowKind : std::uint8_t { exact, estimate, measured };
const char* name(RowKind kind);

/// A named family of tensors alive at the peak.
struct Row {
  std::string name;   ///< dotted: "attention.query"
  std::string shape;  ///< sizes of the dimensions: "2x4096x5120"
  std::string dtype;
  std::int64_t elements = 0;  ///< of one tensor
  double element_bytes = 0;   ///< 0.5 for nf4
  std::int64_t copies = 1;    ///< tensors in this row, over layers and micro-batches
  Bytes bytes = 0;            ///< of the whole row
  Component component = Component::activations;
  std::string why;      ///< why it is alive
  std::string formula;  ///< "2 * 4096 * 5120 * 2 bytes * 39"
  std::string source;   ///< where the rule stands
  RowKind kind = RowKind::exact;
};

/// One corner of the timeline curve.
struct TimelinePoint {
  Phase phase = Phase::initialise;
  std::string where;    ///< "backward / layer 31 / mlp"
  Bytes allocated = 0;  ///< highest bytes since the previous point
  ComponentBytes components{};
};

struct PhasePeak {
  Phase phase = Phase::initialise;
  Bytes peak = 0;
  Bytes end = 0;
  ComponentBytes components{};  ///< at the phase's peak
};

struct Stage {
  std::int64_t index = 0;  ///< pipeline stage, 0 first
  std::int64_t layers = 0;
  std::int64_t micro_batches_in_flight = 0;
  std::int64_t parameters = 0;  ///< held by one GPU of the stage
  Bytes allocated = 0;
  ComponentBytes components{};
  bool worst = false;
};

struct Range {
  Bytes low = 0;
  Bytes expected = 0;
  Bytes high = 0;
};

/// Memory outside PyTorch's allocator, one line each: CUDA context, NCCL communicators.
struct RuntimeRow {
  std::string name;
  Range bytes;
  std::string why;
  std::string source;
};

enum class Fit : std::uint8_t { fits, tight, does_not_fit, unknown };
const char* name(Fit fit);

/// How the caching allocator gets along with what the GPU has, where it would reserve more. See tape/replay.h.
struct AtCapacity {
  Bytes limit = 0;           ///< what the allocator may take
  Bytes reserved = 0;        ///< max_memory_reserved()
  std::int64_t retries = 0;  ///< num_alloc_retries: times cached blocks are freed, in all steps that were run
  std::int64_t retries_of_last_step = 0;  ///< of them, those of the last step: of every step to come
  Bytes requested = 0;                    ///< what there is no memory for; 0: it gets along
  Bytes allocated = 0;                    ///< in use when that is asked for
};

struct Verdict {
  Fit fit = Fit::unknown;
  Bytes capacity = 0;  ///< what a program can use on this GPU
  Bytes margin = 0;    ///< capacity less expected device memory; negative: missing
  std::string sentence;
  std::optional<AtCapacity> at_capacity;  ///< of a tight case whose expected device memory is above the capacity
};

/// One published closed formula, as its source gives it.
struct TextbookLine {
  std::string method;
  std::string formula;  ///< with the numbers put in
  Bytes bytes = 0;
  std::string source;
  std::string leaves_out;
};

/// What one GPU moves through its memory in one phase of a step, and computes. See bandwidth/bandwidth.h.
struct PhaseBandwidth {
  Phase phase = Phase::forward;
  ByComponent<double> components{};  ///< bytes read and written; exact below 2^53
  double bytes = 0;                  ///< their sum
  double flops = 0;                  ///< of matrix products and attention
  double recomputed_flops = 0;       ///< of them, those of recomputation
  double arithmetic_seconds = 0;     ///< at the peak; 0: peak unknown, or no arithmetic
};

enum class Bound : std::uint8_t { memory, arithmetic, unknown };
const char* name(Bound bound);

struct PhaseTime {
  Phase phase = Phase::forward;
  double memory_seconds = 0;
  double seconds = 0;  ///< the longer of memory and arithmetic
  Bound bound = Bound::unknown;
};

/// The step at one bandwidth.
struct RateBandwidth {
  std::string name;  ///< datasheet, measured or given
  double gb_per_s = 0;
  double ridge_point = 0;  ///< floating-point operations a byte at which memory and arithmetic take equally long
  std::vector<PhaseTime> phases;
  double step_seconds = 0;             ///< no step can be shorter
  double tokens_per_second = 0;        ///< of all GPUs together
  double model_flops_utilization = 0;  ///< the step's arithmetic without recomputation over the peak; 0: unknown
};

struct Bandwidth {
  std::vector<PhaseBandwidth> phases;
  double bytes = 0;
  double flops = 0;
  double flops_per_token = 0;  ///< 6N + 12LHQT: Chowdhery et al. 2022, appendix B, with the parameters a token uses
  double tokens = 0;           ///< of one optimizer step, over all GPUs
  double peak_flops_per_second = 0;  ///< dense, 16-bit or fp8; 0: unknown, or fp32 training
  std::string optimizer_source;      ///< where the optimizer's passes over memory stand
  std::vector<RateBandwidth> rates;  ///< of the bandwidths that are known; the last one is in force
};

struct Result {
  Bytes allocated = 0;
  Range reserved;  ///< of the GPU that reserves most: see peak/reserved.h
  Range device;
  Bytes host = 0;  ///< weights, gradients and states that offloading keeps in host memory, of each GPU: an estimate
  Phase peak_phase = Phase::initialise;
  std::string peak_where;
  ComponentBytes components{};  ///< at the peak; sum: allocated
  std::vector<Row> rows;        ///< at the peak; sum: allocated
  std::vector<PhasePeak> phases;
  std::vector<TimelinePoint> timeline;
  std::vector<Stage> stages;
  std::vector<RuntimeRow> runtime;
  Verdict verdict;
  std::vector<TextbookLine> textbook;
  Bandwidth bandwidth;
  std::int64_t parameters = 0;         ///< of the whole model
  std::int64_t active_parameters = 0;  ///< used by one token
  std::int64_t trainable_parameters = 0;
  std::int64_t num_gpus = 1;
  std::int64_t global_batch_size = 0;    ///< sequences
  std::vector<std::string> not_counted;  ///< sentences
};

}  // namespace trainmem
