// What each optimizer keeps between steps, and what its step allocates meanwhile, tensor by tensor.
//
// Facts are tables read from the optimizers' source: one line for each tensor that a statement of the step makes. A
// line names a slot, as the statement names a Python variable: the new tensor exists before the old one goes, and what
// a slot holds lives until it is assigned again or dropped. walk.h walks them over the tensors of a run.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/config.h"
#include "engine/tensor/tensor.h"

namespace trainmem {

/// Size of a state or temporary, given its parameter's shape.
enum class Extent : std::uint8_t {
  full,             ///< the parameter's shape
  gradient,         ///< the gradient's: see SteppedTensor, whole_gradient
  twice,            ///< the parameter's shape two times, in one tensor
  packed,           ///< two elements in one
  rows,             ///< without the last dimension: row factor of Adafactor
  columns,          ///< without the last dimension but one: column factor
  gram,             ///< min(m, n) squared: Muon
  longer,           ///< max(m, n)
  shorter,          ///< min(m, n)
  projector,        ///< rank x min(m, n): GaLore, APOLLO
  projected,        ///< rank x max(m, n)
  blocks,           ///< one for state_block elements: scales of 8-bit states
  twice_blocks,     ///< two for state_block elements
  small_blocks,     ///< one for small_state_block elements: scales of torchao's 4-bit states
  code_book,        ///< 256 values that 8-bit codes stand for
  small_code_book,  ///< 16 values that 4-bit codes stand for
  scalar,           ///< one element
};

enum class Format : std::uint8_t { state, parameter, gradient, float32, bfloat16, float8, uint8 };

/// Which tensors a line applies to.
enum class Only : std::uint8_t {
  all,
  matrices,           ///< two or more dimensions
  vectors,            ///< fewer
  half_gradients,     ///< 16-bit gradients
  single_gradients,   ///< 32-bit gradients
  half_parameters,    ///< 16-bit parameters
  not_bf16_matrices,  ///< matrices whose gradient is not bf16
  large,              ///< 4,096 elements or more
  small,
  blocks,  ///< large, and whole blocks of state_block elements
  no_blocks,
  small_blocks,  ///< large, and whole blocks of small_state_block elements
  no_small_blocks,
  whole_gradients,  ///< of which this GPU steps a part: see SteppedTensor
};

struct StateLine {
  const char* name;
  Extent extent;
  Format format;
  Only only;
  Rule rule;
};

inline constexpr int optimizer_slots = 9;

enum class StepAction : std::uint8_t {
  make,
  drop,
  move,
  take,  ///< copies that live as long as the statement
};

struct StepLine {
  StepAction action;
  std::int8_t slot;  ///< take: how many
  std::int8_t from;  ///< move: the slot that is emptied
  Extent extent;
  Format format;
  Only only;
  Rule rule;
};

/// How tensors are taken through the lines.
enum class StepOrder : std::uint8_t {
  one_by_one,          ///< all lines for a tensor, then the next; slots keep what they hold
  lists,               ///< each line for all tensors of a format at once
  lists_by_dimension,  ///< the same, matrices and vectors apart
};

struct OptimizerFacts {
  std::span<const StateLine> states{};
  std::span<const StepLine> lines{};
  StepOrder order = StepOrder::one_by_one;
  Only members = Only::all;             ///< parameters that the optimizer takes; others only get gradients
  Bytes shared_state_bytes = 0;         ///< once for all tensors
  bool states_at_construction = false;  ///< otherwise in the first step
  bool paged = false;                   ///< large states lie in managed memory, outside PyTorch's counters
};

/// Which parameters an optimizer was given.
enum class Members : std::uint8_t {
  all,
  hidden_matrices,  ///< the matrices of blocks: neither embeddings nor head
  others,
};

/// Optimizers that a training loop holds side by side.
struct OptimizerPart {
  Optimizer optimizer;
  Members members;
};

/// muon_adamw: Muon for the matrices of blocks and AdamW for all else, as Muon's authors use it (KellerJordan/Muon
/// README; pytorch torch/optim/_muon.py: Muon). GaLore and APOLLO step the matrices of blocks last, in their group of
/// parameters (transformers src/transformers/trainer_optimizer.py). Every other optimizer is one.
std::span<const OptimizerPart> optimizer_parts(Optimizer optimizer);

/// The implementation that runs when `asked` is asked for: not every optimizer has every one.
OptimizerImplementation implementation_of(Optimizer optimizer, OptimizerImplementation asked);

/// Of one part: muon_adamw has none of its own.
OptimizerFacts optimizer_facts(OptimizerPart part, OptimizerImplementation implementation);

/// Its step works on whole matrices (singular values, means of rows, products): a shard or a flat vector is none.
bool needs_whole_matrices(Optimizer optimizer);

/// One parameter as its optimizer sees it: under sharding, the local shard.
struct SteppedTensor {
  std::array<Size, 3> shape{};
  int rank = 0;
  DType parameter = DType::float32;
  DType gradient = DType::float32;
  DType state = DType::float32;
  bool whole_gradient = false;  ///< a DTensor that every GPU has whole, of a parameter that is divided

  Size elements() const;
};

inline constexpr std::int64_t state_block =
    256;  ///< elements of an 8-bit state that share a scale: bitsandbytes, torchao
inline constexpr std::int64_t small_state_block = 128;  ///< elements of a 4-bit state that share a scale: torchao
inline constexpr std::int64_t smallest_paged = 100000;  ///< elements; bitsandbytes get_state_buffer: 1e5

bool applies(Only only, const SteppedTensor& tensor);
DType dtype_of(Format format, const SteppedTensor& tensor);

}  // namespace trainmem
