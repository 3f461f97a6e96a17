// MPT under llm-foundry: the sizes that it publishes, and what is refused. Its recorded steps are in
// tests/traces/llm_foundry.json, the runs that it publishes in tests/measured/llm-foundry.json.
#include <algorithm>
#include <string>

#include "engine/config/values.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/huggingface/config.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

HuggingFaceConfig published(std::int64_t width, std::int64_t heads, std::int64_t layers, std::int64_t longest) {
  const auto number = [](std::int64_t value) {
    HuggingFaceValue result;
    result.kind = HuggingFaceValue::Kind::number;
    result.number = static_cast<double>(value);
    return result;
  };
  HuggingFaceValue type;
  type.kind = HuggingFaceValue::Kind::text;
  type.text = "mpt";
  HuggingFaceValue no;
  no.kind = HuggingFaceValue::Kind::boolean;
  return {{"model_type", type},       {"vocab_size", number(50368)}, {"d_model", number(width)},
          {"n_heads", number(heads)}, {"n_layers", number(layers)},  {"max_seq_len", number(longest)},
          {"attn_config.alibi", no}};
}

Config mpt() {
  Issues issues;
  Config config;
  config.model = model_from_huggingface(published(4096, 32, 32, 2048), issues);
  CHECK(issues.empty());
  config.gpu.name = "any";
  config.gpu.memory_bytes = 80'000'000'000;
  start_recipe(config, Framework::llm_foundry);
  config.recipe.data_parallel_size = 8;
  return config;
}

}  // namespace

// llm-foundry scripts/train/benchmarking/README.md (8c8dd48f), column NumParams; sizes of scripts/train/yamls/pretrain.
TEST_CASE("llm-foundry: MPT with learned positions has the published number of parameters") {
  struct Row {
    std::int64_t width, heads, layers, longest, parameters;
  };
  for (const Row& row : {Row{1536, 12, 24, 2048, 760'470'528}, Row{2048, 16, 24, 65536, 1'445'974'016},
                         Row{2560, 20, 32, 512, 2'647'905'280}, Row{4096, 32, 32, 2048, 6'658'859'008},
                         Row{5120, 40, 40, 32768, 13'011'240'960}, Row{7168, 56, 48, 8192, 30'019'254'272},
                         Row{8192, 64, 80, 2048, 64'862'437'376}}) {
    CAPTURE(row.width, row.longest);
    Issues issues;
    const Model model = model_from_huggingface(published(row.width, row.heads, row.layers, row.longest), issues);
    CHECK(issues.empty());
    CHECK(parameter_count(model) == row.parameters);
  }
}

TEST_CASE("llm-foundry: its defaults are valid, transformers has no MPT with learned positions") {
  Config config = mpt();
  CHECK(validate(config).empty());
  CHECK(config.recipe.sequence_length == 2048);
  start_recipe(config, Framework::transformers);
  const Issues issues = validate(config);
  const auto of_positions =
      std::find_if(issues.begin(), issues.end(), [](const Issue& issue) { return issue.path == "/model/positions"; });
  REQUIRE(of_positions != issues.end());
  CHECK(of_positions->hint.find("llm_foundry") != std::string::npos);
}

TEST_CASE("llm-foundry: what its step does not do is refused, with a fix that helps") {
  const auto only_path = [](void (*change)(Config&)) {
    Config asked = mpt();
    change(asked);
    const Issues issues = validate(asked);
    REQUIRE(issues.size() == 1);
    CHECK_FALSE(issues[0].fix.value.empty());
    return issues[0].path;
  };
  CHECK(only_path([](Config& c) { c.model.positions = Positions::rope; }) == "/model/positions");
  CHECK(only_path([](Config& c) { c.model.tie_word_embeddings = false; }) == "/model/tie_word_embeddings");
  CHECK(only_path([](Config& c) { c.recipe.fsdp_version = 2; }) == "/recipe/fsdp_version");
  CHECK(only_path([](Config& c) { c.recipe.fsdp_wrap_embeddings = false; }) == "/recipe/fsdp_wrap_embeddings");
  CHECK(only_path([](Config& c) { c.recipe.loss = Loss::full; }) == "/recipe/loss");
  CHECK(only_path([](Config& c) { c.recipe.attention = AttentionKernel::eager; }) == "/recipe/attention");
  CHECK(only_path([](Config& c) { c.recipe.lora.rank = 8; }) == "/recipe/lora/rank");
  CHECK(only_path([](Config& c) { c.recipe.tensor_parallel = 2; }) == "/recipe/tensor_parallel");
  CHECK(only_path([](Config& c) { c.recipe.recomputation = Recomputation::every_k; }) == "/recipe/recomputation");
  CHECK(only_path([](Config& c) { c.recipe.precision = Precision::bf16; }) == "/recipe/precision");
}
