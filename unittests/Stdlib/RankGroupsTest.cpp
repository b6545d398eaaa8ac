//===- RankGroupsTest.cpp - who communicates with whom under plans.megatron --===//
// The groups of the dense view and of the experts' view against Megatron-LM's: two lists that its RankGenerator printed
// (NVIDIA/Megatron-LM d98e8a64, parallel_state.py:617,856-897), and others by its rule, order tp-cp-ep-dp-pp: the dense
// view has ep = 1, that of experts cp = 1, etp for tp and edp for dp.
//===----------------------------------------------------------------------===//
#include "StgText.h"
#include "gtest/gtest.h"
#include <map>

namespace stg::stdlib {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

std::string toText(const Groups &groups) {
  std::string text;
  for (const std::vector<int64_t> &group : groups) {
    text += text.empty() ? "" : " |";
    for (int64_t rank : group)
      text += (text.empty() ? "" : " ") + std::to_string(rank);
  }
  return text;
}

/// Ranks with equal keys, by the least of each group.
template <class Key> Groups groupBy(int64_t ranks, Key key) {
  std::map<int64_t, size_t> places;
  Groups groups;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto [place, isNew] = places.try_emplace(key(rank), groups.size());
    if (isNew)
      groups.emplace_back();
    groups[place->second].push_back(rank);
  }
  return groups;
}

struct Sizes {
  int64_t tp, cp, pp, ep, etp, world;
};

/// The program's mesh. Without a view of their own experts are where the dense layers are.
class CompiledGroups {
public:
  explicit CompiledGroups(const Sizes &sizes) {
    auto set = [](const char *name, int64_t value) { return std::string(name) + " = " + std::to_string(value); };
    std::optional<Program> program =
        compileText("use models.mixtral.{mixtral_8x7b}\nuse plans.megatron.{megatron}\nuse std.optim.{adamw}\n"
                    "workload w {\n  model mixtral_8x7b(L = 8, E = 64, S = 64, B = 256)\n  plan megatron(" +
                    set("tp", sizes.tp) + ", " + set("cp", sizes.cp) + ", " + set("pp", sizes.pp) + ", " +
                    set("ep", sizes.ep) + ", " + set("etp", sizes.etp) + ")\n  ranks " + std::to_string(sizes.world) +
                    "\n  train { optimizer = adamw }\n}\n");
    if (program)
      mesh_ = program->mesh;
  }

  /// Of ranks that differ on these axes only.
  Groups groups(std::initializer_list<const char *> axes) const {
    std::vector<MeshAtom> atoms = mesh_.atoms();
    std::vector<bool> spanned(atoms.size(), false);
    for (const char *axis : axes) {
      EXPECT_TRUE(mesh_.findAxis(axis)) << axis;
      for (uint32_t atom : mesh_.atomsOf(axis))
        spanned[atom] = true;
    }
    return groupBy(mesh_.ranks(), [&](int64_t rank) {
      int64_t key = 0;
      for (size_t i = 0; i < atoms.size(); ++i)
        if (!spanned[i])
          key += coordinate(rank, atoms[i]) * atoms[i].stride;
      return key;
    });
  }

  Groups named(const std::string &name) const {
    bool folded = !mesh_.folds.empty();
    if (name == "TP")
      return groups({"tp"});
    if (name == "CP")
      return groups({"cp"});
    if (name == "DP")
      return groups({"dp"});
    if (name == "DP_CP")
      return groups({"dp", "cp"});
    if (name == "PP")
      return groups({"pp"});
    if (name == "TP_PP")
      return groups({"tp", "pp"});
    if (name == "ETP")
      return folded ? groups({"etp"}) : groups({"tp"});
    if (name == "EP")
      return folded ? groups({"ep"}) : groups({});
    if (name == "EDP")
      return folded ? groups({"edp"}) : groups({"dp", "cp"});
    return folded ? groups({"ep", "etp"}) : groups({"tp"}); // ETP_EP
  }

private:
  Mesh mesh_;
};

/// Megatron's rule: of ranks numbered by `sizes`, the first the nearest, those that differ in the chosen ones only.
Groups generated(int64_t world, std::initializer_list<int64_t> sizes, std::initializer_list<bool> chosen) {
  return groupBy(world, [&](int64_t rank) {
    int64_t key = 0, stride = 1;
    auto isChosen = chosen.begin();
    for (int64_t size : sizes) {
      if (!*isChosen++)
        key += rank / stride % size * stride;
      stride *= size;
    }
    return key;
  });
}

struct Printed {
  Sizes sizes;
  std::vector<std::pair<const char *, const char *>> groups;
};

