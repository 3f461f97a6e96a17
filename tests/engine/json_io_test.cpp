// The strict reader: what it takes, what it refuses, and with which words.
#include <string>

#include "engine/border/answer.h"
#include "engine/codec/json_config.h"
#include "engine/config/values.h"
#include "engine/presets/apply.h"
#include "engine/text/json_writer.h"
#include "engine/text/numbers.h"
#include "tests/catch.h"
#include "tests/random_config.h"

using namespace trainmem;

namespace {

/// The only issue of a text, as "code path".
std::string only_issue(const std::string& json) {
  const ReadConfig read = read_config(json);
  if (read.issues.size() != 1) return std::to_string(read.issues.size()) + " issues";
  return read.issues[0].code + " " + read.issues[0].path;
}

std::string hint_of(const std::string& json) {
  const ReadConfig read = read_config(json);
  return read.issues.empty() ? "" : read.issues[0].hint;
}

std::string with_recipe(const std::string& fields) { return R"({"model":"llama2-7b","recipe":{)" + fields + "}}"; }

}  // namespace

TEST_CASE("text: bytes as GiB have one decimal, thousands are whole and grouped") {
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  CHECK(gib_text(0) == "0.0");
  CHECK(gib_text(78 * gib + gib / 4) == "78.3");
  CHECK(gib_text(999 * gib + gib / 2) == "999.5");
  CHECK(gib_text(1000 * gib - 1) == "1,000");
  CHECK(gib_text(1577 * gib + gib / 10) == "1,577");
}

TEST_CASE("JSON: presets by name, fields over them, nested objects") {
  const ReadConfig read = read_config(R"({
    "model": {"preset": "llama2-7b", "num_hidden_layers": 16, "experts": {"num_experts": 8}},
    "gpu": "h100-sxm",
    "recipe": {"tensor_parallel": 2, "optimizer": "sgd", "lora": {"rank": 4, "dropout": 0.1}, "sequence_parallel": true}
  })");
  REQUIRE(read.issues.empty());
  CHECK(read.config.model_preset == "llama2-7b");
  CHECK(read.config.model.hidden_size == 4096);
  CHECK(read.config.model.num_hidden_layers == 16);
  CHECK(read.config.model.experts.num_experts == 8);
  CHECK(read.config.gpu.memory_bytes == 85899345920);
  CHECK(read.config.recipe.tensor_parallel == 2);
  CHECK(read.config.recipe.optimizer == Optimizer::sgd);
  CHECK(read.config.recipe.lora.rank == 4);
  CHECK(read.config.recipe.lora.dropout == 0.1);
  CHECK(read.config.recipe.sequence_parallel);
}

TEST_CASE("JSON: a model given by its sizes gets the sizes that follow from them") {
  const ReadConfig read = read_config(R"({"model": {"vocab_size": 100, "hidden_size": 512, "num_hidden_layers": 2,
    "num_attention_heads": 8, "intermediate_size": 2048}})");
  REQUIRE(read.issues.empty());
  CHECK(read.config.model.head_dim == 64);
  CHECK(read.config.model.num_key_value_heads == 8);
}

TEST_CASE("JSON: a framework without a recipe preset sets the defaults of the other fields") {
  const Recipe recipe = read_config(with_recipe(R"("optimizer":"sgd","framework":"torchtitan")")).config.recipe;
  CHECK(recipe.precision == Precision::fsdp_bf16);
  CHECK(recipe.data_parallel == DataParallel::fsdp);
  CHECK(recipe.optimizer == Optimizer::sgd);
}

