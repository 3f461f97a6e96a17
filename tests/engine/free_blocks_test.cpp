// Free blocks against the rule taken literally: one set, ordered by size and address.
#include "engine/tape/free_blocks.h"

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "tests/catch.h"

using namespace trainmem;

TEST_CASE("free blocks: thousands of few sizes are given out smallest first, lowest address first") {
  const unsigned seed = GENERATE(1U, 2U, 3U, 4U);
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::int64_t limit) { return static_cast<std::int64_t>(random()) % limit; };
  FreeBlocks blocks;
  std::set<std::tuple<Bytes, Bytes, std::int32_t>> plain;
  const auto random_size = [&] { return 512 * (1 + below(4)) * (below(3) == 0 ? 1000 + below(3) : 1); };
  std::int32_t made = 0;
  for (const int share : {90, 50, 10, 60, 20}) {  // of a hundred turns, those that insert
    for (int turn = 0; turn < 4000; ++turn) {
      if (below(100) < share) {
        const Bytes size = random_size();
        const Bytes address = 512 * below(1 << 24);
        const auto same = plain.lower_bound({size, address, 0});
        if (same != plain.end() && std::get<0>(*same) == size && std::get<1>(*same) == address) continue;
        blocks.insert(size, address, made);
        plain.insert({size, address, made++});
      } else if (below(2) == 0 && !plain.empty()) {
        auto any = plain.lower_bound({random_size(), 512 * below(1 << 24), 0});
        if (any == plain.end()) any = plain.begin();
        blocks.erase(std::get<0>(*any), std::get<1>(*any));
        plain.erase(any);
      } else {
        const Bytes size = random_size();
        auto first = plain.lower_bound({size, 0, 0});
        const bool avoids = below(3) == 0 && first != plain.end();
        const std::int32_t avoided = avoids ? std::get<2>(*first) : FreeBlocks::none;
        if (avoids && std::next(first) != plain.end()) ++first;
        // One block can grow, so it counts as larger than all others.
        std::map<std::int32_t, Bytes> grown;
        for (const auto& [bytes, address, block] : plain) grown[block] = block == avoided ? Bytes{1} << 50 : bytes;
        const std::int32_t taken = below(2) == 0 && !avoids
                                       ? blocks.take(size)
                                       : blocks.take(size, [&](std::int32_t block) { return grown.at(block); });
        REQUIRE(taken == (first == plain.end() ? FreeBlocks::none : std::get<2>(*first)));
        if (first != plain.end()) plain.erase(first);
      }
    }
  }
}
