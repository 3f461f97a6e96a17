#include "engine/border/json_io_measurement.h"

#include "engine/codec/json_config.h"
#include "engine/text/issue_text.h"
#include "engine/text/json_tree.h"
#include "engine/text/json_writer.h"

namespace trainmem {

namespace {

constexpr double highest = 1e7;  // GB/s, as of gpu.measured_bandwidth_gb_per_s
constexpr std::size_t longest_text = 200;
constexpr const char* hint = "Paste what hbm_bandwidth --json printed, as it stands.";

struct TextMember {
  const char* key;
  std::string Measurement::*member;
};
constexpr TextMember texts[] = {
    {"what", &Measurement::what},     {"source", &Measurement::source}, {"date", &Measurement::date},
    {"device", &Measurement::device}, {"driver", &Measurement::driver}, {"runtime", &Measurement::runtime},
    {"ecc", &Measurement::ecc},
};
constexpr const char* numbers[] = {"bandwidth_gb_per_s", "peak_gb_per_s", "memory_clock_mhz", "bus_width_bits"};

bool is_number(const JsonTree& tree) { return tree.kind == JsonKind::integer || tree.kind == JsonKind::number; }

class Reader {
 public:
  explicit Reader(ReadMeasurements& read) : read_(read) {}

  void block(const JsonTree& tree, const std::string& path) {
    if (tree.kind != JsonKind::object) {
      read_.issues.push_back({"wrong_type", path, "A measurement is an object in braces.", hint});
      return;
    }
    Measurement measurement;
    for (const JsonTree& member : tree.children) take(member, path, measurement);
    if (tree.find("bandwidth_gb_per_s") == nullptr)
      read_.issues.push_back({"missing", path + "/bandwidth_gb_per_s", "The measured bandwidth is not there.", hint});
    read_.measurements.push_back(std::move(measurement));
  }

 private:
  void take(const JsonTree& member, const std::string& path, Measurement& into) {
    std::string at = path;
    append_pointer(at, member.key);
    for (const TextMember& text : texts) {
      if (member.key != text.key) continue;
      if (member.kind == JsonKind::text && member.text.size() <= longest_text) {
        into.*text.member = member.text;
      } else {
        read_.issues.push_back({"wrong_type", at, member.key + " is a text of at most 200 characters.", hint});
      }
      return;
    }
    for (const char* number : numbers) {
      if (member.key != number) continue;
      if (!is_number(member)) {
        read_.issues.push_back({"wrong_type", at, member.key + " is a number.", hint});
      } else if (!(member.number > 0) || member.number > highest) {
        read_.issues.push_back({"out_of_range", at, member.key + " is above 0 and at most 10000000.", hint});
      } else if (member.key == "bandwidth_gb_per_s") {
        into.bandwidth_gb_per_s = member.number;
      }
      return;
    }
    if (member.key == "kernels") {
      if (member.kind != JsonKind::array) read_.issues.push_back({"wrong_type", at, "kernels is a list.", hint});
      return;
    }
    read_.issues.push_back({"unknown_key", at, "A measurement has no " + in_quotes(member.key) + ".", hint});
  }

  ReadMeasurements& read_;
};

void write(const KernelMeasurement& kernel, JsonWriter& out) {
  out.open_object();
  out.key("kernel").text(kernel.kernel);
  if (!kernel.variant.empty()) out.key("variant").text(kernel.variant);
  out.key("element").text(kernel.element);
  out.key("array_bytes").integer(kernel.array_bytes);
  out.key("median_gb_per_s").number(kernel.median_gb_per_s);
  out.key("low_gb_per_s").number(kernel.low_gb_per_s);
  out.key("high_gb_per_s").number(kernel.high_gb_per_s);
  out.key("repeats").integer(kernel.repeats);
  out.close_object();
}

}  // namespace

std::string write_measurement(const Measurement& measurement) {
  JsonWriter out;
  out.open_object();
  out.key("bandwidth_gb_per_s").number(measurement.bandwidth_gb_per_s);
  for (const TextMember& text : texts)
    if (!(measurement.*text.member).empty()) out.key(text.key).text(measurement.*text.member);
  if (measurement.peak_gb_per_s > 0) out.key("peak_gb_per_s").number(measurement.peak_gb_per_s);
  if (measurement.memory_clock_mhz > 0) out.key("memory_clock_mhz").integer(measurement.memory_clock_mhz);
  if (measurement.bus_width_bits > 0) out.key("bus_width_bits").integer(measurement.bus_width_bits);
  if (!measurement.kernels.empty()) {
    out.key("kernels").open_array();
    for (const KernelMeasurement& kernel : measurement.kernels) write(kernel, out);
    out.close_array();
  }
  out.close_object();
  return out.take();
}

ReadMeasurements read_measurements(std::string_view json) {
  ReadMeasurements read;
  if (json.size() > longest_json) {
    read.issues.push_back({"too_long", "", "The text is longer than 16 KiB.", hint});
    return read;
  }
  const JsonText text = parse_json(json);
  read.issues = text.issues;
  if (!text.readable) return read;
  Reader reader(read);
  const JsonTree& root = text.root;
  if (root.kind == JsonKind::array) {
    for (std::size_t i = 0; i < root.children.size(); ++i) reader.block(root.children[i], "/" + std::to_string(i));
    if (root.children.empty()) read.issues.push_back({"missing", "", "The list has no measurement.", hint});
  } else if (root.kind == JsonKind::object && root.children.size() == 1 && root.children[0].key == "measured") {
    reader.block(root.children[0], "/measured");
  } else {
    reader.block(root, "");
  }
  if (!read.issues.empty()) read.measurements.clear();
  return read;
}

}  // namespace trainmem
