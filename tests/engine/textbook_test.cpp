#include "engine/textbook.h"

#include <string>

#include "tests/catch.h"

using namespace trainmem;

namespace {

Config gpt3() {
  Config config;
  config.model.hidden_size = 12288;
  config.model.num_hidden_layers = 96;
  config.model.num_attention_heads = 96;
  config.recipe.sequence_length = 2048;
  config.recipe.micro_batch_size = 1;
  config.recipe.tensor_parallel = 8;
  config.recipe.data_parallel_size = 4;
  config.recipe.precision = Precision::fp16_mixed;
  return config;
}

TextbookLine line(const std::vector<TextbookLine>& lines, const std::string& method) {
  for (const TextbookLine& candidate : lines) {
    if (candidate.method == method) return candidate;
  }
  FAIL("no line " << method);
  return {};
}

}  // namespace

TEST_CASE("textbook: states of 175 B parameters are 2.8 TB in fp32 and 2.1 TB in mixed precision") {
  const auto lines = textbook(gpt3(), 175'000'000'000);
  CHECK(line(lines, "fp32 training: model states").bytes == 2'800'000'000'000);
  CHECK(line(lines, "mixed precision without master weights: model states").bytes == 2'100'000'000'000);
  CHECK(line(lines, "mixed precision, fp16 gradients copied to fp32: model states").bytes == 3'500'000'000'000);
  CHECK(line(lines, "mixed precision, 16N: model states").bytes == 2'800'000'000'000);
  CHECK(line(lines, "mixed precision, 18N: model states").bytes == 3'150'000'000'000);
  // 6 + 12/4 = 9 bytes a parameter.
  CHECK(line(lines, "Megatron distributed optimizer: model states").bytes == 1'575'000'000'000);
}

TEST_CASE("textbook: Megatron Core's table of bytes per parameter") {
  CHECK(distributed_optimizer_bytes(1'000'000, 1) == 18'000'000);
  CHECK(distributed_optimizer_bytes(1'000'000, 2) == 12'000'000);
  CHECK(distributed_optimizer_bytes(1'000'000, 64) == 6'187'500);
}

TEST_CASE("textbook: the four components with the activation heuristic") {
  // A = 4.6894e-4 x 7e9 + 1.8494e6 = 3.28258e6 + 1.8494e6 = 5.13198e6, by hand.
  CHECK(heuristic_activations_per_token(7'000'000'000) == Approx(5.13198e6));
  Config config = gpt3();
  config.recipe.micro_batch_size = 2;
  config.recipe.sequence_length = 1000;
  config.recipe.precision = Precision::fp32;
  const auto lines = textbook(config, 7'000'000'000);
  CHECK(line(lines, "four components: weights").bytes == 28'000'000'000);
  CHECK(line(lines, "four components: gradients").bytes == 28'000'000'000);
  CHECK(line(lines, "four components: Adam states").bytes == 56'000'000'000);
  CHECK(line(lines, "four components: optimizer intermediates").bytes == 28'000'000'000);
  CHECK(line(lines, "four components: activations").bytes == 41'055'840'000);
  CHECK(line(lines, "four components: total").bytes == 140'000'000'000 + 41'055'840'000);
}

TEST_CASE("textbook: activation lines put the numbers in and say where they come from") {
  const auto lines = textbook(gpt3(), 175'000'000'000);
  const TextbookLine attention = line(lines, "attention of one layer");
  CHECK(attention.formula == "11sbh + 5as^2b = 11 x 2,048 x 1 x 12,288 + 5 x 96 x 2,048^2 x 1");
  CHECK(attention.bytes == 11LL * 25165824 + 5LL * 402653184);
  const TextbookLine selective = line(lines, "activations: tensor and sequence parallel, selective recomputation");
  CHECK(selective.formula == "96 x 2,048 x 1 x 12,288 x (34 / 8)");
  CHECK(selective.bytes == 96LL * 25165824 * 34 / 8);
  for (const TextbookLine& each : lines) {
    CAPTURE(each.method);
    CHECK(each.bytes > 0);
    CHECK_FALSE(each.formula.empty());
    CHECK_FALSE(each.source.empty());
    CHECK_FALSE(each.leaves_out.empty());
  }
}

TEST_CASE("textbook: absurd sizes stop at the largest integer and never wrap around") {
  Config config = gpt3();
  config.recipe.sequence_length = 1'000'000'000'000;
  for (const TextbookLine& each : textbook(config, 1'000'000'000'000'000'000)) CHECK(each.bytes > 0);
}
