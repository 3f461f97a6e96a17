// Which tables an optimizer has, and a walk through them over tensor sizes.
#include "engine/optimizer/facts.h"

#include <algorithm>

#include "engine/optimizer/tables.h"

namespace trainmem {
namespace {

constexpr std::int64_t block_size = 256;      // bitsandbytes
constexpr std::int64_t smallest_8bit = 4096;  // bitsandbytes min_8bit_size
constexpr Bytes code_book = 256 * 4;  // bitsandbytes qmap: 256 fp32 values for each state, shared by all tensors

std::int64_t elements_of(Extent extent, const SteppedTensor& tensor) {
  const std::int64_t n = tensor.elements();
  const auto side = [&](int from_end) {
    return tensor.shape[static_cast<std::size_t>(tensor.rank - from_end)].value();
  };
  switch (extent) {
    case Extent::full: return n;
    case Extent::rows: return tensor.rank < 1 ? 1 : n / side(1);
    case Extent::columns: return tensor.rank < 2 ? n : n / side(2);
    case Extent::gram: return tensor.rank < 2 ? 1 : std::min(side(1), side(2)) * std::min(side(1), side(2));
    case Extent::blocks: return (n + block_size - 1) / block_size;
    case Extent::scalar: return 1;
  }
  return n;
}

/// Bytes in use, and the most there were.
class Meter {
 public:
  /// The new content exists before the old one goes.
  void assign(int slot, Bytes bytes) {
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
    drop(slot);
    held_[static_cast<std::size_t>(slot)] = bytes;
  }
  void drop(int slot) { in_use_ -= take(slot); }
  void move(int slot, int from) {
    const Bytes moved = take(from);
    drop(slot);
    held_[static_cast<std::size_t>(slot)] = moved;
  }
  void drop_all() {
    for (int slot = 0; slot < optimizer_slots; ++slot) drop(slot);
  }
  Bytes peak() const { return peak_; }

