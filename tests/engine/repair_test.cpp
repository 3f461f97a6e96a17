// Refusals that lead on: fixes of issues, and the nearest configuration that gets numbers.
#include "engine/validation/repair.h"

#include <nlohmann/json.hpp>
#include <string>

#include "engine/border/border.h"
#include "engine/codec/json_config.h"
#include "engine/codec/link.h"
#include "engine/config/text.h"
#include "engine/presets/presets.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

std::string link_of(const PresetText& model, const PresetText& recipe) {
  return "model=" + std::string(model.id) + "&gpu=h100-sxm&recipe=" + std::string(recipe.id);
}

bool has(const Issues& issues, const Issue& wanted) {
  for (const Issue& issue : issues) {
    if (issue.path == wanted.path && issue.message == wanted.message) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("repair: a recipe preset alone brings its model and its GPU, as JSON and as a link") {
  for (const PresetText& recipe : recipe_presets()) {
    const std::string id(recipe.id);
    INFO(id);
    const auto file = nlohmann::json::parse(recipe.json);
    const ReadConfig link = parse_link("recipe=" + id);
    CHECK(link.issues.empty());
    CHECK(link.config.model_preset == file["model"]);
    CHECK(link.config.gpu_preset == file["gpu"]);
    CHECK(link.config == read_config(R"({"recipe": ")" + id + "\"}").config);
    CHECK(link.config == parse_link(format_link(link.config)).config);
  }
  CHECK(parse_link("recipe=fsdp2-8-gpus&gpu=a100-80gb-sxm").config.gpu_preset == "a100-80gb-sxm");
  CHECK(parse_link("recipe=fsdp2-8-gpus&gpu_bytes=1000").config.gpu_preset.empty());
  CHECK(read_config(R"({"gpu": {}, "recipe": "fsdp2-8-gpus"})").config.gpu_preset.empty());
  CHECK(parse_link("model=gpt2&recipe=fsdp2-8-gpus").config.gpu_preset.empty());
}

TEST_CASE("repair: without a model nothing is compared with its sizes") {
  const auto answer = nlohmann::json::parse(
      estimate("gpu=h100-sxm&fw=megatron&pp=16&pp_first=7&ep=4&dp=4&recompute=full&recompute_layers=3"));
  REQUIRE(answer["issues"].size() == 1);
  CHECK(answer["issues"][0]["code"] == "missing");
  CHECK(answer["issues"][0]["path"] == "/model");
  CHECK(nlohmann::json::parse(estimate("recipe=nope"))["issues"].size() == 1);
}

TEST_CASE("repair: a recipe preset's sequences end where the model's table does, a given length does not") {
  CHECK(parse_link("model=gpt2&recipe=bf16-one-gpu").config.recipe.sequence_length == 1024);
  const auto answer = nlohmann::json::parse(estimate("model=gpt2&recipe=bf16-one-gpu&seq=4096"));
  REQUIRE(answer["issues"].size() == 1);
  CHECK(answer["issues"][0]["fix"]["path"] == "/recipe/sequence_length");
  CHECK(answer["issues"][0]["fix"]["value"] == 1024);
  CHECK(answer["repair"]["link"] == "v=1&model=gpt2&recipe=bf16-one-gpu&end");
}

TEST_CASE("repair: a refusal says what was read, from which its repair starts") {
  const auto answer = nlohmann::json::parse(estimate("model=gpt2&gpu=h100-sxm&recipe=torchtitan-llama3-8b"));
  REQUIRE(!answer["ok"]);
  CHECK(answer["config"]["recipe"]["framework"] == "torchtitan");
  CHECK(answer["config"]["recipe"]["sequence_length"] == 1024);  // of GPT-2's table; the recipe has 8192
  for (const auto& set : answer["repair"]["sets"]) {
    const auto pointer = nlohmann::json::json_pointer(set["path"].get<std::string>());
    CHECK(answer["config"][pointer] == set["from"]);
  }
}

TEST_CASE("repair: a fix settles its issue") {
  for (const PresetText& model : model_presets()) {
    for (const PresetText& recipe : recipe_presets()) {
      const Config config = parse_link(link_of(model, recipe)).config;
      for (const Issue& issue : validate(config)) {
        if (issue.fix.path.empty()) continue;
        INFO(link_of(model, recipe) << ": " << issue.path << ": " << issue.message);
        Config fixed = config;
        Issues refused;
        const Field* field = find_field_by_path(issue.fix.path);
        REQUIRE(field != nullptr);
        store_text(*field, issue.fix.value, {fixed, refused});
        CHECK(refused.empty());
        CHECK(!has(validate(fixed), issue));
      }
    }
  }
}

TEST_CASE("repair: every model under every recipe preset gets numbers, or a configuration that does") {
  for (const PresetText& model : model_presets()) {
    for (const PresetText& recipe : recipe_presets()) {
      Config config = parse_link(link_of(model, recipe)).config;
      if (validate(config).empty()) continue;
      INFO(link_of(model, recipe));
      CHECK(repair(config));
    }
  }
}

TEST_CASE("repair: a request that was not understood is not repaired") {
  const auto answer = nlohmann::json::parse(estimate("model=gpt2&recipe=bf16-one-gpu&seq=4096&nonsense=1"));
  CHECK(answer["issues"].size() == 2);
  CHECK(!answer.contains("repair"));
  CHECK(!answer.contains("config"));
}
