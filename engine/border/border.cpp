#include "engine/border/border.h"

#include "engine/advice/advice.h"
#include "engine/border/answer.h"
#include "engine/border/json_io_advice.h"
#include "engine/border/json_io_import.h"
#include "engine/border/json_io_measurement.h"
#include "engine/border/sweep.h"
#include "engine/codec/comparison.h"
#include "engine/codec/json_config.h"
#include "engine/codec/link.h"
#include "engine/codec/request.h"
#include "engine/launch/export.h"
#include "engine/launch/import.h"
#include "engine/presets/preset_list.h"
#include "engine/text/json_writer.h"

namespace trainmem {
namespace {

/// Runs one border function; whatever it throws becomes an issue.
template <class Function>
std::string guarded(Function function) {
#if defined(__cpp_exceptions)
  try {
    return function();
  } catch (...) {
    return write_refusal({{"internal", "", "The program failed on this input.", "Please report the input."}});
  }
#else
  return function();
#endif
}

/// {"ok":true,"KEY":JSON}.
std::string answer_with(const char* key, const std::string& json) {
  JsonWriter out;
  out.open_object();
  out.key("ok").boolean(true);
  out.key(key).raw(json);
  out.close_object();
  return out.take();
}

/// {"ok":true,"link":"v=1&..."}.
std::string answer_with_link(const std::string& link) {
  JsonWriter out;
  out.open_object();
  out.key("ok").boolean(true);
  out.key("link").text(link);
  out.close_object();
  return out.take();
}

}  // namespace

std::string estimate(const std::string& request) {
  return guarded([&] { return write_answer(answer_request(request)); });
}

std::string advice(const std::string& request) {
  return guarded([&] {
    const Answer answer = answer_request(request);
    if (!answer.issues.empty()) return write_refusal(answer.issues);
    return answer_with("advice", write_advice(answer.config, advise(answer.config, answer.result)));
  });
}

std::string plan(const std::string& request, int num_gpus) {
  return guarded([&] { return write_answer(plan_request(request, num_gpus)); });
}

std::string sweep(const std::string& request, const std::string& path, const std::string& values) {
  return guarded([&] {
    const Answer answer = read_request(request);
    if (!answer.issues.empty()) return write_refusal(answer.issues);
    return answer_with("points", write_sweep(answer.config, path, values));
  });
}

std::string read_link(const std::string& link) {
  return guarded([&] {
    const bool two = is_comparison(link);
    ReadComparison both;
    if (two) {
      both = parse_comparison(link);
    } else {
      both.b = parse_link(link);
    }
    Issues issues = both.a.issues;
    for (const Issue& issue : both.b.issues) {
      bool known = false;
      for (const Issue& other : both.a.issues) known = known || other.path == issue.path;
      if (!known) issues.push_back(issue);
    }
    JsonWriter out;
    out.open_object();
    out.key("ok").boolean(issues.empty());
    if (!issues.empty()) out.key("issues").raw(write_issues(issues));
    out.key("config").raw(write_config_differences(both.b.config));
    if (two) out.key("against").raw(write_config_differences(both.a.config));
    out.key("link").text(format_link(both.b.config));
    out.close_object();
    return out.take();
  });
}

std::string write_comparison(const std::string& a, const std::string& b) {
  return guarded([&] {
    const ReadConfig first = read_config(a);
    const ReadConfig second = read_config(b);
    if (!first.issues.empty()) return write_refusal(first.issues);
    if (!second.issues.empty()) return write_refusal(second.issues);
    return answer_with_link(format_comparison(first.config, second.config));
  });
}

std::string write_link(const std::string& json) {
  return guarded([&] {
    const ReadConfig read = read_config(json);
    if (!read.issues.empty()) return write_refusal(read.issues);
    return answer_with_link(format_link(read.config));
  });
}

std::string read_settings(const std::string& text) {
  return guarded([&] { return write_import(import_text(text)); });
}

std::string write_settings(const std::string& request) {
  return guarded([&] {
    const ReadConfig read = read_request_text(request);
    return read.issues.empty() ? write_exports(read.config) : write_refusal(read.issues);
  });
}

std::string read_measurement(const std::string& json) {
  return guarded([&] {
    const ReadMeasurements read = read_measurements(json);
    if (!read.issues.empty()) return write_refusal(read.issues);
    const Measurement* slowest = &read.measurements.front();
    for (const Measurement& one : read.measurements)
      if (one.bandwidth_gb_per_s < slowest->bandwidth_gb_per_s) slowest = &one;
    JsonWriter out;
    out.open_object();
    out.key("ok").boolean(true);
    out.key("bandwidth_gb_per_s").number(slowest->bandwidth_gb_per_s);
    out.key("device").text(slowest->device);
    out.key("what").text(slowest->what);
    out.close_object();
    return out.take();
  });
}

std::string presets() {
  return guarded([] { return write_preset_list(); });
}

std::string version() { return TRAINMEM_VERSION; }

}  // namespace trainmem
