#include "engine/accuracy/case_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace trainmem {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json parse(const fs::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot be opened");
  return json::parse(file);
}

void read_file(const fs::path& path, CaseFolder& folder) {
  try {
    const json content = parse(path);
    const std::string file = path.stem().string();
    // An object with a source is a file of published runs.
    if (content.is_object() && content.contains("source") && content.contains("cases")) {
      folder.measured.push_back(read_measured(content, file));
      return;
    }
    std::vector<TraceCase> traces = read_traces(content, file);
    std::move(traces.begin(), traces.end(), std::back_inserter(folder.traces));
  } catch (const std::exception& error) {
    folder.problems.push_back(path.string() + ": " + error.what());
  }
}

}  // namespace

void CaseFolder::add(CaseFolder other) {
  std::move(other.traces.begin(), other.traces.end(), std::back_inserter(traces));
  std::move(other.measured.begin(), other.measured.end(), std::back_inserter(measured));
  std::move(other.problems.begin(), other.problems.end(), std::back_inserter(problems));
}

CaseFolder read_cases(const std::string& path) {
  CaseFolder result;
  std::vector<fs::path> files;
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    for (const auto& entry : fs::directory_iterator(path, failed)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    if (files.empty()) result.problems.push_back(path + ": has no .json files");
    std::sort(files.begin(), files.end());
  } else {
    files.emplace_back(path);
  }
  for (const fs::path& file : files) read_file(file, result);
  return result;
}

std::vector<TraceCase> read_trace_file(const std::string& path) {
  CaseFolder folder = read_cases(path);
  if (!folder.problems.empty()) throw std::runtime_error(folder.problems.front());
  return std::move(folder.traces);
}

}  // namespace trainmem
