// bitsandbytes: states of its optimizers. Its kernels unpack and step in registers: no temporaries.
#include "engine/optimizer/tables.h"

namespace trainmem {
namespace {

constexpr const char* bitsandbytes_source =
    "bitsandbytes optim/optimizer.py: Optimizer2State.init_state, min_8bit_size 4096, block size 256";
constexpr StateLine adam_8bit_states[] = {
    {"first moment", Extent::full, Format::uint8, Only::large, {"state1", "8-bit codes", bitsandbytes_source}},
    {"scales of the first moment",
     Extent::blocks,
     Format::float32,
     Only::large,
     {"absmax1", "one scale for 256 codes", bitsandbytes_source}},
    {"second moment", Extent::full, Format::uint8, Only::large, {"state2", "8-bit codes", bitsandbytes_source}},
    {"scales of the second moment",
     Extent::blocks,
     Format::float32,
     Only::large,
     {"absmax2", "one scale for 256 codes", bitsandbytes_source}},
    {"first moment",
     Extent::full,
     Format::float32,
     Only::small,
     {"state1", "tensors of fewer than 4,096 elements stay in fp32", bitsandbytes_source}},
    {"second moment",
     Extent::full,
     Format::float32,
     Only::small,
     {"state2", "tensors of fewer than 4,096 elements stay in fp32", bitsandbytes_source}},
};
constexpr StateLine lion_8bit_states[] = {
    {"first moment", Extent::full, Format::uint8, Only::large, {"state1", "8-bit codes", bitsandbytes_source}},
    {"scales of the first moment",
     Extent::blocks,
     Format::float32,
     Only::large,
     {"absmax1", "one scale for 256 codes", bitsandbytes_source}},
    {"first moment",
     Extent::full,
     Format::float32,
     Only::small,
     {"state1", "tensors of fewer than 4,096 elements stay in fp32", bitsandbytes_source}},
};
constexpr StateLine adam_32bit_states[] = {
    {"first moment",
     Extent::full,
     Format::float32,
     Only::all,
     {"state1", "fp32 whatever the parameter's format", "bitsandbytes optim/optimizer.py: init_state, optim_bits 32"}},
    {"second moment",
     Extent::full,
     Format::float32,
     Only::all,
     {"state2", "fp32 whatever the parameter's format", "bitsandbytes optim/optimizer.py: init_state, optim_bits 32"}},
};
constexpr const char* ademamix_source =
    "bitsandbytes optim/ademamix.py: AdEMAMix.init_state, min_8bit_size 4096, block size 256";
constexpr const char* two_means = "fast and slow running mean of the gradient in one tensor";
constexpr StateLine ademamix_states[] = {
    {"first moments", Extent::twice, Format::float32, Only::all, {"state1", two_means, ademamix_source}},
    {"second moment",
     Extent::full,
     Format::float32,
     Only::all,
     {"state2", "running mean of the squared gradient, in fp32", ademamix_source}},
};
constexpr StateLine ademamix_8bit_states[] = {
    {"scales of the first moments",
     Extent::twice_blocks,
     Format::float32,
     Only::large,
     {"absmax1", "one scale for 256 codes", ademamix_source}},
    {"scales of the second moment",
     Extent::blocks,
     Format::float32,
     Only::large,
     {"absmax2", "one scale for 256 codes", ademamix_source}},
    {"first moments", Extent::twice, Format::uint8, Only::large, {"state1", two_means, ademamix_source}},
    {"second moment", Extent::full, Format::uint8, Only::large, {"state2", "8-bit codes", ademamix_source}},
    {"first moments", Extent::twice, Format::float32, Only::small, {"state1", two_means, ademamix_source}},
    {"second moment",
     Extent::full,
     Format::float32,
     Only::small,
     {"state2", "tensors of fewer than 4,096 elements stay in fp32", ademamix_source}},
};
constexpr const char* lamb_source = "bitsandbytes optim/lamb.py: LAMB; optim/optimizer.py: Optimizer2State.init_state";
constexpr StateLine lamb_states[] = {
    {"first moment", Extent::full, Format::float32, Only::all, {"state1", "running mean of the gradient", lamb_source}},
    {"second moment",
     Extent::full,
     Format::float32,
     Only::all,
     {"state2", "running mean of the squared gradient", lamb_source}},
    {"norm of the update",
     Extent::scalar,
     Format::float32,
     Only::all,
     {"unorm_vec", "for the trust ratio", lamb_source}},
};

}  // namespace

std::span<const StateLine> bitsandbytes_states(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adamw_8bit:
    case Optimizer::adamw_paged_8bit: return adam_8bit_states;
    case Optimizer::adamw_paged: return adam_32bit_states;
    case Optimizer::lion_8bit: return lion_8bit_states;
    case Optimizer::ademamix: return ademamix_states;
    case Optimizer::ademamix_8bit: return ademamix_8bit_states;
    case Optimizer::lamb: return lamb_states;
    default: return {};
  }
}

}  // namespace trainmem
