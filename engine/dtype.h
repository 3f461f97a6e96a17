// Number formats and their storage width.
#pragma once

#include <cstdint>

namespace trainmem {

using Bytes = std::int64_t;

enum class DType : std::uint8_t {
  automatic,
  float64,
  float32,
  bfloat16,
  float16,
  float8,
  int64,
  int32,
  int8,
  uint8,
  boolean,
  nf4
};

/// Storage width in bits; automatic has none.
constexpr std::int64_t bits(DType dtype) {
  switch (dtype) {
    case DType::float64:
    case DType::int64: return 64;
    case DType::float32:
    case DType::int32: return 32;
    case DType::bfloat16:
    case DType::float16: return 16;
    case DType::float8:
    case DType::int8:
    case DType::uint8:
    case DType::boolean: return 8;
    case DType::nf4: return 4;
    case DType::automatic: return 0;
  }
  return 0;
}

constexpr std::int64_t element_bytes(DType dtype) { return bits(dtype) / 8; }

constexpr bool is_half(DType dtype) { return dtype == DType::bfloat16 || dtype == DType::float16; }

constexpr const char* name(DType dtype) {
  switch (dtype) {
    case DType::automatic: return "auto";
    case DType::float64: return "fp64";
    case DType::float32: return "fp32";
    case DType::bfloat16: return "bf16";
    case DType::float16: return "fp16";
    case DType::float8: return "fp8";
    case DType::int64: return "int64";
    case DType::int32: return "int32";
    case DType::int8: return "int8";
    case DType::uint8: return "uint8";
    case DType::boolean: return "bool";
    case DType::nf4: return "nf4";
  }
  return "auto";
}

}  // namespace trainmem
