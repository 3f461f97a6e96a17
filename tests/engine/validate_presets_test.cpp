#include "engine/preset_check/validate_presets.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/catch.h"
#include "tests/source_folder.h"

using namespace trainmem;

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::string text;
  if (std::FILE* file = std::fopen(path.string().c_str(), "rb")) {
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
    std::fclose(file);
  }
  return text;
}

std::vector<PresetFile> all_presets() {
  std::vector<PresetFile> files;
  for (const auto& folder : std::filesystem::directory_iterator(source_folder() + "/presets")) {
    if (!folder.is_directory()) continue;
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
      files.push_back({folder.path().filename().string(), file.path().filename().string(), read_file(file.path())});
    }
  }
  std::sort(files.begin(), files.end(), [](const PresetFile& a, const PresetFile& b) { return a.name < b.name; });
  return files;
}

/// The issues' codes after one text in one file is replaced by another.
std::vector<std::string> codes_after(const std::string& name, const std::string& from, const std::string& to) {
  std::vector<PresetFile> files = all_presets();
  for (PresetFile& file : files) {
    if (file.name != name) continue;
    const std::size_t at = file.text.find(from);
    REQUIRE(at != std::string::npos);
    file.text.replace(at, from.size(), to);
  }
  std::vector<std::string> codes;
  for (const Issue& issue : validate_presets(files).issues) {
    CHECK((issue.path.find(name) != std::string::npos || issue.path == "optimizers"));
    codes.push_back(issue.code);
  }
  return codes;
}

}  // namespace

TEST_CASE("validate-presets: every preset of the repository is right") {
  const PresetReport report = validate_presets(all_presets());
  for (const Issue& issue : report.issues) FAIL_CHECK(issue.path << ": " << issue.message << " " << issue.hint);
  CHECK(report.table.find("247 models: 127 exact, 15 exact with an explained difference, 105 with a rounded") !=
        std::string::npos);
}

TEST_CASE("validate-presets: no line of the table is wider than 100 columns") {
  const std::string table = validate_presets(all_presets()).table;
  for (std::size_t begin = 0, end = 0; (end = table.find('\n', begin)) != std::string::npos; begin = end + 1) {
    CHECK(end - begin <= 100);
  }
}

TEST_CASE("validate-presets: a wrong size is an unexplained difference and wrong counts") {
  const auto codes = codes_after("llama2-7b.json", "\"intermediate_size\": 11008", "\"intermediate_size\": 11000");
  CHECK(codes == std::vector<std::string>{"wrong_count", "wrong_count", "unexplained_difference"});
}

TEST_CASE("validate-presets: parts that do not sum to the difference do not explain it") {
  const auto codes = codes_after("gemma3-4b.json", "\"parameters\": 416866032", "\"parameters\": 416866033");
  CHECK(codes == std::vector<std::string>{"unexplained_difference"});
}

TEST_CASE("validate-presets: a checkpoint is a name on the hub, and of one preset") {
  const auto codes = [](const std::string& name) {
    return codes_after("llama2-70b.json", "meta-llama/Llama-2-70b-chat-hf", name);
  };
  CHECK(codes("meta-llama/Llama-2-70b-other").empty());
  CHECK(codes("Llama-2-70b-chat-hf") == std::vector<std::string>{"wrong_value"});
  CHECK(codes("meta-llama/Llama-2-70b-hf") == std::vector<std::string>{"contradiction"});
  CHECK(codes("meta-llama/Llama-3.3-70B-Instruct") == std::vector<std::string>{"contradiction"});
}

TEST_CASE("validate-presets: what a driver reports stands for one GPU") {
  const auto codes = [](const std::string& name) {
    return codes_after("h100-sxm.json", "NVIDIA H100 80GB HBM3", name);
  };
  CHECK(codes("NVIDIA H100 80GB HBM3e").empty());
  CHECK(codes("NVIDIA H200") == std::vector<std::string>{"contradiction"});
  CHECK(codes("h100 nvl") == std::vector<std::string>{"contradiction"});
  CHECK(codes("") == std::vector<std::string>{"wrong_value"});
}

TEST_CASE("validate-presets: unknown keys, missing sources, missing references and another layout are issues") {
  CHECK(codes_after("gpt2.json", "\"hidden_act\"", "\"hidden_acts\"")[0] == "unknown_key");
  CHECK(codes_after("gpt2.json", "\"source\": \"transformers", "\"source\": \"\", \"notes\": \"transformers") ==
        std::vector<std::string>{"wrong_layout", "missing"});
  CHECK(codes_after("t4.json", "\"gddr6\"", "\"gddr4\"") == std::vector<std::string>{"unknown_preset"});
  CHECK(codes_after("lora-one-gpu.json", "\"llama3.1-8b\"", "\"llama9\"") ==
        std::vector<std::string>{"unknown_preset"});
  CHECK(codes_after("lion.json", "\"lion_8bit\"", "\"lion_9bit\"") ==
        std::vector<std::string>{"wrong_value", "missing"});
  CHECK(codes_after("hbm3.json", "819", "900") == std::vector<std::string>{"contradiction"});
  CHECK(codes_after("t4.json", "  \"name\"", "   \"name\"") == std::vector<std::string>{"wrong_layout"});
  CHECK(codes_after("t4.json", "{", "") == std::vector<std::string>{"not_json"});
}
