//===- LayoutFindings.cpp - telling the user what a plan does not do ----------===//
#include "LayoutFindings.h"
#include "stg/Analysis/AxesText.h"
#include <map>
#include <numeric>

namespace stg {

namespace {

std::string joined(llvm::ArrayRef<std::string> parts, llvm::StringRef separator) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : separator.str()) + part;
  return text;
}

std::string dimsOf(const Program &program, const SplitRule &rule) {
  std::string text;
  for (const SplitRule::Target &target : rule.dims)
    text += (text.empty() ? "" : ", ") + program.text(target.dim).str();
  return text;
}

/// `split S over tp`.
std::string textOf(const Program &program, const SplitRule &rule) {
  return "split " + dimsOf(program, rule) + " over " + joined(rule.axes, ", ");
}

std::string sizeText(DimExpr size) {
  std::optional<int64_t> value = size.size();
  return value ? std::to_string(*value) : size.str();
}

/// `blocks[*].attn`.
std::string anyIteration(llvm::StringRef path) {
  std::string text;
  bool inside = false;
  for (char c : path) {
    if (c == ']')
      inside = false;
    if (!inside)
      text += c;
    if (c == '[') {
      inside = true;
      text += '*';
    }
  }
  return text;
}

class FindingsReporter {
public:
  FindingsReporter(const Program &program, const Assigner &assigner, const LayoutFindings &findings, Diagnostics &diags)
      : program_(program), assigner_(assigner), findings_(findings), diags_(diags) {}

  void run() {
    for (const LayoutFindings::Refused &refused : findings_.refused)
      reportRefused(refused);
    for (const LayoutFindings::CutOff &cutOff : findings_.cutOffs)
      reportCutOff(cutOff);
    for (const LayoutFindings::PinnedPartial &pinned : findings_.pinnedPartials)
      reportPinned(pinned);
    reportSecondHomes();
    if (!findings_.refused.empty()) // what follows from them is not said again
      return;
    reportIdleRules();
    reportIdleAxes();
  }

private:
  void reportRefused(const LayoutFindings::Refused &refused) {
    const SplitRule &rule = program_.plan.splits[refused.refusal.rule];
    NameId dim = rule.dims[refused.refusal.target].dim;
    std::string dimText = program_.text(dim).str();
    auto [axis, ranks] = axisOf(refused.refusal);
    std::string size = sizeText(refused.item.size);
    std::string where = anyIteration(refused.scope);
    bool isFolded =
        llvm::none_of(program_.mesh.axes, [&, name = axis](const MeshAxis &each) { return each.name == name; });
    std::optional<int64_t> value = refused.item.size.size();
    if (isFolded && value && *value < ranks) {
      diags_
          .report(
              rule.where,
              diag::MoreRanksThanExperts{.dim = dimText, .size = size, .axis = axis, .ranks = ranks, .where = where})
          .help(axis + " = " + size +
                " leaves the other ranks to another axis of the fold, which may split another dim");
      return;
    }
    auto report =
        diags_.report(rule.where, diag::SplitDoesNotDivide{.dim = dimText, .size = size, .axis = axis, .ranks = ranks});
    const Factoring *factoring = compositeOf(dim, rule);
    if (factoring)
      report.label(factoringText(*factoring, program_.body(refused.body)));
    int64_t units = llvm::count_if(program_.units, [&](const Unit &unit) { return unit.body == refused.body; });
    report.note("needed by " + refused.what + " in " + where +
                (units > 1 ? " (" + std::to_string(units) + " instances)" : ""));
    int64_t taken = groupSize(refused.taken, assigner_.atoms());
    if (taken > 1)
      report.note(axesText(refused.taken, program_.mesh, ", ") + " = " + std::to_string(taken) + " splits it already");
    std::string target = factoring ? program_.text(factoring->whole).str() : dimText;
    int64_t part = value ? std::gcd(*value / taken, ranks) : 1;
    report.help("`split " + target + " or replicate over " + joined(rule.axes, ", ") + "` " +
                (part * taken > 1
                     ? "keeps " + dimText + "/" + std::to_string(part * taken) + " and holds each part on " +
                           std::to_string(ranks / part) + (ranks / part == 1 ? " rank" : " ranks")
                     : "keeps " + dimText + " whole on all of them"));
  }