TEST_CASE("JSON: every kind of wrong input has its code and its path") {
  CHECK(only_issue(R"({"model":"llama2-7b","modle":1})") == "unknown_key /modle");
  CHECK(only_issue(with_recipe(R"("tensor_paralel":2)")) == "unknown_key /recipe/tensor_paralel");
  CHECK(only_issue(with_recipe(R"("lora":{"rnk":2})")) == "unknown_key /recipe/lora/rnk");
  CHECK(only_issue(with_recipe(R"("a/b~c":2)")) == "unknown_key /recipe/a~1b~0c");
  CHECK(only_issue(with_recipe(R"("rank\u0000":2)")) == "unknown_key /recipe/rank?");
  CHECK(only_issue(with_recipe(R"("tensor_parallel\u0000":2)")) == "unknown_key /recipe/tensor_parallel?");
  CHECK(only_issue(with_recipe(R"("__proto__":{})")) == "unknown_key /recipe/__proto__");
  CHECK(only_issue(with_recipe(R"("tensor_parallel":1,"tensor_parallel":2)")) ==
        "duplicate_key /recipe/tensor_parallel");
  CHECK(only_issue(R"({"model":"llama2-7b","model":"llama2-7b"})") == "duplicate_key /model");
  CHECK(only_issue(with_recipe(R"("tensor_parallel":"2")")) == "wrong_type /recipe/tensor_parallel");
  CHECK(only_issue(with_recipe(R"("tensor_parallel":true)")) == "wrong_type /recipe/tensor_parallel");
  CHECK(only_issue(with_recipe(R"("tensor_parallel":null)")) == "wrong_type /recipe/tensor_parallel");
  CHECK(only_issue(with_recipe(R"("tensor_parallel":[1])")) == "wrong_type /recipe/tensor_parallel");
  CHECK(only_issue(with_recipe(R"("tensor_parallel":1.5)")) == "wrong_type /recipe/tensor_parallel");
  CHECK(only_issue(with_recipe(R"("sequence_parallel":1)")) == "wrong_type /recipe/sequence_parallel");
  CHECK(only_issue(with_recipe(R"("lora":8)")) == "wrong_type /recipe/lora");
  CHECK(only_issue(with_recipe(R"("optimizer":3)")) == "wrong_type /recipe/optimizer");
  CHECK(only_issue(with_recipe(R"("optimizer":"adam")")) == "unknown_word /recipe/optimizer");
  CHECK(only_issue(with_recipe(R"("weights_dtype":"int64")")) == "unknown_word /recipe/weights_dtype");
  CHECK(only_issue(with_recipe(R"("tensor_parallel":0)")) == "out_of_range /recipe/tensor_parallel");
  CHECK(only_issue(with_recipe(R"("tensor_parallel":-8)")) == "out_of_range /recipe/tensor_parallel");
  CHECK(only_issue(with_recipe(R"("tensor_parallel":1025)")) == "out_of_range /recipe/tensor_parallel");
  CHECK(only_issue(with_recipe(R"("tensor_parallel":9223372036854775808)")) == "out_of_range /recipe/tensor_parallel");
  CHECK(only_issue(with_recipe(R"("tensor_parallel":1e300)")) == "out_of_range /recipe/tensor_parallel");
  CHECK(only_issue(with_recipe(R"("tensor_parallel":1e400)")) == "out_of_range /recipe/tensor_parallel");
  CHECK(only_issue(with_recipe(R"("lora":{"dropout":1.01})")) == "out_of_range /recipe/lora/dropout");
  CHECK(only_issue(R"({"model":"llama2-7b","gpu":{"name":"a\u0000b"}})") == "out_of_range /gpu/name");
  CHECK(only_issue(R"({"model":"llama2-7c"})") == "unknown_preset /model");
  CHECK(only_issue(R"({"model":{"preset":"llama2-7c"}})") == "unknown_preset /model");
  CHECK(only_issue(R"({"model":{"preset":7}})") == "wrong_type /model/preset");
  CHECK(only_issue(R"({"model":7})") == "wrong_type /model");
  CHECK(only_issue(R"({"gpu":"h100-sxm"})") == "missing /model");
  CHECK(only_issue("[]") == "wrong_type ");
  CHECK(only_issue("\"llama2-7b\"") == "wrong_type ");
}

TEST_CASE("JSON: a text that is not JSON is refused, and the message says where it breaks") {
  for (const char* text : {"", " ", "{", "{\"model\":", "{\"model\":\"llama2-7b\"", "{\"model\" \"x\"}", "{'model':1}",
                           "{\"model\":NaN}", "{\"model\":1}}", "{\"model\":01}", "nonsense", "\xff\xfe",
                           "{\"model\":\"\xc3\x28\"}", "{\"model\":\"\\ud800\"}"}) {
    INFO(text);
    CHECK(only_issue(text).substr(0, 9) == "not_json ");
  }
  const ReadConfig read = read_config("{\"model\": \"llama2-7b\",\n \"gpu\": h100}");
  REQUIRE(read.issues.size() == 1);
  CHECK(read.issues[0].message == "The text is not JSON: unexpected \"h\" at line 2, column 9.");
}

TEST_CASE("JSON: long and deep texts are refused before they cost anything") {
  CHECK(only_issue(std::string(16385, ' ')) == "too_long ");
  CHECK(only_issue(std::string(16384, ' ')).substr(0, 8) == "not_json");
  CHECK(only_issue(std::string(16000, '[')) == "too_deep ");
  std::string nested = R"({"model":)";
  for (int i = 0; i < 2000; ++i) nested += R"({"a":)";
  CHECK(only_issue(nested).substr(0, 8) == "too_deep");
}

TEST_CASE("JSON: all issues come at once") {
  const ReadConfig read = read_config(R"({"model":"llama9","gpu":"h1000","recipe":{"tp":1,"optimizer":"adam",
    "tensor_parallel":0,"sequence_length":"long"},"extra":1})");
  std::string codes;
  for (const Issue& issue : read.issues) codes += issue.code + " ";
  CHECK(codes == "unknown_key unknown_preset unknown_preset unknown_key unknown_word out_of_range wrong_type ");
}

TEST_CASE("JSON: hints name what would be right") {
  CHECK(hint_of(with_recipe(R"("tensor_paralel":2)")).find("\"tensor_parallel\"") != std::string::npos);
  CHECK(hint_of(with_recipe(R"("optimizer":"adamW")")).find("\"adamw\"") != std::string::npos);
  CHECK(hint_of(R"({"model":"lama2-7b"})").find("\"llama2-7b\"") != std::string::npos);
  CHECK(hint_of(R"({"model":"llama2-7b","gpu":"h100sxm"})").find("\"h100-sxm\"") != std::string::npos);
  CHECK(hint_of(with_recipe(R"("hidden_size":2)")) == "It stands at /model/hidden_size.");
  CHECK(hint_of(with_recipe(R"("tensor_parallel":0)")) == "Give a whole number from 1 to 1024.");
}

