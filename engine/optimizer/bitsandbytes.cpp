// bitsandbytes: states of its optimizers. Its kernels unpack and step in registers: there are no temporaries but
// LAMB's.
#include "engine/optimizer/tables.h"

namespace trainmem {
namespace {

constexpr const char* bitsandbytes_source =
    "bitsandbytes optim/optimizer.py: Optimizer2State.init_state, min_8bit_size 4096, block size 256";
constexpr const char* ademamix_source =
    "bitsandbytes optim/ademamix.py: AdEMAMix.init_state, min_8bit_size 4096, block size 256";
constexpr const char* two_means = "fast and slow running mean of the gradient in one tensor";

constexpr StateLine codes(const char* name, const char* key, const char* source) {
  return {name, Extent::full, Format::uint8, Only::large, {key, "8-bit codes", source}};
}
constexpr StateLine scales(const char* name, const char* key, const char* source) {
  return {name, Extent::blocks, Format::float32, Only::large, {key, "one scale for 256 codes", source}};
}
constexpr StateLine small(const char* name, const char* key, const char* source) {
  constexpr const char* why = "tensors of fewer than 4,096 elements stay in fp32";
  return {name, Extent::full, Format::float32, Only::small, {key, why, source}};
}
constexpr StateLine single(const char* name, const char* key, const char* why, const char* source) {
  return {name, Extent::full, Format::float32, Only::all, {key, why, source}};
}

constexpr StateLine adam_8bit_states[] = {
    codes("first moment", "state1", bitsandbytes_source),
    scales("scales of the first moment", "absmax1", bitsandbytes_source),
    codes("second moment", "state2", bitsandbytes_source),
    scales("scales of the second moment", "absmax2", bitsandbytes_source),
    small("first moment", "state1", bitsandbytes_source),
    small("second moment", "state2", bitsandbytes_source),
};
constexpr StateLine lion_8bit_states[] = {
    codes("first moment", "state1", bitsandbytes_source),
    scales("scales of the first moment", "absmax1", bitsandbytes_source),
    small("first moment", "state1", bitsandbytes_source),
};
constexpr const char* whatever = "fp32 whatever the parameter's format";
constexpr const char* source_32bit = "bitsandbytes optim/optimizer.py: init_state, optim_bits 32";
constexpr StateLine adam_32bit_states[] = {
    single("first moment", "state1", whatever, source_32bit),
    single("second moment", "state2", whatever, source_32bit),
};
constexpr StateLine ademamix_states[] = {
    {"first moments", Extent::twice, Format::float32, Only::all, {"state1", two_means, ademamix_source}},
    single("second moment", "state2", "running mean of the squared gradient, in fp32", ademamix_source),
};
constexpr StateLine ademamix_8bit_states[] = {
    {"scales of the first moments",
     Extent::twice_blocks,
     Format::float32,
     Only::large,
     {"absmax1", "one scale for 256 codes", ademamix_source}},
    scales("scales of the second moment", "absmax2", ademamix_source),
    {"first moments", Extent::twice, Format::uint8, Only::large, {"state1", two_means, ademamix_source}},
    codes("second moment", "state2", ademamix_source),
    {"first moments", Extent::twice, Format::float32, Only::small, {"state1", two_means, ademamix_source}},
    small("second moment", "state2", ademamix_source),
};
constexpr const char* lamb_source = "bitsandbytes optim/lamb.py: LAMB; optim/optimizer.py: Optimizer2State.init_state";
constexpr StateLine lamb_states[] = {
    single("first moment", "state1", "running mean of the gradient", lamb_source),
    single("second moment", "state2", "running mean of the squared gradient", lamb_source),
    {"norm of the update",
     Extent::scalar,
     Format::float32,
     Only::all,
     {"unorm_vec", "for the trust ratio", lamb_source}},
};

constexpr const char* norm_source = "bitsandbytes functional.py: optimizer_update_32bit, torch.norm(p.data.float())";
constexpr StepLine lamb_lines[] = {
    make(0, Extent::full, Format::float32, Only::half_parameters,
         {"_to_copy", "fp32 copy of the parameter", norm_source}),
    make(1, Extent::scalar, Format::float32, Only::all, {"linalg_vector_norm", "the parameter's norm", norm_source}),
    drop(0),
    drop(1),
};

}  // namespace

std::span<const StepLine> bitsandbytes_lines(Optimizer optimizer) {
  if (optimizer == Optimizer::lamb) return lamb_lines;
  return {};
}

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