  /// The axis of the rule that has the atom, and its size.
  std::pair<std::string, int64_t> axisOf(const Refusal &refusal) const {
    const SplitRule &rule = program_.plan.splits[refusal.rule];
    for (size_t i = 0; i < rule.axes.size(); ++i) {
      const AtomList &axis = assigner_.axesOf(refusal.rule)[i];
      if (llvm::is_contained(axis, refusal.atom))
        return {rule.axes[i], groupSize(axis, assigner_.atoms())};
    }
    return {"?", 1};
  }

  const Factoring *compositeOf(NameId part, const SplitRule &rule) const {
    for (const Factoring &factoring : program_.factorings) {
      bool isWhole = llvm::all_of(factoring.parts, [&](NameId each) {
        return llvm::any_of(rule.dims, [&](const SplitRule::Target &target) { return target.dim == each; });
      });
      if (isWhole && factoring.parts.size() > 1 && llvm::is_contained(factoring.parts, part))
        return &factoring;
    }
    return nullptr;
  }

  /// `H = 32 is KV = 8 x R = 4, and KV comes first`, sizes as the body has them.
  std::string factoringText(const Factoring &factoring, const Body &body) const {
    std::string parts;
    int64_t whole = 1;
    for (NameId part : factoring.parts) {
      std::optional<int64_t> size = sizeIn(body, part);
      whole = size && whole ? whole * *size : 0;
      parts += (parts.empty() ? "" : " x ") + withSize(part, size);
    }
    return withSize(factoring.whole, whole ? std::optional(whole) : std::nullopt) + " is " + parts + ", and " +
           program_.text(factoring.parts[0]).str() + " comes first";
  }
  std::string withSize(NameId dim, std::optional<int64_t> size) const {
    return program_.text(dim).str() + (size ? " = " + std::to_string(*size) : "");
  }
  static std::optional<int64_t> sizeIn(const Body &body, NameId dim) {
    for (const Value &value : body.values)
      if (const Dim *found = value.type->find(dim))
        return found->size.size();
    return std::nullopt;
  }

  void reportCutOff(const LayoutFindings::CutOff &cutOff) {
    const SplitRule &rule = program_.plan.splits[cutOff.rule];
    diags_
        .report(rule.where, diag::NeighboursApart{.op = cutOff.op,
                                                  .dim = program_.text(cutOff.dim).str(),
                                                  .axes = joined(rule.axes, ", ")})
        .noteAt(cutOff.where, "the op stands here")
        .help("split " + program_.text(cutOff.dim).str() + " without `zigzag` in its scope, by a rule before this one");
  }

  void reportPinned(const LayoutFindings::PinnedPartial &pinned) {
    const PinRule &pin = program_.plan.pins[pinned.pin];
    auto written = llvm::find_if(pin.partial, [&](const std::string &each) {
      return llvm::is_contained(program_.mesh.atomsOf(each), pinned.atom);
    });
    std::string axis = written != pin.partial.end() ? *written : axesText({pinned.atom}, program_.mesh);
    diags_
        .report(pinned.where,
                diag::PinnedPartialNeedsValues{
                    .op = pinned.op, .value = pinned.value, .line = lineOf(pin.where), .axis = axis})
        .note("partial sums survive only `+`, scaling, views and sums")
        .help("drop `@ " + axis + "`, or pin what `" + pinned.op + "` gives instead");
  }

  void reportSecondHomes() {
    std::vector<std::string> known;
    for (const LayoutFindings::SecondHome &home : findings_.secondHomes) {
      if (llvm::is_contained(known, home.weight))
        continue;
      known.push_back(home.weight);
      diags_.report(home.second, diag::WeightInTwoLayouts{.weight = home.weight})
          .noteAt(home.first, "its first use; here it is converted");
    }
  }

  bool offersNothing(size_t rule) const {
    return llvm::all_of(assigner_.axesOf(rule), [](const AtomList &axis) { return axis.empty(); });
  }

