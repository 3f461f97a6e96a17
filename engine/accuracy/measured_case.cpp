#include "engine/accuracy/measured_case.h"

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/codec/json_config.h"
#include "engine/validation/validate.h"

namespace trainmem {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 5> counters{"allocated", "active", "reserved", "device", "step"};
constexpr std::array<const char*, 4> confidences{"high", "medium", "uncertain", "predicted"};

template <typename Word, std::size_t n>
Word word(const std::array<const char*, n>& words, const std::string& text) {
  for (std::size_t i = 0; i < n; ++i) {
    if (text == words[i]) return static_cast<Word>(i);
  }
  throw std::runtime_error("'" + text + "' is not known");
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  const std::string title = found->value("title", "");
  const std::string url = found->value("url", "");
  return title.empty() || url.empty() ? title + url : title + ", " + url;
}

void read_configuration(const std::string& configuration, MeasuredCase& result) {
  ReadConfig read = read_config(configuration);
  result.config = std::move(read.config);
  Issues issues = std::move(read.issues);
  if (issues.empty()) issues = validate(result.config);
  for (const Issue& issue : issues) {
    if (!result.cannot_read.empty()) result.cannot_read += " ";
    result.cannot_read += issue.message;
  }
}

MeasuredCase read_case(const json& object, const std::string& file) {
  MeasuredCase result;
  result.file = file;
  result.id = object.at("id").get<std::string>();
  result.source = text(object, "source");
  result.notes = text(object, "notes");
  result.uncertain_because = text(object, "uncertain_because");
  result.stage = object.value("stage", std::int64_t{-1});
  result.confidence = word<Confidence>(confidences, object.at("confidence").get<std::string>());
  const bool predicted = result.confidence == Confidence::predicted;
  if (object.contains("counter")) {
    const char* key = predicted ? "predicted_bytes" : "measured_bytes";
    result.readings.push_back(
        {word<MemoryCounter>(counters, object.at("counter").get<std::string>()), object.at(key).get<Bytes>()});
    const json also = object.value("also_measured", json::object());
    for (const auto& [counter, bytes] : also.items())
      result.readings.push_back({word<MemoryCounter>(counters, counter), bytes.get<Bytes>()});
  }
  if (!predicted) {
    const auto outcome = object.at("outcome").get<std::string>();
    if (outcome != "fits" && outcome != "out_of_memory") throw std::runtime_error("'" + outcome + "' is not known");
    result.out_of_memory = outcome == "out_of_memory";
  }
  if ((result.confidence == Confidence::uncertain) == result.uncertain_because.empty())
    throw std::runtime_error("'uncertain_because' belongs to 'uncertain', and to nothing else");
  read_configuration(object.at("configuration").dump(), result);
  return result;
}

}  // namespace

const char* name(MemoryCounter counter) { return counters[static_cast<std::size_t>(counter)]; }
const char* name(Confidence confidence) { return confidences[static_cast<std::size_t>(confidence)]; }

MeasuredFile read_measured(const json& object, const std::string& file) {
  MeasuredFile result;
  result.file = file;
  result.source = text(object, "source");
  result.url = text(object, "url");
  result.notes = text(object, "notes");
  for (const json& one : object.at("cases")) {
    try {
      result.cases.push_back(read_case(one, file));
    } catch (const std::exception& error) {
      throw std::runtime_error(file + ": case " + one.value("id", std::to_string(result.cases.size() + 1)) + ": " +
                               error.what());
    }
  }
  for (const json& one : object.value("not_usable", json::array()))
    result.not_usable.push_back({file, one.at("id").get<std::string>(), one.at("reason").get<std::string>()});
  return result;
}

}  // namespace trainmem
