// Which tables an optimizer has.
#include "engine/optimizer/facts.h"

#include "engine/optimizer/tables.h"

namespace trainmem {
namespace {

constexpr std::int64_t smallest_8bit = 4096;  // bitsandbytes min_8bit_size; torchao _new_buffer
constexpr Bytes code_book = 256 * 4;  // bitsandbytes qmap: 256 fp32 values for each state, shared by all tensors

OptimizerTables tables_of(OptimizerPart part, OptimizerImplementation how) {
  switch (part.optimizer) {
    case Optimizer::adamw_8bit:
    case Optimizer::adamw_paged:
    case Optimizer::adamw_paged_8bit:
    case Optimizer::lion_8bit:
    case Optimizer::ademamix:
    case Optimizer::ademamix_8bit:
    case Optimizer::lamb: return {bitsandbytes_states(part.optimizer), bitsandbytes_lines(part.optimizer)};
    case Optimizer::adamw_torchao_8bit:
    case Optimizer::adamw_torchao_4bit:
    case Optimizer::adamw_torchao_fp8: return {torchao_states(part.optimizer), {}};
    case Optimizer::adamw_schedule_free:
    case Optimizer::sgd_schedule_free: return schedule_free_tables(part.optimizer, how);
    case Optimizer::came: return came_tables();
    case Optimizer::sophia: return sophia_tables();
    case Optimizer::galore:
    case Optimizer::apollo: return low_rank_tables(part);
    default: return {state_table(part.optimizer, how), step_table(part.optimizer, how)};
  }
}

bool in_blocks(const SteppedTensor& tensor, std::int64_t block) {
  return tensor.elements() >= smallest_8bit && tensor.elements() % block == 0;
}

}  // namespace

std::span<const OptimizerPart> optimizer_parts(Optimizer optimizer) {
  static constexpr OptimizerPart muon[] = {{Optimizer::muon, Members::hidden_matrices},
                                           {Optimizer::adamw, Members::others}};
  static constexpr OptimizerPart galore[] = {{Optimizer::galore, Members::others},
                                             {Optimizer::galore, Members::hidden_matrices}};
  static constexpr OptimizerPart apollo[] = {{Optimizer::apollo, Members::others},
                                             {Optimizer::apollo, Members::hidden_matrices}};
  static constexpr auto alone = [] {
    std::array<OptimizerPart, static_cast<std::size_t>(Optimizer::none) + 1> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = {static_cast<Optimizer>(i), Members::all};
    return all;
  }();
  if (optimizer == Optimizer::muon_adamw) return muon;
  if (optimizer == Optimizer::galore) return galore;
  if (optimizer == Optimizer::apollo) return apollo;
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
    case Optimizer::radam:
    case Optimizer::adamax:
    case Optimizer::adadelta:
    case Optimizer::adamw_schedule_free:
    case Optimizer::sgd_schedule_free:
    case Optimizer::nadam: return asked == OptimizerImplementation::fused ? OptimizerImplementation::foreach : asked;
    case Optimizer::adafactor_hf:
    case Optimizer::lion:
    case Optimizer::galore:
    case Optimizer::apollo:
    case Optimizer::came:
    case Optimizer::sophia:
    case Optimizer::muon:
      return asked == OptimizerImplementation::in_backward ? asked : OptimizerImplementation::for_loop;
    case Optimizer::adamw_8bit:
    case Optimizer::adamw_paged:
    case Optimizer::adamw_paged_8bit:
    case Optimizer::lion_8bit:
    case Optimizer::ademamix:
    case Optimizer::ademamix_8bit:
    case Optimizer::lamb:
    case Optimizer::adamw_torchao_8bit:
    case Optimizer::adamw_torchao_4bit:
    case Optimizer::adamw_torchao_fp8:
    case Optimizer::none: return asked == OptimizerImplementation::in_backward ? asked : OptimizerImplementation::fused;
  }
  return asked;
}

bool needs_whole_matrices(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::muon:
    case Optimizer::muon_adamw:
    case Optimizer::galore:
    case Optimizer::apollo:
    case Optimizer::came: return true;
    default: return false;
  }
}

OptimizerFacts optimizer_facts(OptimizerPart part, OptimizerImplementation asked) {
  const Optimizer optimizer = part.optimizer;
  const OptimizerImplementation how = implementation_of(optimizer, asked);
  const OptimizerTables tables = tables_of(part, how);
  OptimizerFacts facts;
  facts.states = tables.states;
  facts.lines = tables.lines;
  if (how == OptimizerImplementation::foreach) {
    facts.order = optimizer == Optimizer::adafactor ? StepOrder::lists_by_dimension : StepOrder::lists;
  }
  const bool two_books = optimizer == Optimizer::adamw_8bit || optimizer == Optimizer::adamw_paged_8bit ||
                         optimizer == Optimizer::ademamix_8bit;
  if (two_books) facts.shared_state_bytes = 2 * code_book;
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

bool applies(Only only, const SteppedTensor& tensor) {
  switch (only) {
    case Only::all: return true;
    case Only::matrices: return tensor.rank >= 2;
    case Only::vectors: return tensor.rank < 2;
    case Only::half_gradients: return is_half(tensor.gradient);
    case Only::single_gradients: return !is_half(tensor.gradient);
    case Only::half_parameters: return is_half(tensor.parameter);
    case Only::not_bf16_matrices: return tensor.rank >= 2 && tensor.gradient != DType::bfloat16;
    case Only::large: return tensor.elements() >= smallest_8bit;
    case Only::small: return tensor.elements() < smallest_8bit;
    case Only::blocks: return in_blocks(tensor, state_block);
    case Only::no_blocks: return !in_blocks(tensor, state_block);
    case Only::small_blocks: return in_blocks(tensor, small_state_block);
    case Only::no_small_blocks: return !in_blocks(tensor, small_state_block);
    case Only::whole_gradients: return tensor.whole_gradient;
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
    case Format::float8: return DType::float8;
    case Format::uint8: return DType::uint8;
  }
  return DType::float32;
}

}  // namespace trainmem
