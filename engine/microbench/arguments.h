// The command line of hbm_bandwidth.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/microbench/kernels.h"

namespace trainmem::microbench {

enum class Output : std::uint8_t { table, csv, json };

struct Arguments {
  std::vector<int> devices{0};
  bool all_devices = false;
  std::vector<Kernel> kernels{Kernel::read, Kernel::write, Kernel::copy, Kernel::scale, Kernel::add, Kernel::triad};
  Element element = Element::fp32;
  Bytes array_bytes = 0;  ///< 0: the default for the device
  bool sweep = false;
  bool compare = false;
  int repeats = 31;
  int warm_up = 3;
  Output output = Output::table;
  bool help = false;
};

struct ReadArguments {
  Arguments arguments;
  std::vector<std::string> problems;  ///< sentences, all of them
};

/// `words` without the program's name.
ReadArguments read_arguments(const std::vector<std::string_view>& words);

/// "4GiB", "512 MiB", "1073741824": bytes, rounded up to size_step; -1: not a size.
Bytes read_size(std::string_view text);

std::string usage();

}  // namespace trainmem::microbench
