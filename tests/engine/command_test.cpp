// The command's parts: arguments, input, tables of 100 columns.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/border/answer.h"
#include "engine/codec/link.h"
#include "engine/command/arguments.h"
#include "engine/command/comparison_table.h"
#include "engine/command/configuration.h"
#include "engine/command/files.h"
#include "engine/command/preset_table.h"
#include "engine/command/table.h"
#include "engine/command/text.h"
#include "engine/estimate.h"
#include "tests/catch.h"
#include "tests/random_config.h"

using namespace trainmem;

namespace {

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    widest = std::max(widest, end - at);
    at = end + 1;
  }
  return widest;
}

std::string link_of(const std::vector<std::string>& words) { return read_input(parse_arguments(words)).text; }

}  // namespace

TEST_CASE("command: options become the parts of a link, whatever a field is called") {
  for (const char* name : {"tp=8", "tensor_parallel=8", "recipe.tensor_parallel=8", "/recipe/tensor_parallel=8"}) {
    CHECK(link_of({"estimate", "--model", "gpt2", "--set", name, "--json"}) == "model=gpt2&tp=8");
  }
  CHECK(link_of({"estimate", "--model", "a b", "--gpu", "c&d"}) == "model=a%20b&gpu=c%26d");
  for (const char* name : {"recipe.lora.rank=8", "lora.rank=8", "lora/rank=8", "rank=8", "lora=8"}) {
    CHECK(link_of({"estimate", "--set", name}) == "lora=8");
  }
  CHECK(link_of({"estimate", "--set", "ora.rank=8"}) == "rank=8");  // parts are whole
  CHECK(parse_arguments({"estimate", "--json"}).json);
}

TEST_CASE("command: wrong arguments are named, all at once") {
  CHECK(parse_arguments({}).issues.size() == 1);
  CHECK(parse_arguments({"estimat"}).issues.size() == 1);
  CHECK(parse_arguments({"estimate", "--jsn", "--set", "x", "--model"}).issues.size() == 3);
  CHECK(parse_arguments({"estimate", "a", "b"}).issues.size() == 1);
  CHECK(parse_arguments({"--help"}).issues.empty());
  CHECK(parse_arguments({"--version"}).version);
}

TEST_CASE("command: an option that a command has no use for is refused") {
  const Arguments wrong = parse_arguments({"presets", "--advice", "--num-gpus", "8"});
  REQUIRE(wrong.issues.size() == 2);
  CHECK(wrong.issues[0].message == "--advice does not go with presets.");
  CHECK(wrong.issues[1].message == "--num-gpus does not go with presets.");
  CHECK(parse_arguments({"--json", "presets"}).issues.empty());
  CHECK(parse_arguments({"presets", "--json"}).command == Command::presets);
  CHECK(parse_arguments({"estimate", "--json", "--against", "model=gpt2", "model=gpt2"}).issues.size() == 1);
  CHECK(parse_arguments({"export", "model=gpt2"}).issues.size() == 1);
}

TEST_CASE("command: a file, a link or a text") {
  const std::string path = "command_test.request";
  std::ofstream(path) << "{\"model\":\"gpt2\"}";
  CHECK(link_of({"estimate", path}) == "{\"model\":\"gpt2\"}");
  std::remove(path.c_str());
  CHECK(link_of({"link", "https://example.org/#v=1&model=gpt2&end"}) == "https://example.org/#v=1&model=gpt2&end");
  CHECK(link_of({"link", "{\"model\":\"gpt2\"}"}) == "{\"model\":\"gpt2\"}");
  CHECK(read_input(parse_arguments({"estimate", "no such file"})).issues.size() == 1);
  CHECK(read_input(parse_arguments({"estimate", "/dev/null"})).issues.empty());  // a device or a pipe is a file
  CHECK(read_input(parse_arguments({"estimate", "."})).issues.size() == 1);
  CHECK(preset_files("no such folder").empty());
  std::filesystem::create_directories("command_test.folder/models/folder");
  CHECK(preset_files("command_test.folder").empty());
  std::filesystem::remove_all("command_test.folder");
}

TEST_CASE("command: tables fit 100 columns") {
  for (const char* kind : {"models", "gpus", "recipes", ""}) {
    INFO(kind);
    CHECK(widest_line(preset_table(kind)) <= 100);
    CHECK(preset_table(kind).size() > 1000);
  }
  CHECK(preset_table("model").empty());
  Random random(21);
  for (int i = 0; i < 40; ++i) {
    const Config config = random_valid_config(random);
    INFO(format_link(config));
    const std::string table = result_table(config, estimate(config));
    INFO(table);
    REQUIRE(widest_line(table) <= 100);
  }
}

