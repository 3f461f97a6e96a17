// A measured memory bandwidth: what hbm_bandwidth writes, GPU presets keep and the calculator takes.
#pragma once

#include <string>
#include <vector>

#include "engine/dtype.h"

namespace trainmem {

struct KernelMeasurement {
  std::string kernel;   ///< read, write, copy, scale, add, triad
  std::string variant;  ///< empty: the benchmark's own kernel; plain or runtime: what it is compared with
  std::string element;  ///< fp32 or fp64
  Bytes array_bytes = 0;
  double median_gb_per_s = 0;
  double low_gb_per_s = 0;
  double high_gb_per_s = 0;
  std::int64_t repeats = 0;
};

struct Measurement {
  double bandwidth_gb_per_s = 0;  ///< the highest median of the benchmark's own kernels
  std::string what;               ///< which kernel, size and format that is
  std::string source;
  std::string date;    ///< 2026-11-21, UTC
  std::string device;  ///< as its driver names it
  std::string driver;
  std::string runtime;
  std::string ecc;           ///< on, off or empty
  double peak_gb_per_s = 0;  ///< from clock and bus width; 0: not known
  std::int64_t memory_clock_mhz = 0;
  std::int64_t bus_width_bits = 0;
  std::vector<KernelMeasurement> kernels;
};

}  // namespace trainmem
