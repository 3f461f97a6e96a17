// hbm_bandwidth: measures the memory bandwidth of a GPU. Exit status: 0 measured and verified, 1 not, 2 wrong use or
// no GPU.
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "engine/microbench/arguments.h"
#include "engine/microbench/gpu.h"
#include "engine/microbench/report.h"
#include "engine/microbench/sizes.h"

namespace {

using namespace trainmem;
using namespace trainmem::microbench;

void complain(const std::string& sentence) { std::fprintf(stderr, "hbm_bandwidth: %s\n", sentence.c_str()); }

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[20];
  std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
  return text;
}

Row measured(const Job& job) {
  const Outcome outcome = measure(job);
  const auto moved = static_cast<double>(bytes_moved(job.kernel, job.array_bytes));
  return {job, rates(moved, outcome.seconds), outcome.problem};
}

Report measured(const Arguments& arguments, const DeviceFacts& device, Bytes array_bytes) {
  Report report{device, {}};
  const std::vector<Bytes> sizes = arguments.sweep ? sweep_sizes(array_bytes) : std::vector<Bytes>{array_bytes};
  for (const Bytes size : sizes) {
    for (const Kernel kernel : arguments.kernels) {
      for (const Variant variant : {Variant::tuned, Variant::plain, Variant::runtime}) {
        if (!has_variant(kernel, variant) || (variant != Variant::tuned && !arguments.compare)) continue;
        report.rows.push_back(measured(
            Job{device.index, kernel, variant, arguments.element, size, arguments.repeats, arguments.warm_up}));
      }
    }
  }
  return report;
}

/// A device and the size of the arrays that it is measured with.
struct Target {
  DeviceFacts device;
  Bytes array_bytes = 0;
};

/// The devices that were asked for; none, with complaints, unless all of them can be measured.
std::vector<Target> targets(const Arguments& arguments, int devices) {
  std::vector<int> indices = arguments.devices;
  if (arguments.all_devices) {
    indices.clear();
    for (int i = 0; i < devices; ++i) indices.push_back(i);
  }
  std::vector<Target> found;
  bool possible = true;
  for (const int index : indices) {
    if (index >= devices) {
      complain("there is no device " + std::to_string(index) + "; devices count from 0 to " +
               std::to_string(devices - 1) + ".");
      possible = false;
      continue;
    }
    const DeviceFacts device = device_facts(index);
    found.push_back({device, arguments.array_bytes > 0 ? arguments.array_bytes : default_size(device)});
    const std::string problem = size_problem(found.back().array_bytes, device);
    if (!problem.empty()) complain("device " + std::to_string(index) + ": " + problem);
    possible = possible && problem.empty();
  }
  return possible ? found : std::vector<Target>();
}

/// Whether every row was measured and verified; complains of the others.
bool is_good(const Report& report) {
  bool good = true;
  for (const Row& row : report.rows) {
    if (!row.problem.empty()) complain(std::string(facts(row.job.kernel).name) + ": " + row.problem);
    good = good && row.problem.empty();
  }
  return good;
}

}  // namespace

int main(int count, char** words) {
  const ReadArguments read = read_arguments({words + 1, words + count});
  if (read.arguments.help) {
    std::fputs(usage().c_str(), stdout);
    return 0;
  }
  for (const std::string& problem : read.problems) complain(problem);
  if (!read.problems.empty()) return 2;

  const DeviceCount found = count_devices();
  if (found.devices == 0) {
    complain("no GPU: " + found.problem + ".");
    return 2;
  }
  std::vector<Report> reports;
  bool good = true;
  for (const Target& target : targets(read.arguments, found.devices)) {
    reports.push_back(measured(read.arguments, target.device, target.array_bytes));
    good = is_good(reports.back()) && good;
    if (read.arguments.output != Output::table) continue;
    std::printf("%s%s", reports.size() == 1 ? "" : "\n", table(reports.back()).c_str());
  }
  if (reports.empty()) return 2;
  if (read.arguments.output == Output::csv) std::fputs(csv(reports).c_str(), stdout);
  // A block without its bandwidth would be no measurement: a run that failed gives none.
  if (read.arguments.output == Output::json && good) std::fputs(json(reports, today()).c_str(), stdout);
  return good ? 0 : 1;
}