TEST_CASE("JSON: whole numbers are exact, whatever their form") {
  const auto memory = [](const char* number) {
    return read_config(std::string(R"({"model":"gpt2","gpu":{"memory_bytes":)") + number + "}}")
        .config.gpu.memory_bytes;
  };
  CHECK(memory("85899345920") == 85899345920);
  CHECK(memory("1125899906842623") == 1125899906842623);
  CHECK(memory("8.5899345920e10") == 85899345920);
  CHECK(memory("80000000000.0") == 80000000000);
}

TEST_CASE("JSON: a Hugging Face config.json is a model, alone or inside a configuration") {
  // config.json of meta-llama/Llama-2-7b-hf
  const std::string llama = R"({"_name_or_path": "meta-llama/Llama-2-7b-hf", "architectures": ["LlamaForCausalLM"],
    "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
    "intermediate_size": 11008, "max_position_embeddings": 4096, "model_type": "llama", "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 32, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
    "rope_scaling": null, "tie_word_embeddings": false, "torch_dtype": "float16", "transformers_version": "4.31.0.dev0",
    "use_cache": true, "vocab_size": 32000})";
  Config preset;
  Issues issues;
  apply_model_preset("llama2-7b", preset, issues);
  for (const std::string& text : {llama, R"({"gpu": "h100-sxm", "model": )" + llama + "}"}) {
    const ReadConfig read = read_config(text);
    REQUIRE(read.issues.empty());
    Config same_model = preset;
    same_model.model_preset.clear();
    same_model.gpu = read.config.gpu;
    same_model.gpu_preset = read.config.gpu_preset;
    CHECK(read.config == same_model);
  }
  CHECK(only_issue(R"({"architectures": [], "model_type": "squeezenet"})").find("/model") != std::string::npos);
  CHECK(only_issue(R"({"architectures": [], "model_type": "llama", "hidden_size": 1e300})") ==
        "out_of_range /model/hidden_size");
}

TEST_CASE("JSON: what is written is read back as the same configuration, in full and as differences") {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const Config config = random_fields(random);
    const std::string full = write_config(config);
    const ReadConfig again = read_config(full);
    INFO(full);
    REQUIRE(again.issues.empty());
    REQUIRE(again.config == config);
    REQUIRE(write_config(again.config) == full);
    const std::string differences = write_config_differences(config);
    REQUIRE(read_config(differences).issues.empty());
    REQUIRE(read_config(differences).config == config);
  }
}

TEST_CASE("JSON: a preset alone is written as nothing but its name") {
  const ReadConfig read = read_config(R"({"model":"gpt2","gpu":"h100-sxm"})");
  CHECK(write_config_differences(read.config) ==
        R"({"model":{"preset":"gpt2"},"gpu":{"preset":"h100-sxm"},"recipe":{}})");
}

TEST_CASE("JSON: numbers are written in few digits that read back as the same number") {
  for (const auto& [value, text] : {std::pair{1.0, "1"},
                                    {0.5, "0.5"},
                                    {0.1, "0.1"},
                                    {3352.0, "3352"},
                                    {1e20, "1e20"},
                                    {0.0, "0"},
                                    {1e-7, "1e-07"},
                                    {16777216.0, "16777216"},
                                    {1e15, "1e15"}}) {
    CHECK(std::stod(number_text(value)) == value);
    CHECK(number_text(value) == text);
  }
  Random random(2);
  for (int i = 0; i < 10000; ++i) {
    const double value = static_cast<double>(random.next()) / static_cast<double>(1 + random.below(1 << 20));
    REQUIRE(std::stod(number_text(value)) == value);
  }
}

TEST_CASE("JSON: texts are escaped, and bytes that are not UTF-8 never reach the answer") {
  JsonWriter out;
  out.text(std::string("a\"b\\c\n\x01é漢\xff\xc0\xaf") + std::string(1, '\0'));
  CHECK(out.take() == "\"a\\\"b\\\\c\\u000a\\u0001é漢???\\u0000\"");
}

TEST_CASE("border: key and value heads that GPT-BigCode's attention cannot share out are an issue, no number") {
  const std::string model = R"({"model_type": "gpt_bigcode", "vocab_size": 49152, "hidden_size": 6144,
    "num_hidden_layers": 40, "num_attention_heads": 48, "intermediate_size": 24576, "num_key_value_heads": )";
  const auto says = [&](const char* heads) {
    const Answer answer = answer_request(R"({"gpu": "h100-sxm", "model": )" + model + heads + "}}");
    for (const Issue& issue : answer.issues)
      if (issue.path == "/model/num_key_value_heads") return issue.code;
    return std::string("nothing");
  };
  CHECK(says("8") == "not_yet_modelled");
  CHECK(says("1") == "nothing");
  CHECK(says("48") == "nothing");
}