TEST_CASE("command: the table of Llama 2 7B says what the answer says") {
  const Answer answer = answer_request("model=llama2-7b&gpu=h100-sxm&precision=bf16");
  REQUIRE(answer.issues.empty());
  const std::string table = result_table(answer.config, answer.result);
  CHECK(table.find("llama2-7b, 6,738,415,616 parameters, on 1 GPU (H100 SXM5 80GB)\n") == 0);
  CHECK(table.find(grouped(answer.result.allocated) + "  torch.cuda.max_memory_allocated") != std::string::npos);
  CHECK(table.find(gibibytes(answer.result.device.expected)) != std::string::npos);
}

TEST_CASE("command: numbers, bars and lines") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(-1234567) == "-1,234,567");
  CHECK(grouped(-123) == "-123");
  CHECK(gibibytes(85899345920) == "80.00 GiB");
  CHECK(bar(1, 2, 40) == std::string(20, '#'));
  CHECK(bar(0, 0, 40).empty());
  CHECK(fit("abcdefgh", 6) == "abc...");
  CHECK(wrapped("one two three", 7) == "one two\nthree\n");
  CHECK(issue_line({"x", "/recipe/tp", "Wrong.", "Do this."}) == "/recipe/tp: Wrong. Do this.\n");
  CHECK(issue_line({"unknown_preset", "/gpu", "There is none.", "None is near."}) ==
        "/gpu: There is none. None is near. `trainmem presets` lists all.\n");
}

TEST_CASE("command: --model and --set complete a file of another program, and no configuration of ours") {
  const auto read = [](const std::vector<std::string>& words) { return read_configuration(parse_arguments(words)); };
  CHECK(read({"estimate", "model=gpt2", "--gpu", "h100-sxm"}).issues.size() == 1);
  CHECK(read({"plan", "model=gpt2", "--gpu", "h100-sxm", "--num-gpus", "8"}).issues.size() == 1);
  const std::string settings = R"({"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}})";
  CHECK(read({"estimate", settings, "--model", "gpt2", "--set", "mbs=2", "--set", "dp=8"}).text ==
        "v=1&fw=deepspeed&precision=fp32&clip=0&dp_kind=zero2&model=gpt2&mbs=2&dp=8&end");
}

TEST_CASE("command: two configurations come from --against or from a link of both") {
  const std::string both = "v=1&a.model=llama2-7b&a.gpu=h100-sxm&b.seq=8192&end";
  const std::string a = "v=1&model=llama2-7b&gpu=h100-sxm&end";
  const std::string b = "v=1&model=llama2-7b&gpu=h100-sxm&seq=8192&end";
  const Arguments of_link = parse_arguments({"estimate", both});
  CHECK(read_against(of_link, read_configuration(of_link)).text == a);
  const Arguments of_option = parse_arguments({"link", b, "--against", a});
  CHECK(read_against(of_option, read_configuration(of_option)).text == a);
  const Arguments alone = parse_arguments({"estimate", b});
  CHECK(read_against(alone, read_configuration(alone)).text.empty());
  const Arguments broken = parse_arguments({"estimate", "v=1&a.model=llama2-7b&a.colour=red&b.seq=8192&end"});
  CHECK(read_against(broken, read_configuration(broken)).issues[0].code == "unknown_key");
  CHECK(parse_arguments({"plan", a, "--num-gpus", "8", "--against", b}).issues.size() == 1);
  CHECK(parse_arguments({"link", a, "--against"}).issues.size() == 1);
}

TEST_CASE("command: the table of two configurations has both totals and their difference") {
  const Answer a = answer_request("model=llama2-7b&gpu=h100-sxm");
  const Answer b = answer_request("model=llama2-7b&gpu=h100-sxm&seq=8192");
  const std::string table = comparison_table(a, b);
  CHECK(widest_line(table) <= 100);
  CHECK(table.find("Compared with A: v=1&model=llama2-7b&gpu=h100-sxm&end\n") == 0);
  const std::string allocated = "allocated" + std::string(15, ' ') + right(gibibytes(a.result.allocated), 14) +
                                right(gibibytes(b.result.allocated), 14) +
                                right("+" + gibibytes(b.result.allocated - a.result.allocated), 14);
  CHECK(table.find(allocated) != std::string::npos);
  CHECK(comparison_table(b, a).find("-" + gibibytes(b.result.allocated - a.result.allocated)) != std::string::npos);
  CHECK(comparison_table(a, a).find("same") != std::string::npos);
}
