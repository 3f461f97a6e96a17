#include "engine/microbench/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/border/json_io_measurement.h"

namespace trainmem::microbench {

namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[400];
  std::snprintf(text, sizeof(text), pattern, values...);
  return text;
}

std::string size_text(Bytes bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes >= Bytes{1} << 30) return format("%.4g GiB", value / (1 << 30));
  if (bytes >= Bytes{1} << 20) return format("%.4g MiB", value / (1 << 20));
  return format("%.4g KiB", value / (1 << 10));
}

std::string kernel_text(const Job& job) {
  std::string text = facts(job.kernel).name;
  if (job.variant != Variant::tuned) text += std::string(" (") + name(job.variant) + ")";
  return text;
}

Bytes largest_size(const Report& report) {
  Bytes largest = 0;
  for (const Row& row : report.rows) largest = std::max(largest, row.job.array_bytes);
  return largest;
}

/// The highest median of this program's own kernels at the largest size; null: none.
const Row* best(const Report& report) {
  const Bytes largest = largest_size(report);
  const Row* best = nullptr;
  for (const Row& row : report.rows) {
    if (row.job.variant != Variant::tuned || row.job.array_bytes != largest || !row.problem.empty()) continue;
    if (best == nullptr || row.gb_per_s.median > best->gb_per_s.median) best = &row;
  }
  return best;
}

const char* ecc_text(const DeviceFacts& device) { return device.ecc == 1 ? "on" : device.ecc == 0 ? "off" : ""; }

/// Commas and quotes have a meaning in CSV.
std::string csv_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

double tenths(double value) { return std::round(10 * value) / 10; }

}  // namespace

std::string table(const Report& report) {
  const DeviceFacts& device = report.device;
  const double peak = peak_gb_per_s(device);
  std::string out = format("Device %d: %s", device.index, device.name.c_str());
  if (!device.driver.empty()) out += ", driver " + device.driver;
  if (!device.runtime.empty()) out += ", " + device.runtime;
  out += "\n";
  if (device.memory_bytes > 0) out += "Memory " + size_text(device.memory_bytes);
  if (*ecc_text(device) != '\0') out += std::string(", ECC ") + ecc_text(device);
  if (device.cache_bytes > 0) out += ", last-level cache " + size_text(device.cache_bytes);
  if (device.multiprocessors > 0) out += format(", %d multiprocessors", device.multiprocessors);
  if (device.core_clock_khz > 0) out += format(" at up to %d MHz", device.core_clock_khz / 1000);
  out += "\n";
  if (peak > 0)
    out += format("Peak %.1f GB/s: 2 x %d MHz x %d bits / 8\n", peak, device.memory_clock_khz / 1000,
                  device.bus_width_bits);
  out += format("\n%-18s %-5s %10s %12s %12s %12s %9s\n", "kernel", "type", "array", "median GB/s", "low", "high",
                "of peak");
  for (const Row& row : report.rows) {
    out += format("%-18s %-5s %10s ", kernel_text(row.job).c_str(), name(row.job.element),
                  size_text(row.job.array_bytes).c_str());
    if (!row.problem.empty()) {
      out += "FAILED: " + row.problem + "\n";
      continue;
    }
    out += format("%12.1f %12.1f %12.1f ", row.gb_per_s.median, row.gb_per_s.low, row.gb_per_s.high);
    out += peak > 0 ? format("%7.1f %%\n", 100 * row.gb_per_s.median / peak) : std::string("        -\n");
  }
  const Row* fastest = best(report);
  if (peak > 0 && fastest != nullptr && fastest->gb_per_s.median > peak)
    out +=
        "More than the peak: the clock that the driver names is not that of the memory. Compare with the datasheet.\n";
  return out;
}

std::string csv(const std::vector<Report>& reports) {
  std::string out =
      "device,name,kernel,variant,element,array_bytes,bytes_moved,repeats,median_gb_per_s,low_gb_per_s,high_gb_per_s,"
      "peak_gb_per_s,problem\n";
  for (const Report& report : reports) {
    for (const Row& row : report.rows) {
      const auto array_bytes = static_cast<long long>(row.job.array_bytes);
      const auto moved = static_cast<long long>(bytes_moved(row.job.kernel, row.job.array_bytes));
      const char* variant = row.job.variant == Variant::tuned ? "tuned" : name(row.job.variant);
      out += format("%d,", report.device.index) + csv_text(report.device.name) +
             format(",%s,%s,%s,%lld,%lld,%d,%.3f,%.3f,%.3f,%.1f,", facts(row.job.kernel).name, variant,
                    name(row.job.element), array_bytes, moved, row.gb_per_s.count, row.gb_per_s.median,
                    row.gb_per_s.low, row.gb_per_s.high, peak_gb_per_s(report.device)) +
             csv_text(row.problem) + "\n";
    }
  }
  return out;
}

Measurement measurement(const Report& report, const std::string& date) {
  Measurement result;
  const DeviceFacts& device = report.device;
  result.source = "trainmem engine/microbench/hbm_bandwidth";
  result.date = date;
  result.device = device.name;
  result.driver = device.driver;
  result.runtime = device.runtime;
  result.ecc = ecc_text(device);
  result.peak_gb_per_s = tenths(peak_gb_per_s(device));
  result.memory_clock_mhz = device.memory_clock_khz / 1000;
  result.bus_width_bits = device.bus_width_bits;
  if (const Row* row = best(report)) {
    result.bandwidth_gb_per_s = tenths(row->gb_per_s.median);
    result.what = kernel_text(row->job) + ", " + name(row->job.element) + ", arrays of " +
                  size_text(row->job.array_bytes) + ", median of " + std::to_string(row->gb_per_s.count);
  }
  for (const Row& row : report.rows) {
    if (!row.problem.empty() || row.job.array_bytes != largest_size(report)) continue;
    result.kernels.push_back({facts(row.job.kernel).name, name(row.job.variant), name(row.job.element),
                              row.job.array_bytes, tenths(row.gb_per_s.median), tenths(row.gb_per_s.low),
                              tenths(row.gb_per_s.high), row.gb_per_s.count});
  }
  return result;
}

std::string json(const std::vector<Report>& reports, const std::string& date) {
  if (reports.size() == 1) return write_measurement(measurement(reports[0], date)) + "\n";
  std::string out = "[";
  for (std::size_t i = 0; i < reports.size(); ++i)
    out += (i == 0 ? "\n" : ",\n") + write_measurement(measurement(reports[i], date));
  return out + "\n]\n";
}

}  // namespace trainmem::microbench