  void reportIdleRules() {
    for (uint32_t i = 0; i < program_.plan.splits.size(); ++i) {
      if (findings_.ruleUsed[i] || offersNothing(i))
        continue;
      const SplitRule &rule = program_.plan.splits[i];
      auto report = diags_.report(rule.where, diag::RuleNeverApplies{});
      std::string dims = dimsOf(program_, rule);
      std::string axes = joined(rule.axes, ", ");
      if (findings_.ruleLostTo[i].empty()) {
        if (const KeepRule *keep = keepBefore(rule))
          report.label("all that it would split is kept").noteAt(keep->where, "this rule keeps it");
        else
          report.label("nothing with " + dims + " is there to split" + (rule.scopes.empty() ? "" : " in its scope"));
        continue;
      }
      for (uint32_t winner : findings_.ruleLostTo[i]) {
        const SplitRule &other = program_.plan.splits[winner];
        std::string text =
            "every tensor and operator with " + dims + " gives " + axes + " to " + dimsOf(program_, other) + " first";
        if (winner == findings_.ruleLostTo[i].front())
          report.label(text + lineText(other));
        else
          report.note("or to `" + textOf(program_, other) + "`");
      }
    }
  }

  uint32_t lineOf(SourceRange range) const {
    return range.valid() ? diags_.sources().lineOf(range.file, range.begin) : 0;
  }

  std::string lineText(const SplitRule &rule) const {
    if (!rule.where.valid())
      return "";
    return " (line " + std::to_string(lineOf(rule.where)) + ": `" + textOf(program_, rule) + "`)";
  }

  void reportIdleAxes() {
    for (const MeshAxis &axis : program_.mesh.axes) {
      AtomList atoms = program_.mesh.atomsOf(axis.name);
      if (atoms.empty() || llvm::any_of(atoms, [&](uint32_t atom) { return findings_.atomUsed[atom]; }))
        continue;
      auto report = diags_.report(axis.where, diag::IdleAxis{.axis = axis.name, .ranks = axis.size});
      uint32_t idle = 0; // the first rule over the axis; why it never applies is said there
      while (idle < program_.plan.splits.size() && !isOver(idle, atoms))
        ++idle;
      if (idle == program_.plan.splits.size())
        report.help("add a rule such as `split B over " + axis.name + "`");
      else if (const KeepRule *keep = keepBefore(program_.plan.splits[idle]))
        report.noteAt(keep->where, "this keeps " + program_.text(keep->dim).str() + " from `" +
                                       textOf(program_, program_.plan.splits[idle]) + "`");
      else
        report.noteAt(program_.plan.splits[idle].where, "this rule is over " + axis.name + ", but never applies");
    }
  }

  bool isOver(uint32_t rule, const AtomList &atoms) const {
    return llvm::any_of(assigner_.axesOf(rule), [&](const AtomList &axis) {
      return llvm::any_of(axis, [&](uint32_t atom) { return llvm::is_contained(atoms, atom); });
    });
  }

  /// The first of the `keep` rules that hold everywhere what the rule would split, if they hold all of it.
  const KeepRule *keepBefore(const SplitRule &rule) const {
    const KeepRule *first = nullptr;
    for (const SplitRule::Target &target : rule.dims) {
      auto keep = llvm::find_if(program_.plan.keeps,
                                [&](const KeepRule &each) { return each.dim == target.dim && each.scopes.empty(); });
      if (keep == program_.plan.keeps.end())
        return nullptr;
      first = first ? first : &*keep;
    }
    return first;
  }

  const Program &program_;
  const Assigner &assigner_;
  const LayoutFindings &findings_;
  Diagnostics &diags_;
};

/// Dims of one name and size share their digits, and so do dims that a view renames.
class DigitSets {
public:
  using Key = std::pair<uint32_t, uint32_t>; // name, size
  Key keyOf(const Dim &dim) {
    Key key{dim.name.index, dim.size.id()};
    parent_.try_emplace(key, key);
    sizes_.try_emplace(key, dim);
    return key;
  }
  void join(const Dim &a, const Dim &b) {
    Key first = find(keyOf(a)), second = find(keyOf(b));
    if (first != second)
      parent_[second] = first;
  }
  Key find(Key key) {
    while (parent_[key] != key)
      key = parent_[key];
    return key;
  }
  const Dim &dim(Key key) const { return sizes_.at(key); }

private:
  std::map<Key, Key> parent_;
  std::map<Key, Dim> sizes_;
};

} // namespace

void reportFindings(const Program &program, const Assigner &assigner, const LayoutFindings &findings,
                    Diagnostics &diags) {
  FindingsReporter(program, assigner, findings, diags).run();
}