 private:
  Bytes take(int slot) {
    const Bytes held = held_[static_cast<std::size_t>(slot)];
    held_[static_cast<std::size_t>(slot)] = 0;
    return held;
  }
  std::array<Bytes, optimizer_slots> held_{};
  Bytes in_use_ = 0;
  Bytes peak_ = 0;
};

using Group = std::vector<const SteppedTensor*>;

/// Lines over one group: a list that is made replaces the slot's former list once it is complete.
void walk(std::span<const StepLine> lines, const Group& group, Meter& meter) {
  for (const StepLine& line : lines) {
    Bytes bytes = 0;
    bool any = false;
    for (const SteppedTensor* tensor : group) {
      if (!applies(line.only, *tensor)) continue;
      any = true;
      bytes += bytes_of(line.extent, line.format, *tensor);
    }
    if (!any) continue;
    if (line.action == StepAction::make) meter.assign(line.slot, bytes);
    if (line.action == StepAction::drop) meter.drop(line.slot);
    if (line.action == StepAction::move) meter.move(line.slot, line.from);
  }
}

/// Tensors in the groups that the step takes together, in order of first appearance.
std::vector<Group> grouped(StepOrder order, const std::vector<SteppedTensor>& tensors) {
  std::vector<Group> groups;
  for (const SteppedTensor& tensor : tensors) {
    Group* home = nullptr;
    for (Group& group : groups) {
      const SteppedTensor& other = *group.front();
      const bool format = other.parameter == tensor.parameter && other.gradient == tensor.gradient;
      const bool dimension = order == StepOrder::lists || (other.rank >= 2) == (tensor.rank >= 2);
      if (order != StepOrder::one_by_one && format && dimension) home = &group;
    }
    if (home == nullptr) home = &groups.emplace_back();
    home->push_back(&tensor);
  }
  return groups;
}

}  // namespace

bool has_facts(Optimizer optimizer) { return optimizer != Optimizer::galore; }

std::span<const OptimizerPart> optimizer_parts(Optimizer optimizer) {
  static constexpr OptimizerPart together[] = {{Optimizer::muon, Members::hidden_matrices},
                                               {Optimizer::adamw, Members::others}};
  static constexpr auto alone = [] {
    std::array<OptimizerPart, static_cast<std::size_t>(Optimizer::none) + 1> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = {static_cast<Optimizer>(i), Members::all};
    return all;
  }();
  if (optimizer == Optimizer::muon_adamw) return together;
  return {&alone[static_cast<std::size_t>(optimizer)], 1};
}

OptimizerImplementation implementation_of(Optimizer optimizer, OptimizerImplementation asked) {
  switch (optimizer) {
    case Optimizer::adamw:
    case Optimizer::adamw_amsgrad:
    case Optimizer::muon_adamw:
    case Optimizer::sgd:
    case Optimizer::sgd_momentum: return asked;
    case Optimizer::adagrad:  // its fused step is for CPU tensors
    case Optimizer::adafactor:
    case Optimizer::rmsprop:
    case Optimizer::nadam: return asked == OptimizerImplementation::fused ? OptimizerImplementation::foreach : asked;
    case Optimizer::adafactor_hf:
    case Optimizer::lion:
    case Optimizer::muon:
      return asked == OptimizerImplementation::in_backward ? asked : OptimizerImplementation::for_loop;
    case Optimizer::adamw_8bit:
    case Optimizer::adamw_paged:
    case Optimizer::adamw_paged_8bit:
    case Optimizer::lion_8bit:
    case Optimizer::galore:
    case Optimizer::none: return asked == OptimizerImplementation::in_backward ? asked : OptimizerImplementation::fused;
  }
  return asked;
}

OptimizerFacts optimizer_facts(Optimizer optimizer, OptimizerImplementation asked) {
  const OptimizerImplementation how = implementation_of(optimizer, asked);
  OptimizerFacts facts;
  facts.states = state_table(optimizer, how);
  facts.lines = step_table(optimizer, how);
  if (how == OptimizerImplementation::foreach) {
    facts.order = optimizer == Optimizer::adafactor ? StepOrder::lists_by_dimension : StepOrder::lists;
  }
  const bool two_states = optimizer == Optimizer::adamw_8bit || optimizer == Optimizer::adamw_paged_8bit;
  if (two_states) facts.shared_state_bytes = 2 * code_book;
  if (optimizer == Optimizer::lion_8bit) facts.shared_state_bytes = code_book;
  if (optimizer == Optimizer::muon) facts.members = Only::matrices;
  facts.states_at_construction = optimizer == Optimizer::adagrad;
  facts.paged = optimizer == Optimizer::adamw_paged || optimizer == Optimizer::adamw_paged_8bit;
  return facts;
}

Size SteppedTensor::elements() const {
  Size product = 1;
  for (int i = 0; i < rank; ++i) product *= shape[static_cast<std::size_t>(i)];
  return product;
}

std::vector<SteppedTensor> stepped_tensors(const ParameterTensors& tensors, DType parameter, DType gradient,
                                           DType state) {
  std::vector<SteppedTensor> stepped;
  for (const ParameterTensor& tensor : tensors) {
    if (tensor.tied_to == nullptr && tensor.trainable) {
      stepped.push_back({{tensor.shape[0], tensor.shape[1], tensor.shape[2]}, tensor.rank, parameter, gradient, state});
    }
  }
  return stepped;
}

bool applies(Only only, const SteppedTensor& tensor) {
  switch (only) {
    case Only::all: return true;
    case Only::matrices: return tensor.rank >= 2;
    case Only::vectors: return tensor.rank < 2;
    case Only::half_gradients: return is_half(tensor.gradient);
    case Only::half_parameters: return is_half(tensor.parameter);
    case Only::not_bf16_matrices: return tensor.rank >= 2 && tensor.gradient != DType::bfloat16;
    case Only::large: return tensor.elements() >= smallest_8bit;
    case Only::small: return tensor.elements() < smallest_8bit;
  }
  return true;
}

DType dtype_of(Format format, const SteppedTensor& tensor) {
  switch (format) {
    case Format::state: return tensor.state;
    case Format::parameter: return tensor.parameter;
    case Format::gradient: return tensor.gradient;
    case Format::float32: return DType::float32;
    case Format::bfloat16: return DType::bfloat16;
    case Format::uint8: return DType::uint8;
  }
  return DType::float32;
}

Bytes bytes_of(Extent extent, Format format, const SteppedTensor& tensor) {
  return elements_of(extent, tensor) * element_bytes(dtype_of(format, tensor));
}

StateBytes state_bytes(Optimizer optimizer, OptimizerImplementation implementation,
                       const std::vector<SteppedTensor>& tensors) {
  const OptimizerFacts facts = optimizer_facts(optimizer, implementation);
  StateBytes sum;
  if (!tensors.empty()) sum.resident = facts.shared_state_bytes;
  for (const SteppedTensor& tensor : tensors) {
    const bool paged = facts.paged && tensor.elements() >= smallest_paged;
    for (const StateLine& line : facts.states) {
      if (!applies(line.only, tensor)) continue;
      // Only the moments are paged; scales and counters are ordinary tensors.
      Bytes& target = paged && line.extent == Extent::full ? sum.paged : sum.resident;
      target += bytes_of(line.extent, line.format, tensor);
    }
  }
  return sum;
}

Bytes step_temporary_peak(Optimizer optimizer, OptimizerImplementation implementation,
                          const std::vector<SteppedTensor>& tensors) {
  const OptimizerFacts facts = optimizer_facts(optimizer, implementation);
  const bool alone = implementation_of(optimizer, implementation) == OptimizerImplementation::in_backward;
  Meter meter;
  for (const Group& group : grouped(alone ? StepOrder::one_by_one : facts.order, tensors)) {
    walk(facts.lines, group, meter);
    if (alone) meter.drop_all();
  }
  return meter.peak();
}

Bytes clipping_temporary_peak(const std::vector<SteppedTensor>& tensors) {
  if (tensors.empty()) return 0;
  Bytes norms = 0;
  for (const SteppedTensor& tensor : tensors) norms += element_bytes(tensor.gradient);
  const Bytes element = element_bytes(tensors.front().gradient);
  return norms + element * static_cast<Bytes>(tensors.size()) + element;
}

}  // namespace trainmem
