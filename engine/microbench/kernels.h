// The kernels of the benchmark as data: how many arrays each reads and writes, and what it computes.
//
// read, write, copy, scale, add and triad are those of STREAM (McCalpin 1995) with a pure read and a pure write. Bytes
// are counted as STREAM counts them: every array once in each direction that the kernel names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/dtype.h"

namespace trainmem::microbench {

enum class Kernel : std::uint8_t { read, write, copy, scale, add, triad };
enum class Element : std::uint8_t { fp32, fp64 };

/// tuned: this program's own kernels; plain: one element a thread, as STREAM is usually ported; runtime: the runtime's
/// copy from device to device.
enum class Variant : std::uint8_t { tuned, plain, runtime };

struct KernelFacts {
  Kernel kernel;
  const char* name;
  int arrays_read;
  int arrays_written;
  const char* formula;
};

inline constexpr std::array<KernelFacts, 6> kernels{{
    {Kernel::read, "read", 1, 0, "sum += a[i]"},
    {Kernel::write, "write", 0, 1, "c[i] = s"},
    {Kernel::copy, "copy", 1, 1, "c[i] = a[i]"},
    {Kernel::scale, "scale", 1, 1, "c[i] = s * a[i]"},
    {Kernel::add, "add", 2, 1, "c[i] = a[i] + b[i]"},
    {Kernel::triad, "triad", 2, 1, "c[i] = a[i] + s * b[i]"},
}};

constexpr const KernelFacts& facts(Kernel kernel) { return kernels[static_cast<std::size_t>(kernel)]; }
constexpr const char* name(Element element) { return element == Element::fp32 ? "fp32" : "fp64"; }
constexpr const char* name(Variant variant) {
  return variant == Variant::tuned ? "" : variant == Variant::plain ? "plain" : "runtime";
}
constexpr Bytes element_size(Element element) { return element == Element::fp32 ? 4 : 8; }

/// Bytes that one launch moves.
constexpr Bytes bytes_moved(Kernel kernel, Bytes array_bytes) {
  return (facts(kernel).arrays_read + facts(kernel).arrays_written) * array_bytes;
}

/// Plain kernels exist for copy, scale, add and triad, the runtime's only for copy.
constexpr bool has_variant(Kernel kernel, Variant variant) {
  if (variant == Variant::runtime) return kernel == Kernel::copy;
  return variant == Variant::tuned || (kernel != Kernel::read && kernel != Kernel::write);
}

/// Array sizes are multiples of this, so that every launch shape covers an array exactly: 1,024 threads with eight
/// loads of 16 bytes each.
inline constexpr Bytes size_step = 1024 * 8 * 16;

}  // namespace trainmem::microbench
