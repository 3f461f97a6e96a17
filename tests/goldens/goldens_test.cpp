// Answers kept as files: NAME.request.json is the request, NAME.answer.json the whole answer, laid out for reading.
// They show what a change of the engine changes. On a difference NAME.answer.new.json is written beside it; accepting
// is renaming that file, in the same commit, with the reason in its message.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "engine/border/border.h"
#include "engine/presets/presets.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

namespace {

using Json = nlohmann::ordered_json;

const std::filesystem::path folder = std::filesystem::path(source_folder()) / "tests" / "goldens";

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// One line for each member of the answer and of the result, and for each element of the result's lists.
void lay_out(const Json& value, int depth, std::string& out) {
  const bool opened = !value.empty() && ((value.is_object() && depth < 2) || (value.is_array() && depth < 3));
  if (!opened) {
    out += value.dump();
    return;
  }
  out += value.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [key, member] : value.items()) {
    out += (first ? "\n" : ",\n") + std::string(static_cast<std::string::size_type>(depth + 1), ' ');
    first = false;
    if (value.is_object()) out += Json(key).dump() + ": ";
    lay_out(member, depth + 1, out);
  }
  out += "\n" + std::string(static_cast<std::string::size_type>(depth), ' ') + (value.is_object() ? "}" : "]");
}

/// The timeline's components are left out: they are the longest part and move with the points themselves.
std::string golden(const std::string& request) {
  Json answer = Json::parse(trainmem::estimate(request));
  if (answer.contains("result"))
    for (Json& point : answer["result"]["timeline"]) point.erase("components");
  std::string out;
  lay_out(answer, 0, out);
  return out + "\n";
}

}  // namespace

TEST_CASE("goldens: every kept answer is given again, letter for letter") {
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    const std::string::size_type suffix = file.rfind(".request.json");
    if (suffix == std::string::npos) continue;
    const std::filesystem::path kept = folder / (file.substr(0, suffix) + ".answer.json");
    const std::string given = golden(text_of(entry.path()));
    ++compared;
    if (given == text_of(kept)) continue;
    const std::filesystem::path fresh = folder / (file.substr(0, suffix) + ".answer.new.json");
    std::ofstream(fresh, std::ios::binary) << given;
    FAIL_CHECK("kept:  " << kept.string() << "\ngiven: " << fresh.string());
  }
  CHECK(compared >= 18);
}

TEST_CASE("goldens: every recipe preset has one") {
  std::set<std::string> asked;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().find(".request.json") == std::string::npos) continue;
    const Json request = Json::parse(text_of(entry.path()));
    if (request.contains("recipe") && request["recipe"].is_string()) asked.insert(request["recipe"]);
  }
  for (const trainmem::PresetText& recipe : trainmem::recipe_presets()) {
    INFO("tests/goldens/" << recipe.id << ".request.json is missing");
    CHECK(asked.count(std::string(recipe.id)) == 1);
  }
}