void checkPins(const Program &program, Diagnostics &diags) {
  for (const PinRule &pin : program.plan.pins) {
    std::vector<std::string> seen;
    auto see = [&](const std::string &axis) {
      if (llvm::count(seen, axis) == 1)
        diags.report(pin.where, diag::AxisTwiceInPin{.axis = axis})
            .label("an axis can split one dimension of a tensor");
      seen.push_back(axis);
    };
    for (const auto &[dim, axes] : pin.dims)
      llvm::for_each(axes, see);
    llvm::for_each(pin.partial, see);
  }
}

/// Whether each zigzag atom finds two equal chunks for each member in what the atoms before it leave; the others pad.
static bool dealsOut(int64_t size, llvm::ArrayRef<uint32_t> list, llvm::ArrayRef<uint32_t> zigzag,
                     const std::vector<MeshAtom> &atoms) {
  for (uint32_t atom : list) {
    int64_t members = atoms[atom].size;
    if (llvm::is_contained(zigzag, atom) && size % (2 * members) != 0)
      return false;
    size = (size + members - 1) / members;
  }
  return true;
}

void checkJointDivisibility(const Program &program, Diagnostics &diags) {
  std::vector<MeshAtom> atoms = program.mesh.atoms();
  Assigner assigner(program);
  DigitSets digits;
  std::map<DigitSets::Key, AtomList> placed;
  std::vector<bool> seen(program.bodies.size(), false);
  for (const Unit &unit : program.units) {
    if (seen[unit.body.index])
      continue;
    seen[unit.body.index] = true;
    const Body &body = program.body(unit);
    for (const Op &op : body.ops)
      if (op.kind == OpKind::View)
        for (const ViewItem &item : op.get<ViewFields>().items)
          if (item.from.size() == 1 && item.to.size() == 1)
            if (const Dim *from = body.value(op.operands[0]).type->find(item.from[0]))
              digits.join(*from, item.to[0]);
    for (const Value &value : body.values)
      for (uint32_t atom = 0; atom < atoms.size(); ++atom)
        if (Place place = value.layout->places[atom]; place.isSplit()) {
          AtomList &list = placed[digits.keyOf(*value.type->find(place.dim))];
          if (!llvm::is_contained(list, atom))
            list.push_back(atom);
        }
  }
  std::map<DigitSets::Key, AtomList> joint;
  std::map<DigitSets::Key, llvm::SmallVector<NameId, 2>> names;
  for (auto &[key, list] : placed) {
    DigitSets::Key root = digits.find(key);
    names[root].push_back(digits.dim(key).name);
    for (uint32_t atom : list)
      if (!llvm::is_contained(joint[root], atom))
        joint[root].push_back(atom);
  }
  for (auto &[key, list] : joint) {
    llvm::sort(list);
    const Dim &dim = digits.dim(key);
    std::optional<int64_t> size = dim.size.size();
    if (!size || program.enumerationOf(dim.name)) // its parts are rounded up
      continue;
    bool padded = false;
    AtomList zigzag;
    llvm::SmallVector<const SplitRule *, 4> rules;
    for (uint32_t i = 0; i < program.plan.splits.size(); ++i)
      for (const SplitRule::Target &target : program.plan.splits[i].dims) {
        bool touches =
            llvm::is_contained(names[key], target.dim) && llvm::any_of(assigner.axesOf(i), [&](const AtomList &axis) {
              return llvm::any_of(axis, [&](uint32_t atom) { return llvm::is_contained(list, atom); });
            });
        if (!touches)
          continue;
        for (const AtomList &axis : assigner.axesOf(i))
          if (target.zigzag)
            zigzag.append(axis);
        padded |= target.remainder == Remainder::Pad;
        rules.push_back(&program.plan.splits[i]);
      }
    int64_t parts = groupSize(list, atoms) * (zigzag.empty() ? 1 : 2);
    if (*size % parts == 0 || (padded && dealsOut(*size, list, zigzag, atoms)))
      continue;
    auto report = diags.report(rules.empty() ? SourceRange{} : rules.back()->where,
                               diag::JointlyIndivisible{.dim = program.text(dim.name).str(),
                                                        .size = *size,
                                                        .axes = axesText(list, program.mesh, ", "),
                                                        .parts = parts});
    for (const SplitRule *rule : llvm::ArrayRef(rules).drop_back(rules.empty() ? 0 : 1))
      report.noteAt(rule->where, "this rule splits " + program.text(dim.name).str() + " as well");
    if (!zigzag.empty())
      report.note("`zigzag` needs two chunks for each rank");
  }
}

} // namespace stg
