// torchao: states of its low-bit AdamW. Each state carries the values its codes stand for. The step of a tensor is one
// compiled function (torchao/optim/adam.py: single_param_adam), which holds working values in registers.
#include "engine/optimizer/tables.h"

namespace trainmem {
namespace {

constexpr const char* source_8bit = "pytorch/ao torchao/optim/subclass_8bit.py: OptimState8bit.zeros, block size 256";
constexpr const char* source_4bit = "pytorch/ao torchao/optim/subclass_4bit.py: OptimState4bit.zeros, block size 128";
constexpr const char* source_fp8 = "pytorch/ao torchao/optim/subclass_fp8.py: OptimStateFp8.zeros, block size 256";
constexpr const char* buffer_source = "pytorch/ao torchao/optim/adam.py: _new_buffer, zeros_like(p)";

constexpr StateLine codes(const char* name, Extent extent, Format format, Only only, const char* source) {
  return {name, extent, format, only, {"codes", "quantised in blocks that share a scale", source}};
}
constexpr StateLine scales(const char* name, Extent extent, Only only, const char* source) {
  return {name, extent, Format::float32, only, {"scale", "one scale for a block", source}};
}
constexpr StateLine values(const char* name, Extent extent, Only only, const char* source) {
  return {
      name, extent, Format::float32, only, {"qmap", "the values that codes stand for, of this state alone", source}};
}
constexpr StateLine plain(const char* name, Only only) {
  constexpr const char* why = "fewer than 4,096 elements, or no whole number of blocks: the parameter's format";
  return {name, Extent::full, Format::parameter, only, {"zeros_like", why, buffer_source}};
}

constexpr StateLine states_8bit[] = {
    codes("first moment", Extent::full, Format::uint8, Only::blocks, source_8bit),
    scales("scales of the first moment", Extent::blocks, Only::blocks, source_8bit),
    values("code book of the first moment", Extent::code_book, Only::blocks, source_8bit),
    codes("second moment", Extent::full, Format::uint8, Only::blocks, source_8bit),
    scales("scales of the second moment", Extent::blocks, Only::blocks, source_8bit),
    values("code book of the second moment", Extent::code_book, Only::blocks, source_8bit),
    plain("first moment", Only::no_blocks),
    plain("second moment", Only::no_blocks),
};
constexpr StateLine states_4bit[] = {
    codes("first moment", Extent::packed, Format::uint8, Only::small_blocks, source_4bit),
    scales("scales of the first moment", Extent::small_blocks, Only::small_blocks, source_4bit),
    values("code book of the first moment", Extent::small_code_book, Only::small_blocks, source_4bit),
    codes("second moment", Extent::packed, Format::uint8, Only::small_blocks, source_4bit),
    scales("scales of the second moment", Extent::small_blocks, Only::small_blocks, source_4bit),
    values("code book of the second moment", Extent::small_code_book, Only::small_blocks, source_4bit),
    plain("first moment", Only::no_small_blocks),
    plain("second moment", Only::no_small_blocks),
};
constexpr StateLine states_fp8[] = {
    codes("first moment", Extent::full, Format::float8, Only::blocks, source_fp8),
    scales("scales of the first moment", Extent::blocks, Only::blocks, source_fp8),
    codes("second moment", Extent::full, Format::float8, Only::blocks, source_fp8),
    scales("scales of the second moment", Extent::blocks, Only::blocks, source_fp8),
    plain("first moment", Only::no_blocks),
    plain("second moment", Only::no_blocks),
};

}  // namespace

std::span<const StateLine> torchao_states(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adamw_torchao_8bit: return states_8bit;
    case Optimizer::adamw_torchao_4bit: return states_4bit;
    case Optimizer::adamw_torchao_fp8: return states_fp8;
    default: return {};
  }
}

}  // namespace trainmem
