// The benchmark without a GPU: its arithmetic, its options, what it prints, and how it ends where there is none.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/border/border.h"
#include "engine/microbench/arguments.h"
#include "engine/microbench/report.h"
#include "engine/microbench/sizes.h"
#include "tests/catch.h"

using namespace trainmem;
using namespace trainmem::microbench;

namespace {

constexpr Bytes gib = Bytes{1} << 30;

DeviceFacts h100() {
  DeviceFacts device;
  device.name = "NVIDIA H100 80GB HBM3";
  device.driver = "550.54.15";
  device.runtime = "CUDA 12.8";
  device.memory_bytes = 80 * gib;
  device.free_bytes = 79 * gib;
  device.cache_bytes = 50 * (gib / 1024);
  device.memory_clock_khz = 2619000;
  device.bus_width_bits = 5120;
  device.ecc = 1;
  return device;
}

/// A report as if 1 GiB had been read in these milliseconds. No GPU measured this.
Report invented() {
  Job read;
  read.array_bytes = gib;
  Job triad = read;
  triad.kernel = Kernel::triad;
  Job plain = triad;
  plain.variant = Variant::plain;
  Job small = read;
  small.array_bytes = gib / 4096;
  return {h100(),
          {{small, {9000, 8000, 9500, 31}, ""},
           {read, {3000, 2990, 3010, 31}, ""},
           {triad, {2900, 2880, 2910, 31}, ""},
           {plain, {3100, 3000, 3200, 31}, ""}}};
}

std::string sentences(const ReadArguments& read) {
  std::string all;
  for (const std::string& problem : read.problems) all += problem + "\n";
  return all;
}

struct Ended {
  int status = -1;
  std::string printed;
};

Ended run(const std::string& arguments, const char* program = TRAINMEM_HBM_BANDWIDTH) {
  Ended ended;
  std::FILE* pipe = popen((std::string(program) + " " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char text[256];
  while (std::fgets(text, sizeof(text), pipe) != nullptr) ended.printed += text;
  ended.status = pclose(pipe) / 256;
  return ended;
}

}  // namespace

TEST_CASE("microbench: STREAM's bytes for an fp64 element: copy and scale 16, add and triad 24") {
  const auto per_element = [](Kernel kernel) { return bytes_moved(kernel, element_size(Element::fp64)); };
  CHECK(per_element(Kernel::copy) == 16);
  CHECK(per_element(Kernel::scale) == 16);
  CHECK(per_element(Kernel::add) == 24);
  CHECK(per_element(Kernel::triad) == 24);
  CHECK(per_element(Kernel::read) == 8);
  CHECK(per_element(Kernel::write) == 8);
}

TEST_CASE("microbench: clock and bus width give the peaks of the datasheets") {
  struct Case {
    const char* what;
    int memory_clock_mhz;
    int bus_width_bits;
    double datasheet_gb_per_s;
  };
  // Clocks as the CUDA runtime states them, bandwidths as NVIDIA's datasheets do.
  const Case cases[] = {
      {"V100 SXM2", 877, 4096, 900},  {"A100 40GB", 1215, 5120, 1555}, {"A100 80GB SXM", 1593, 5120, 2039},
      {"H100 SXM", 2619, 5120, 3352}, {"T4", 5001, 256, 320},          {"RTX 3090", 9751, 384, 936},
      {"RTX 4090", 10501, 384, 1008}};
  for (const Case& one : cases) {
    INFO(one.what);
    DeviceFacts device;
    device.memory_clock_khz = one.memory_clock_mhz * 1000;
    device.bus_width_bits = one.bus_width_bits;
    CHECK(peak_gb_per_s(device) == Approx(one.datasheet_gb_per_s).epsilon(0.0025));
  }
  CHECK(peak_gb_per_s(DeviceFacts{}) == 0);
}

TEST_CASE("microbench: the driver's version is found in what the kernel modules say") {
  CHECK(driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
                       "GCC version:  gcc version 11.4.0\n") == "550.54.15");
  CHECK(driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build\n") ==
        "570.124.06");
  CHECK(driver_version("6.8.5\n") == "6.8.5");
  CHECK(driver_version("no version 12 here").empty());
  CHECK(driver_version("").empty());
  CHECK(cuda_version(12080) == "CUDA 12.8");
  CHECK(hip_version(60241133) == "HIP 6.2");
}

TEST_CASE("microbench: median and spread") {
  CHECK(spread({3, 1, 2}).median == 2);
  CHECK(spread({4, 1, 3, 2}).median == 2.5);
  CHECK(spread({5, 1, 9}).low == 1);
  CHECK(spread({5, 1, 9}).high == 9);
  CHECK(spread({}).count == 0);
  const Spread rate = rates(2e9, {1e-3, 2e-3, 0, 4e-3});
  CHECK(rate.count == 3);
  CHECK(rate.median == Approx(1000));
  CHECK(rate.low == Approx(500));
  CHECK(rate.high == Approx(2000));
}

TEST_CASE("microbench: arrays are at least four times the last-level cache, and fit into free memory") {
  CHECK(default_size(h100()) == gib);
  DeviceFacts large = h100();
  large.cache_bytes = gib / 2;
  CHECK(default_size(large) == 2 * gib);
  DeviceFacts small = h100();
  small.free_bytes = gib;
  CHECK(3 * default_size(small) <= gib);
  CHECK(default_size(small) > gib / 4);
  CHECK(default_size(small) % size_step == 0);
  CHECK(size_problem(gib, h100()).empty());
  CHECK(size_problem(40 * gib, h100()).find("3 arrays of 40960 MiB do not fit") == 0);
  const std::vector<Bytes> sizes = sweep_sizes(gib);
  CHECK(sizes.front() == 256 * 1024);
  CHECK(sizes[1] == 2 * sizes[0]);
  CHECK(sizes.back() == gib);
  for (const Bytes size : sizes) CHECK(size % size_step == 0);
}

TEST_CASE("microbench: a sample lasts at least five milliseconds, or a thousand launches") {
  CHECK(launches_in_sample(1e-2) == 1);
  CHECK(launches_in_sample(1e-3) == 5);
  CHECK(launches_in_sample(1e-9) == 1000);
  CHECK(launches_in_sample(0) == 1);
}

TEST_CASE("microbench: options are read") {
  const ReadArguments read =
      read_arguments({"--device", "0,2", "--kernel", "read,triad", "--element", "fp64", "--size", "4GiB", "--sweep",
                      "--compare", "--repeats", "7", "--warm-up", "0", "--json"});
  CHECK(sentences(read).empty());
  const Arguments& a = read.arguments;
  CHECK(a.devices == std::vector<int>{0, 2});
  CHECK(a.kernels == std::vector<Kernel>{Kernel::read, Kernel::triad});
  CHECK(a.element == Element::fp64);
  CHECK(a.array_bytes == 4 * gib);
  CHECK((a.sweep && a.compare));
  CHECK(a.repeats == 7);
  CHECK(a.warm_up == 0);
  CHECK(a.output == Output::json);
  CHECK(read_arguments({"--device", "all"}).arguments.all_devices);
  CHECK(read_size("1") == size_step);
  CHECK(read_size("512 MiB") == gib / 2);
}

TEST_CASE("microbench: everything that is wrong with the options is said at once") {
  const std::string text =
      sentences(read_arguments({"--kernel", "daxpy", "--size", "-1", "--element", "fp8", "--repeats", "0", "--device",
                                "one", "--fast", "--csv", "--json", "--warm-up"}));
  CHECK(text.find("There is no kernel \"daxpy\"; there are read, write, copy, scale, add, triad.") !=
        std::string::npos);
  CHECK(text.find("--size \"-1\"") != std::string::npos);
  CHECK(text.find("--element \"fp8\"") != std::string::npos);
  CHECK(text.find("--repeats \"0\"") != std::string::npos);
  CHECK(text.find("--device \"one\"") != std::string::npos);
  CHECK(text.find("\"--fast\" is not an option") != std::string::npos);
  CHECK(text.find("--csv and --json cannot both be given") != std::string::npos);
  CHECK(text.find("--warm-up needs a value") != std::string::npos);
  for (const char* size : {"", "0", "GiB", "1e9", "99999999GiB", "4 gib", "18446744073709551616"})
    CHECK(read_size(size) == -1);
}

TEST_CASE("microbench: the bandwidth of a report is the highest median of its own kernels at the largest size") {
  const Measurement block = measurement(invented(), "2026-11-21");
  CHECK(block.bandwidth_gb_per_s == 3000);
  CHECK(block.what == "read, fp32, arrays of 1 GiB, median of 31");
  CHECK(block.peak_gb_per_s == Approx(3352.3));
  CHECK(block.kernels.size() == 3);
}

TEST_CASE("microbench: what --json prints, the calculator takes") {
  const std::string text = json({invented()}, "2026-11-21");
  const nlohmann::json answer = nlohmann::json::parse(read_measurement(text));
  CHECK(answer["ok"] == true);
  CHECK(answer["bandwidth_gb_per_s"] == 3000);
  CHECK(answer["device"] == "NVIDIA H100 80GB HBM3");
  Report slower = invented();
  slower.rows[1].gb_per_s.median = 2800;
  slower.rows[2].gb_per_s.median = 2700;
  const nlohmann::json both = nlohmann::json::parse(read_measurement(json({invented(), slower}, "2026-11-21")));
  CHECK(both["bandwidth_gb_per_s"] == 2800);
  CHECK(json({invented()}, "2026-11-21").size() < 16384);
}

TEST_CASE("microbench: the table and the lines of CSV have every row") {
  Report report = invented();
  report.rows[2].problem = "17 elements of the result are wrong";
  const std::string text = table(report);
  CHECK(text.find("Device 0: NVIDIA H100 80GB HBM3, driver 550.54.15, CUDA 12.8") == 0);
  CHECK(text.find("Peak 3352.3 GB/s: 2 x 2619 MHz x 5120 bits / 8") != std::string::npos);
  CHECK(text.find("triad (plain)") != std::string::npos);
  CHECK(text.find("89.5 %") != std::string::npos);  // 3000 of 3352.3
  CHECK(text.find("FAILED: 17 elements of the result are wrong") != std::string::npos);
  CHECK(text.find("More than the peak") == std::string::npos);
  report.device.memory_clock_khz /= 2;
  CHECK(table(report).find("More than the peak: the clock that the driver names") != std::string::npos);
  report.device = h100();
  const std::string lines = csv({report});
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 5);
  CHECK(lines.find("\"NVIDIA H100 80GB HBM3\",read,tuned,fp32,1073741824,1073741824,31,3000.000") != std::string::npos);
  CHECK(lines.find("triad,plain,fp32,1073741824,3221225472") != std::string::npos);
}

