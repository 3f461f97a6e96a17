#include "engine/blocks/transformers/alibi.h"

namespace trainmem::transformers {

namespace {
constexpr Rule alibi_rule{"ALiBi", "distances times slopes, added to the scores of every block",
                          "transformers models/bloom/modeling_bloom.py: build_alibi_tensor"};
constexpr Rule mpt_rule{"ALiBi", "distances times slopes, added to the scores of every block",
                        "transformers models/mpt/modeling_mpt.py: build_mpt_alibi_tensor"};

/// The largest power of two up to `heads`.
std::int64_t power_below(std::int64_t heads) {
  std::int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  return power;
}

}  // namespace

Tensor bloom_alibi(const Tensor& attended, Size heads, DType dtype) {
  const Shape& tokens = attended.shape();
  const std::int64_t power = power_below(heads.value());
  const auto numbers = [](Size count, DType format) { return allocate({count}, format, {&alibi_rule}); };
  Tensor base = allocate({}, DType::float32, {&alibi_rule});
  Tensor powers = numbers(power, DType::int32);
  Tensor slopes = numbers(power, DType::float32);
  if (power != heads.value()) {
    base = allocate({}, DType::float32, {&alibi_rule});
    powers = numbers(heads - Size(power), DType::int32);
    const Tensor others = numbers(heads - Size(power), DType::float32);
    slopes = numbers(heads, DType::float32);
  }
  Tensor distances = allocate(tokens, attended.dtype(), {&alibi_rule});  // cumulated
  distances = allocate(tokens, attended.dtype(), {&alibi_rule});         // less one
  distances = allocate(tokens, attended.dtype(), {&alibi_rule});         // of attended tokens
  const Tensor alibi = allocate({tokens[0], heads, tokens[1]}, DType::float32, {&alibi_rule, "ALiBi"});
  note_kept(alibi, alibi_rule);
  Tensor result = to(view(alibi, {tokens[0] * heads, 1, tokens[1]}), dtype, "ALiBi");
  note_kept(result, alibi_rule);
  return result;
}

Tensor mpt_alibi(Size heads, Size positions) {
  std::int64_t power = power_below(heads.value());
  if (power != heads.value()) power *= 2;
  const auto numbers = [](Size count, DType format) { return allocate({count}, format, {&mpt_rule}); };
  const Tensor distances = numbers(positions, DType::int32);
  Tensor base = numbers(power, DType::int64);
  base = numbers(power, DType::float32);
  base = numbers(power, DType::float32);
  Tensor slopes;
  {
    const Tensor powers = numbers(power, DType::float32);
    slopes = numbers(power, DType::float32);
  }
  if (power != heads.value()) slopes = numbers(power, DType::float32);
  Tensor alibi = allocate({heads, 1, positions}, DType::float32, {&mpt_rule, "ALiBi"});
  note_kept(alibi, mpt_rule);
  return alibi;
}

}  // namespace trainmem::transformers
