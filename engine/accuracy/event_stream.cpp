// Reads tests/traces/events/*.json: sizes, streams, events as signed storage numbers, phases by first event.
#include "engine/accuracy/event_stream.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace trainmem {

EventStream read_event_stream(const std::string& path) {
  constexpr Stream streams[] = {Stream::compute, Stream::all_gather, Stream::reduce_scatter};
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  try {
    const auto json = nlohmann::json::parse(file);
    EventStream stream;
    stream.title = json.at("case").get<std::string>();
    const auto& sizes = json.at("sizes_bytes");
    const auto& stream_numbers = json.at("streams");
    for (std::size_t index = 0; index < sizes.size(); ++index) {
      const auto number = stream_numbers.at(index).get<std::size_t>();
      if (number >= std::size(streams)) throw std::runtime_error(path + ": unknown stream");
      StorageRecord storage;
      storage.bytes = sizes[index].get<Bytes>();
      storage.stream = streams[number];
      stream.recording.storages.push_back(storage);
    }
    stream.recording.events = json.at("events").get<std::vector<std::int32_t>>();
    for (const auto& [first_event, name] : json.at("phases").items()) {
      stream.recording.phases.push_back(
          {static_cast<std::uint32_t>(std::stoul(first_event)), 0, Phase::initialise, name.get<std::string>()});
    }
    std::sort(stream.recording.phases.begin(), stream.recording.phases.end(),
              [](const PhaseMark& left, const PhaseMark& right) { return left.first_event < right.first_event; });
    if (stream.recording.phases.empty() || stream.recording.phases.front().first_event > 0) {
      stream.recording.phases.insert(stream.recording.phases.begin(), {0, 0, Phase::initialise, "init"});
    }
    stream.peak_allocated = json.at("peak_allocated_bytes").get<Bytes>();
    stream.peak_reserved = json.at("peak_reserved_bytes").at("default").get<Bytes>();
    stream.peak_reserved_expandable = json.at("peak_reserved_bytes").at("expandable_segments").get<Bytes>();
    return stream;
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

}  // namespace trainmem
