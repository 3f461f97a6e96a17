#include "engine/microbench/arguments.h"

#include <algorithm>
#include <charconv>

#include "engine/text/list.h"

namespace trainmem::microbench {

namespace {

constexpr Bytes largest_size = Bytes{1} << 43;
constexpr int most_repeats = 10000;
constexpr int most_devices = 1024;

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

/// A whole number from 0 to `most`; -1: not one.
std::int64_t whole_number(std::string_view text, std::int64_t most) {
  std::int64_t value = -1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && value >= 0 && value <= most ? value : -1;
}

std::string kernel_names() {
  std::string names;
  for (const KernelFacts& facts : kernels) names += std::string(names.empty() ? "" : ", ") + facts.name;
  return names;
}

class Reader {
 public:
  explicit Reader(const std::vector<std::string_view>& words) : words_(words) {}

  ReadArguments operator()() {
    for (; at_ < words_.size(); ++at_) option(words_[at_]);
    return std::move(read_);
  }

 private:
  void problem(std::string sentence) { read_.problems.push_back(std::move(sentence)); }

  void output(Output output) {
    if (read_.arguments.output != Output::table && read_.arguments.output != output)
      problem("--csv and --json cannot both be given.");
    read_.arguments.output = output;
  }

  void option(std::string_view word) {
    Arguments& a = read_.arguments;
    if (word == "--help" || word == "-h") {
      a.help = true;
    } else if (word == "--csv") {
      output(Output::csv);
    } else if (word == "--json") {
      output(Output::json);
    } else if (word == "--sweep") {
      a.sweep = true;
    } else if (word == "--compare") {
      a.compare = true;
    } else if (word == "--device" || word == "--kernel" || word == "--element" || word == "--size" ||
               word == "--repeats" || word == "--warm-up") {
      if (at_ + 1 == words_.size()) {
        problem(std::string(word) + " needs a value.");
      } else {
        value(word, words_[++at_]);
      }
    } else {
      problem(quoted(word) + " is not an option; --help lists them.");
    }
  }

  void value(std::string_view option, std::string_view text) {
    if (option == "--device") devices(text);
    if (option == "--kernel") kernel_list(text);
    if (option == "--element") element(text);
    if (option == "--size") size(text);
    if (option == "--repeats") number(option, text, 1, read_.arguments.repeats);
    if (option == "--warm-up") number(option, text, 0, read_.arguments.warm_up);
  }

  void devices(std::string_view text) {
    if (text == "all") {
      read_.arguments.all_devices = true;
      return;
    }
    read_.arguments.devices.clear();
    for_each_item(text, [&](std::string_view part) {
      const std::int64_t index = whole_number(part, most_devices);
      if (index < 0) problem("--device " + quoted(part) + ": give numbers such as 0 or 0,1, or all.");
      read_.arguments.devices.push_back(static_cast<int>(index));
    });
  }

  void kernel_list(std::string_view text) {
    read_.arguments.kernels.clear();
    for_each_item(text, [&](std::string_view part) {
      const auto* known =
          std::find_if(kernels.begin(), kernels.end(), [&](const KernelFacts& facts) { return facts.name == part; });
      if (known == kernels.end()) {
        problem("There is no kernel " + quoted(part) + "; there are " + kernel_names() + ".");
      } else {
        read_.arguments.kernels.push_back(known->kernel);
      }
    });
  }

  void element(std::string_view text) {
    if (text == "fp64") {
      read_.arguments.element = Element::fp64;
    } else if (text == "fp32") {
      read_.arguments.element = Element::fp32;
    } else {
      problem("--element " + quoted(text) + ": give fp32 or fp64.");
    }
  }

  void size(std::string_view text) {
    const Bytes bytes = read_size(text);
    if (bytes < 0) {
      problem("--size " + quoted(text) + ": give bytes of one array, such as 4GiB, up to 8192GiB.");
    } else {
      read_.arguments.array_bytes = bytes;
    }
  }

  void number(std::string_view option, std::string_view text, std::int64_t least, int& into) {
    const std::int64_t value = whole_number(text, most_repeats);
    if (value < least) {
      problem(std::string(option) + " " + quoted(text) + ": give a whole number from " + std::to_string(least) +
              " to " + std::to_string(most_repeats) + ".");
    } else {
      into = static_cast<int>(value);
    }
  }

  const std::vector<std::string_view>& words_;
  std::size_t at_ = 0;
  ReadArguments read_;
};

}  // namespace

ReadArguments read_arguments(const std::vector<std::string_view>& words) { return Reader(words)(); }

Bytes read_size(std::string_view text) {
  struct Unit {
    std::string_view name;
    Bytes bytes;
  };
  constexpr Unit units[] = {{"KiB", Bytes{1} << 10}, {"MiB", Bytes{1} << 20}, {"GiB", Bytes{1} << 30}};
  Bytes unit = 1;
  for (const Unit& one : units) {
    if (text.size() > one.name.size() && text.substr(text.size() - one.name.size()) == one.name) {
      unit = one.bytes;
      text.remove_suffix(one.name.size());
      if (text.back() == ' ') text.remove_suffix(1);
      break;
    }
  }
  const std::int64_t count = whole_number(text, largest_size / unit);
  if (count <= 0) return -1;
  return (count * unit + size_step - 1) / size_step * size_step;
}

std::string usage() {
  std::string text =
      "hbm_bandwidth measures the memory bandwidth of a GPU.\n\n"
      "  --device LIST    devices: 0, or 0,1, or all (default 0)\n"
      "  --kernel LIST    of read, write, copy, scale, add, triad (default: all)\n"
      "  --element TYPE   fp32 or fp64 (default fp32)\n"
      "  --size BYTES     of one array, such as 4GiB (default: 1 GiB, or four times the last-level cache)\n"
      "  --sweep          sizes from 256 KiB up, doubling: caches show as plateaus\n"
      "  --compare        also the runtime's copy and the kernels written the plain way\n"
      "  --repeats N      timed samples, whose median counts (default 31)\n"
      "  --warm-up N      samples before them (default 3)\n"
      "  --csv            one line for each measurement\n"
      "  --json           the block \"measured\" of a GPU preset, which the calculator takes as well\n"
      "  --help           this\n\n"
      "Kernels, in bytes moved for each element of an array:\n";
  for (const KernelFacts& facts : kernels) {
    const int arrays = facts.arrays_read + facts.arrays_written;
    text += "  " + std::string(facts.name) + std::string(8 - std::string_view(facts.name).size(), ' ') + facts.formula +
            std::string(26 - std::string_view(facts.formula).size(), ' ') + std::to_string(arrays * 4) + " (fp32)\n";
  }
  return text +
         "\nEvery result is verified element by element. Exit status: 0 measured; 1 a measurement or its verification\n"
         "failed; 2 there is no GPU, or the options are wrong.\n";
}

}  // namespace trainmem::microbench
