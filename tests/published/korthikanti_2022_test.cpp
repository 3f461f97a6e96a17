// Korthikanti et al. 2022, Reducing Activation Recomputation in Large Transformer Models (arXiv:2205.05198).
// Configurations: table 3. s = 2048, v = 51200, t = 8 for all of them.
#include "engine/textbook.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

constexpr LayerSizes gpt_22b{2048, 4, 6144, 64, 8};
constexpr LayerSizes gpt3_175b{2048, 1, 12288, 96, 8};
constexpr LayerSizes mt_nlg_530b{2048, 1, 20480, 128, 8};
constexpr LayerSizes gpt_1t{2048, 1, 25600, 160, 8};

double in_sbh(ActivationTechnique technique, const LayerSizes& z) {
  return static_cast<double>(korthikanti_bytes(technique, z)) / static_cast<double>(z.s * z.b * z.h);
}

}  // namespace

TEST_CASE("Korthikanti 2022, section 5: 5as/h is 80 for GPT-3 and 64 for MT-NLG, against 34") {
  CHECK(in_sbh(ActivationTechnique::no_parallelism, gpt3_175b) == 34 + 80);
  CHECK(in_sbh(ActivationTechnique::no_parallelism, mt_nlg_530b) == 34 + 64);
}

TEST_CASE("Korthikanti 2022, table 2: bytes of one layer over sbh") {
  // Each row by hand from the printed formula: t = 8, so 24/t = 3 and 34/t = 4.25; 5as/(ht) = 10 and 8.
  struct Expected {
    ActivationTechnique technique;
    double gpt3;
    double mt_nlg;
  };
  const Expected expected = GENERATE(Expected{ActivationTechnique::no_parallelism, 114, 98},
                                     Expected{ActivationTechnique::tensor, 10 + 3 + 10, 10 + 3 + 8},
                                     Expected{ActivationTechnique::tensor_and_sequence, 4.25 + 10, 4.25 + 8},
                                     Expected{ActivationTechnique::tensor_and_selective, 13, 13},
                                     Expected{ActivationTechnique::tensor_and_sequence_and_selective, 4.25, 4.25},
                                     Expected{ActivationTechnique::full_recomputation, 2, 2});
  CHECK(in_sbh(expected.technique, gpt3_175b) == expected.gpt3);
  CHECK(in_sbh(expected.technique, mt_nlg_530b) == expected.mt_nlg);
}

TEST_CASE("Korthikanti 2022, section 4.1: attention, MLP and norms add up to the layer") {
  for (const LayerSizes& z : {gpt_22b, gpt3_175b, mt_nlg_530b, gpt_1t}) {
    CHECK(attention_activation_bytes(z) + mlp_activation_bytes(z) + norm_activation_bytes(z) ==
          korthikanti_bytes(ActivationTechnique::no_parallelism, z));
  }
  // GPT-3: sbh = 25,165,824; as^2b = 402,653,184.
  CHECK(attention_activation_bytes(gpt3_175b) == 11LL * 25165824 + 5LL * 402653184);
  CHECK(mlp_activation_bytes(gpt3_175b) == 19LL * 25165824);
  CHECK(norm_activation_bytes(gpt3_175b) == 4LL * 25165824);
}

TEST_CASE("Korthikanti 2022, section 5: selective recomputation saves 70 % for GPT-3 and 65 % for MT-NLG") {
  const auto saved = [](const LayerSizes& z) {
    return 1 - in_sbh(ActivationTechnique::tensor_and_sequence_and_selective, z) /
                   in_sbh(ActivationTechnique::tensor_and_sequence, z);
  };
  CHECK(saved(gpt3_175b) == Approx(0.70).margin(0.005));
  CHECK(saved(mt_nlg_530b) == Approx(0.65).margin(0.005));
}

TEST_CASE("Korthikanti 2022, abstract and figure 7: both techniques together need a fifth of the memory") {
  const LayerSizes z = GENERATE(gpt3_175b, mt_nlg_530b);
  const double relative =
      in_sbh(ActivationTechnique::tensor_and_sequence_and_selective, z) / in_sbh(ActivationTechnique::tensor, z);
  CHECK(relative > 0.18);
  CHECK(relative < 0.21);
}

TEST_CASE("Korthikanti 2022: without tensor parallelism the parallel rows are the plain row") {
  LayerSizes z = gpt_22b;
  z.t = 1;
  const Bytes plain = korthikanti_bytes(ActivationTechnique::no_parallelism, z, 48);
  CHECK(plain == 48 * korthikanti_bytes(ActivationTechnique::no_parallelism, z));
  CHECK(korthikanti_bytes(ActivationTechnique::tensor, z, 48) == plain);
  CHECK(korthikanti_bytes(ActivationTechnique::tensor_and_sequence, z, 48) == plain);
}
