// The pattern of layers: one text for each pattern, read from texts, lists and links.
#include "engine/config/layer_types.h"

#include <string>

#include "engine/codec/json_config.h"
#include "engine/codec/link.h"
#include "engine/parameters/parameters.h"
#include "engine/presets/huggingface/config.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

std::string normal(const std::string& given) {
  std::string text;
  Issue issue;
  return normalize_layer_types(given, text, issue) ? text : issue.code + ": " + issue.message;
}

Model with_layers(const char* pattern, std::int64_t layers) {
  Model model;
  model.layer_types = pattern;
  model.num_hidden_layers = layers;
  return model;
}

const std::string minimax = R"({"model": {"preset": "minimax-text-01", "layer_types": )";

}  // namespace

TEST_CASE("layer types: one text stands for a pattern, however it was written") {
  CHECK(normal("").empty());
  CHECK(normal("conv") == "conv");
  CHECK(normal("conv,conv,conv") == "conv");
  CHECK(normal("conv,conv,full_attention") == "2*conv,full_attention");
  CHECK(normal("mamba,attention,mamba,attention") == "mamba,full_attention");
  CHECK(normal("(2*conv),1*attention") == "2*conv,full_attention");
  // LiquidAI/LFM2-1.2B: layer_types of its config.json.
  CHECK(normal("conv,conv,full_attention,conv,conv,full_attention,conv,conv,full_attention,conv,full_attention,conv,"
               "full_attention,conv,full_attention,conv") == "3*(2*conv,full_attention),3*(conv,full_attention),conv");
  for (const char* text :
       {"5*mamba,full_attention,4*mamba", "3*(mamba,mlp),mamba,full_attention", "2*(3*moe,mlp),conv"})
    CHECK(normal(text) == text);
}

TEST_CASE("layer types: what is no pattern is said") {
  CHECK(normal("convv") == "unknown_word: layer_types has \"convv\", which is no kind of layer.");
  CHECK(normal("conv,") == "unknown_word: layer_types ends with a comma.");
  CHECK(normal("conv,,conv") == "unknown_word: layer_types has \"\", which is no kind of layer.");
  CHECK(normal("(conv").substr(0, 12) == "unknown_word");
  CHECK(normal("conv)").substr(0, 12) == "unknown_word");
  CHECK(normal("0*conv").substr(0, 12) == "out_of_range");
  CHECK(normal("1025*conv").substr(0, 12) == "out_of_range");
  CHECK(normal("99999999999999999999*conv").substr(0, 12) == "out_of_range");
  CHECK(normal("900*(900*conv)").substr(0, 12) == "out_of_range");
  CHECK(normal(std::string(200, '(') + "conv" + std::string(200, ')')).substr(0, 12) == "unknown_word");
}

TEST_CASE("layer types: the pattern begins with the first layer and is repeated") {
  const Model model = with_layers("2*(conv,full_attention),mamba", 13);
  std::string kinds;
  for (std::int64_t i = 0; i < 13; ++i) kinds += word(layer_type(model, i))[0];
  CHECK(kinds == "cfcfmcfcfmcfc");
  CHECK(layer_types_period(model) == 5);
  CHECK(has_layer_type(model, LayerType::mamba));
  CHECK_FALSE(has_layer_type(with_layers("2*(conv,full_attention),mamba", 4), LayerType::mamba));
}

TEST_CASE("layer types: JSON takes a list of them too, links write the short text") {
  const ReadConfig read = read_config(minimax + R"(["linear_attention", "full_attention"]}})");
  REQUIRE(read.issues.empty());
  CHECK(read.config.model.layer_types == "linear_attention,full_attention");
  const std::string link = format_link(read.config);
  CHECK(link == "v=1&model=minimax-text-01&layer_types=linear_attention,full_attention&end");
  CHECK(parse_link(link).config.model == read.config.model);
  const std::string counted = "v=1&model=minimax-text-01&layer_types=2*(2*linear_attention,full_attention),mamba&end";
  CHECK(format_link(parse_link(counted).config) == counted);
  CHECK(read_config(minimax + "[1]}}").issues.at(0).code == "wrong_type");
  CHECK(read_config(minimax + R"("linear_atention"}})").issues.at(0).hint.substr(0, 32) ==
        "Did you mean \"linear_attention\"?");
}

TEST_CASE("layer types: of MiniMax-Text-01 every eighth layer attends to everything") {
  const Config config = read_config(R"({"model": "minimax-text-01"})").config;
  CHECK(layer_kind(config.model, 0).type == LayerType::linear_attention);
  CHECK(layer_kind(config.model, 7).type == LayerType::full_attention);
  CHECK(layer_kind(config.model, 79).type == LayerType::full_attention);
}

TEST_CASE("layer types: kinds that a class has no layers of are refused, and contradictions with the window") {
  const auto issues_of = [](const std::string& fields) {
    std::string all;
    for (const Issue& issue : validate(read_config(R"({"model": {"preset": "llama3.1-8b", )" + fields + "}}").config))
      all += issue.code + " " + issue.path + "; ";
    return all;
  };
  CHECK(issues_of(R"("layer_types": "conv,full_attention")") == "not_yet_modelled /model/layer_types; ");
  CHECK(issues_of(R"("layer_types": "mamba,full_attention")") ==
        "missing /model/mamba; not_yet_modelled /model/layer_types; ");
  CHECK(issues_of(R"("layer_types": "sliding_attention,full_attention")") == "contradiction /model/sliding_window; ");
  CHECK(issues_of(R"("layer_types": "sliding_attention,full_attention", "sliding_window": 512)").empty());
  CHECK(issues_of(R"("layer_types": "sliding_attention,full_attention", "sliding_window": 512,
                     "sliding_window_pattern": 2)") == "contradiction /model/sliding_window_pattern; ");
  CHECK(issues_of(R"("layer_types": "full_attention", "sliding_window": 512)") ==
        "contradiction /model/sliding_window; ");
}

TEST_CASE("layer types: lists of windows in a config.json are a window and its period, or a pattern") {
  const auto read = [](const std::string& types) {
    const std::string text = R"({"model": {"model_type": "olmo3", "architectures": [], "num_hidden_layers": 4,
      "sliding_window": 512, "layer_types": [)" +
                             types + "]}}";
    return read_config(text).config.model;
  };
  const std::string full = R"("full_attention")";
  const std::string slides = R"("sliding_attention")";
  CHECK(read(slides + "," + full + "," + slides + "," + full).sliding_window_pattern == 2);
  CHECK(read(slides + "," + full + "," + slides + "," + full).layer_types.empty());
  CHECK(read(full + "," + full + "," + full + "," + full).sliding_window == 0);
  CHECK(read(slides + "," + slides + "," + slides + "," + slides).sliding_window_pattern == 1);
  CHECK(read(full + "," + full + "," + slides + "," + slides).layer_types == "2*full_attention,2*sliding_attention");
}