TEST_CASE("microbench: the program gives help, and refuses what it cannot do") {
  const Ended help = run("--help");
  CHECK(help.status == 0);
  CHECK(help.printed.find("c[i] = a[i] + s * b[i]") != std::string::npos);
  const Ended wrong = run("--kernel daxpy --size none");
  CHECK(wrong.status == 2);
  CHECK(wrong.printed.find("There is no kernel \"daxpy\"") != std::string::npos);
  CHECK(wrong.printed.find("--size \"none\"") != std::string::npos);
}

TEST_CASE("microbench: without a GPU the program says so and ends with 2") {
  const Ended ended = run("--size 1MiB --repeats 1 --kernel copy");
  if (ended.status == 0) {
    WARN("a GPU is here: it was measured and verified");
    CHECK(ended.printed.find("copy") != std::string::npos);
  } else {
    CHECK(ended.status == 2);
    CHECK(ended.printed.find("hbm_bandwidth: no GPU: ") == 0);
  }
}

TEST_CASE("kernels on the processor: the whole program") {
  const char* const program = TRAINMEM_HBM_BANDWIDTH "_on_host";
  const Ended lines = run("--size 256KiB --repeats 3 --compare --csv --element fp64 --kernel read,copy", program);
  CHECK(lines.status == 0);
  CHECK(std::count(lines.printed.begin(), lines.printed.end(), '\n') == 1 + 1 + 3);  // head, read, copy three times
  const Ended block = run("--size 256KiB --repeats 3 --json --kernel copy,triad", program);
  CHECK(block.status == 0);
  CHECK(block.printed.find("\"Host processor\"") != std::string::npos);
  const Ended elsewhere = run("--device 1", program);
  CHECK(elsewhere.status == 2);
  CHECK(elsewhere.printed.find("there is no device 1; devices count from 0 to 0") != std::string::npos);
  const Ended large = run("--size 1GiB", program);
  CHECK(large.status == 2);
  CHECK(large.printed.find("device 0: ") != std::string::npos);
}