TEST(RankGroups, AreThoseThatMegatronPrinted) {
  const Printed cases[] = {{{2, 1, 4, 1, 2, 16},
                            {{"TP", "0 1 | 2 3 | 4 5 | 6 7 | 8 9 | 10 11 | 12 13 | 14 15"},
                             {"CP", "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15"},
                             {"DP", "0 2 | 1 3 | 4 6 | 5 7 | 8 10 | 9 11 | 12 14 | 13 15"},
                             {"DP_CP", "0 2 | 1 3 | 4 6 | 5 7 | 8 10 | 9 11 | 12 14 | 13 15"},
                             {"PP", "0 4 8 12 | 1 5 9 13 | 2 6 10 14 | 3 7 11 15"},
                             {"TP_PP", "0 1 4 5 8 9 12 13 | 2 3 6 7 10 11 14 15"},
                             {"ETP", "0 1 | 2 3 | 4 5 | 6 7 | 8 9 | 10 11 | 12 13 | 14 15"},
                             {"EP", "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15"},
                             {"EDP", "0 2 | 1 3 | 4 6 | 5 7 | 8 10 | 9 11 | 12 14 | 13 15"},
                             {"ETP_EP", "0 1 | 2 3 | 4 5 | 6 7 | 8 9 | 10 11 | 12 13 | 14 15"}}},
                           {{2, 2, 2, 4, 1, 16},
                            {{"TP", "0 1 | 2 3 | 4 5 | 6 7 | 8 9 | 10 11 | 12 13 | 14 15"},
                             {"CP", "0 2 | 1 3 | 4 6 | 5 7 | 8 10 | 9 11 | 12 14 | 13 15"},
                             {"DP", "0 4 | 1 5 | 2 6 | 3 7 | 8 12 | 9 13 | 10 14 | 11 15"},
                             {"DP_CP", "0 2 4 6 | 1 3 5 7 | 8 10 12 14 | 9 11 13 15"},
                             {"PP", "0 8 | 1 9 | 2 10 | 3 11 | 4 12 | 5 13 | 6 14 | 7 15"},
                             {"TP_PP", "0 1 8 9 | 2 3 10 11 | 4 5 12 13 | 6 7 14 15"},
                             {"ETP", "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15"},
                             {"EP", "0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15"},
                             {"EDP", "0 4 | 1 5 | 2 6 | 3 7 | 8 12 | 9 13 | 10 14 | 11 15"},
                             {"ETP_EP", "0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15"}}}};
  for (const Printed &printed : cases) {
    CompiledGroups compiled(printed.sizes);
    for (auto [name, groups] : printed.groups)
      EXPECT_EQ(toText(compiled.named(name)), groups) << name << " of pp " << printed.sizes.pp;
  }
}

TEST(RankGroups, FollowMegatronsRule) {
  for (const Sizes &sizes : {Sizes{2, 2, 2, 2, 2, 16}, Sizes{2, 1, 2, 8, 1, 32}, Sizes{4, 2, 2, 8, 2, 64},
                             Sizes{1, 4, 2, 16, 1, 64}, Sizes{8, 1, 4, 8, 4, 256}, Sizes{4, 2, 1, 2, 2, 64}}) {
    auto [tp, cp, pp, ep, etp, world] = sizes;
    SCOPED_TRACE(testing::Message() << "tp " << tp << " cp " << cp << " pp " << pp << " ep " << ep << " etp " << etp);
    CompiledGroups compiled(sizes);
    auto dense = [&, dp = world / (tp * cp * pp)](std::initializer_list<bool> chosen) {
      return toText(generated(world, {tp, cp, dp, pp}, chosen));
    };
    auto expert = [&, edp = world / (etp * ep * pp)](std::initializer_list<bool> chosen) {
      return toText(generated(world, {etp, ep, edp, pp}, chosen));
    };
    EXPECT_EQ(toText(compiled.named("TP")), dense({true, false, false, false}));
    EXPECT_EQ(toText(compiled.named("CP")), dense({false, true, false, false}));
    EXPECT_EQ(toText(compiled.named("DP")), dense({false, false, true, false}));
    EXPECT_EQ(toText(compiled.named("DP_CP")), dense({false, true, true, false}));
    EXPECT_EQ(toText(compiled.named("PP")), dense({false, false, false, true}));
    EXPECT_EQ(toText(compiled.named("TP_PP")), dense({true, false, false, true}));
    EXPECT_EQ(toText(compiled.named("ETP")), expert({true, false, false, false}));
    EXPECT_EQ(toText(compiled.named("EP")), expert({false, true, false, false}));
    EXPECT_EQ(toText(compiled.named("EDP")), expert({false, false, true, false}));
    EXPECT_EQ(toText(compiled.named("ETP_EP")), expert({true, true, false, false}));
    EXPECT_EQ(toText(compiled.named("PP")), expert({false, false, false, true})); // the views agree on it
  }
}

} // namespace
} // namespace stg::stdlib
